"""Exit statuses of the commands: whether answers are supported, and whether a check failed."""

from collections.abc import Iterable
from enum import IntEnum


class ExitStatus(IntEnum):
    """The exit status of a command."""

    PASSED = 0  # the outcome is grounded or skipped, or the work is done without problems
    FLAGGED = 1  # the outcome is hallucinated, partial or unverified, or a problem was found
    FAILED = 2  # the outcome is unavailable, or the command was wrong or failed
    INTERRUPTED = 130  # 128 + SIGINT, as in shells
    BROKEN_PIPE = 141  # 128 + SIGPIPE


#: Value of an outcome → exit status. The values are texts here, because an import of ``Outcome``
#: would make ``--help`` slower.
_OF_OUTCOME = {
    **dict.fromkeys(("grounded", "skipped"), ExitStatus.PASSED),
    **dict.fromkeys(("hallucinated", "partial", "unverified"), ExitStatus.FLAGGED),
    "unavailable": ExitStatus.FAILED,
}


def exit_status(outcomes: Iterable[str]) -> ExitStatus:
    """Return the exit status of the worst of some outcomes; without outcomes, ``PASSED``."""
    return max((_OF_OUTCOME[outcome] for outcome in outcomes), default=ExitStatus.PASSED)
