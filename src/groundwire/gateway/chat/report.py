"""What became of a response, as the records have it."""

from dataclasses import dataclass

from groundwire.gateway.chat.release import Release
from groundwire.gateway.http.refusals import RefusalCode
from groundwire.pipeline import Checked


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """What became of a streamed response.

    Attributes:
        release: When its text went out.
        answers: What was found, of those answers that were checked to their end or refused.
        refusal: Why the rest was withheld, or ``None``.
        n_delivered: Characters of answers that went out.
        n_withheld: Characters of answers that came in and did not.
        is_incomplete: Whether text was not checked, for there is too much of it or it cannot be
            read.
        is_failed: Whether a check was due and failed.
        is_truncated: Whether the upstream ended before its answers did.
        is_client_gone: Whether the client left before the end.
        added_s: Seconds from the upstream's last bytes to the last that left; ``None`` where
            nothing waits for a check.
    """

    release: Release
    answers: tuple[Checked, ...] = ()
    refusal: RefusalCode | None = None
    n_delivered: int = 0
    n_withheld: int = 0
    is_incomplete: bool = False
    is_failed: bool = False
    is_truncated: bool = False
    is_client_gone: bool = False
    added_s: float | None = None
