"""Start the command line: ``python -m rooflab --help``."""

from rooflab.commandline import main

if __name__ == "__main__":
    main(prog_name="python -m rooflab")
