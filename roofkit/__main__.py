"""Entry point of the command line: ``python -m roofkit --help``."""

import sys

try:
    from roofkit.commandline.main import main
except ModuleNotFoundError as error:
    if error.name != "click":
        raise
    sys.exit('python -m roofkit needs click: pip install "roofkit[cli]"')

if __name__ == "__main__":
    main(prog_name="python -m roofkit")
