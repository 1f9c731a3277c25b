"""``python -m groundwire``: the command line."""

from groundwire.cli import main

if __name__ == "__main__":
    main()
