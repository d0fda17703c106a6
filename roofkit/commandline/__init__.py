"""The command line: it parses and prints, and everything else asks the package.

``python -m roofkit --help`` lists the commands. Exit codes: 0 answered; 1 the question has no
answer (an unknown chip, a peak that the table lacks, a model that cannot be split); 2 the command
line itself is wrong; 3 answered, but --must-fit was given and the memory does not suffice.
"""
