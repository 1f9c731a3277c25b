"""Quotes texts for the audit trail: their beginnings, hashes, or all of them.

Secrets and the like are redacted before.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Self

from groundwire.config.tree import Audit
from groundwire.control.audit.redact import RedactedText, Redaction
from groundwire.detection.values import Claim, Span

#: Longer texts are cut and end with three dots, as DVARA does it.
MAX_CHARS = 100
#: Digits of a hash: enough to find the same text again, and no way back to it.
HASH_DIGITS = 16

_CUT = "..."


class AuditText(StrEnum):
    """The setting ``audit.text``: how texts of answers stand in the audit trail."""

    CUT = "cut"
    HASH = "hash"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """The settings for what the audit trail keeps of an answer.

    Attributes:
        text: How much of its texts is kept.
        redaction: What is redacted in them before.
        keeps_detail: Whether all findings are kept in a detail beside the event.
    """

    text: AuditText = AuditText.CUT
    redaction: Redaction = field(default_factory=Redaction)
    keeps_detail: bool = True

    @classmethod
    def of(cls, settings: Audit) -> Self:
        """Read the section ``audit`` of a configuration.

        Raises:
            ConfigError: If ``audit.redact`` names something that cannot be redacted.
        """
        return cls(
            text=AuditText(settings.text),
            redaction=Redaction.of(settings.redact),
            keeps_detail=settings.detail_days != 0,
        )


class Quotes:
    """Quotes as much of texts as may be kept, up to a number of characters in all.

    After that even ``full`` cuts texts: a record must not become too long to be read.
    """

    def __init__(self, keeping: Keeping, *, max_chars: int) -> None:
        """Begin with the whole budget of characters.

        Args:
            keeping: The settings.
            max_chars: Characters of all texts together that may be quoted before texts are cut.
        """
        self._keeping, self._left = keeping, max_chars
        # The same evidence, citation or name stands at many claims.
        self._apply = lru_cache(maxsize=1024)(keeping.redaction.apply)

    def read(self, text: str) -> RedactedText:
        """Redact a text of which parts are to be quoted."""
        if self._keeping.text is AuditText.HASH:
            return RedactedText(text, ())  # nothing of it is quoted
        return self._keeping.redaction.read(text)

    def piece(self, text: RedactedText, start: int = 0, end: int | None = None) -> str | None:
        """Quote a range of a text; ``None`` if hashes stand for texts."""
        return self.redacted(text.piece(start, end))

    def part(self, whole: RedactedText, part: Claim | Span) -> str | None:
        """Quote a part of a text; if it does not stand in the text, the part alone."""
        if whole.text[part.start : part.end] == part.text:
            return self.piece(whole, part.start, part.end)
        return self.text(part.text)

    def text(self, text: str) -> str | None:
        """Quote a text that is not part of another."""
        return self.redacted(self._apply(text))

    def name(self, text: str) -> str:
        """Quote the beginning of a name, whatever the settings."""
        return cut(self._apply(text))

    def redacted(self, text: str) -> str | None:
        """Quote a text that is redacted already."""
        if self._keeping.text is AuditText.HASH:
            return None
        if self._keeping.text is AuditText.CUT or len(text) > self._left:
            return cut(text)
        self._left -= len(text)
        return text


def cut(text: str, max_chars: int = MAX_CHARS) -> str:
    """Return the beginning of a text, with ``...`` if that is not all of it.

    >>> cut("It is 330 metres tall.", max_chars=9)
    'It is 330...'
    """
    return text if len(text) <= max_chars else text[:max_chars] + _CUT


def hashed(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
