"""Starts the command line: ``python -m roofgrade --help``."""

from roofgrade.commands import main

if __name__ == "__main__":
    main(prog_name="python -m roofgrade")
