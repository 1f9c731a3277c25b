"""What the audit trail keeps of a text: its beginning, a hash, or all of it.

Whichever it is, what must not be kept is taken out before.
"""

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Protocol, Self

from groundwire.config.tree import Audit
from groundwire.control.audit.redact import RedactedText, Redaction

#: DVARA's: what is longer is cut, and ends with three dots.
MAX_CHARS = 100
#: Digits of a hash: enough to find the same text again, and no way back to it.
HASH_DIGITS = 16

_JOINER = "\u200d"
_CUT = "..."


class AuditText(StrEnum):
    """How the words of an answer stand in the audit log."""

    CUT = "cut"
    HASH = "hash"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What is kept of an answer.

    Attributes:
        text: How its words stand there.
        redaction: What is taken out of them before.
        keeps_detail: Whether what was found is kept in full beside the event.
    """

    text: AuditText = AuditText.CUT
    redaction: Redaction = field(default_factory=Redaction)
    keeps_detail: bool = True

    @classmethod
    def of(cls, settings: Audit) -> Self:
        """As the section ``audit`` of a configuration has it.

        Raises:
            ConfigError: If ``audit.redact`` names something that cannot be taken out.
        """
        return cls(
            text=AuditText(settings.text),
            redaction=Redaction.of(settings.redact),
            keeps_detail=settings.detail_days != 0,
        )


class QuotedPart(Protocol):
    """A stretch of a text, and where it stands: a claim, a span, evidence."""

    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102


class Quotes:
    """Quotes what may be kept, up to a number of characters in all.

    After that even ``full`` cuts: a record stays of a size that can be read.
    """

    def __init__(self, keeping: Keeping, *, max_chars: int) -> None:
        """Begin.

        Args:
            keeping: What may be kept.
            max_chars: Of all texts that are kept whole.
        """
        self._keeping, self._left = keeping, max_chars
        # The same evidence, citation or name stands at many claims.
        self._apply = lru_cache(maxsize=1024)(keeping.redaction.apply)

    def read(self, text: str) -> RedactedText:
        """A text that pieces are to be quoted of."""
        if self._keeping.text is AuditText.HASH:
            return RedactedText(text, ())  # nothing of it is quoted
        return self._keeping.redaction.read(text)

    def piece(self, text: RedactedText, start: int = 0, end: int | None = None) -> str | None:
        """What is kept of a stretch of a text; ``None`` where hashes stand for texts."""
        return self.redacted(text.piece(start, end))

    def part(self, whole: RedactedText, part: QuotedPart) -> str | None:
        """What is kept of a part of a text; if it does not stand there, of the part alone."""
        if whole.text[part.start : part.end] == part.text:
            return self.piece(whole, part.start, part.end)
        return self.text(part.text)

    def text(self, text: str) -> str | None:
        """The same, of a text that is part of no other."""
        return self.redacted(self._apply(text))

    def name(self, text: str) -> str:
        """What is kept of a name, in every mode: its beginning."""
        return cut(self._apply(text))

    def redacted(self, text: str) -> str | None:
        """What is kept of a text from which everything has been taken out that has to be."""
        if self._keeping.text is AuditText.HASH:
            return None
        if self._keeping.text is AuditText.CUT or len(text) > self._left:
            return cut(text)
        self._left -= len(text)
        return text


def cut(text: str, max_chars: int = MAX_CHARS) -> str:
    """The beginning of a text, with ``...`` if that is not all.

    It ends between two characters as readers see them: an accent stays with its letter.

    >>> cut("It is 330 metres tall.", max_chars=9)
    'It is 330...'
    """
    if len(text) <= max_chars:
        return text
    end = max_chars
    while end > max_chars // 2 and _belongs_together(text[end - 1], text[end]):
        end -= 1
    # A text of marks alone has no better place.
    return text[: end if end > max_chars // 2 else max_chars] + _CUT


def hashed(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256, of its UTF-8."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def _belongs_together(before: str, after: str) -> bool:
    return (
        before == _JOINER
        or after == _JOINER
        or unicodedata.category(after).startswith("M")  # accents, vowel signs, emoji variants
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
    )
