"""The command line, which parses and prints; the package does the rest.

``python -m roofkit --help`` lists the commands. Exit codes: 0 for an answer; 1 if there is none (an
unknown chip, a peak that the table lacks, a model that cannot be split); 2 for a wrong command
line; 3 for an answer with --must-fit if the memory is too small.
"""
