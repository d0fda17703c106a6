"""Run the command line: ``python -m roofcheck review`` asks missed questions again."""

import sys

try:
    from roofcheck.commands import main
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    sys.exit("python -m roofcheck needs click: pip install click")

if __name__ == "__main__":
    main()
