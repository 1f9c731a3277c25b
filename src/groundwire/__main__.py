"""Runs the command line for ``python -m groundwire``."""

from groundwire.cli import main

if __name__ == "__main__":
    main()
