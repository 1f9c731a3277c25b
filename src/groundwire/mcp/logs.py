"""Logs of this server and its libraries, on standard error, one line each."""

import logging
import sys
import traceback
from typing import Any

from groundwire.text.screen import one_line


def log_to_stderr() -> None:
    """Send warnings and errors to standard error, whatever libraries have set up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Terse("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


class Terse(logging.Formatter):
    """Writes one line for each record; of an exception only its class and its place.

    The message of an exception may quote what was checked.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record so that it cannot act on a screen."""
        return one_line(super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - as logging declares it
        """Format an exception as its class and its place."""
        kind, _, trace = ei
        frames = traceback.extract_tb(trace)
        where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        return f"{kind.__name__ if kind else 'no exception'}{where}"
