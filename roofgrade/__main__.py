"""Starts the command line: ``python -m roofgrade --help``."""

import sys

if __name__ == "__main__":
    try:
        from roofgrade.commands import main
    except KeyboardInterrupt:  # Importing takes a second or two.
        sys.exit("Aborted!")
    main(prog_name="python -m roofgrade")
