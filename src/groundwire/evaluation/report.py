"""``python -m groundwire.evaluation.report``: what model cards call ``groundwire evaluate``."""

import sys

from groundwire.cli import main

if __name__ == "__main__":
    main(["evaluate", *sys.argv[1:]])
