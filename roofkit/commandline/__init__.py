"""The command line, which only parses arguments and prints results.

``python -m roofkit --help`` lists the commands. Exit codes: 0 for success; 1 for an error, such as
an unknown chip, a missing peak or a model that cannot be split; 2 for an invalid command line; 3 if
memory is too small and --must-fit is given.
"""
