"""Quotes texts for the audit trail: whole, cut, or not at all if only hashes are kept.

Parts of a text that must not be kept, such as secrets, are redacted first.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Self

from groundwire.config.tree import Audit
from groundwire.control.audit.redact import RedactedText, Redaction
from groundwire.detection.values import Claim, Span

#: The number of characters after which a text is cut; three dots follow them, as in the audit
#: events of DVARA, another gateway.
MAX_CHARS = 100
#: Number of hexadecimal digits of a hash: enough to recognise an equal text.
HASH_DIGITS = 16

#: Limit on the characters of a model's name that are read. Only the first 100 are recorded, but a
#: secret that begins among them is recognised only as a whole.
MAX_NAME = 1000
_CUT = "..."


class AuditText(StrEnum):
    """The values of the setting ``audit.text``: how much of each text the audit trail keeps."""

    CUT = "cut"
    HASH = "hash"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """The settings that say how much the audit trail keeps of an answer.

    Attributes:
        text: How much of each text is kept.
        redaction: The kinds of text that are redacted.
        keeps_detail: Whether all findings are kept, as a detail beside the event.
        sample: The probability with which a checked answer is recorded as a sample.
    """

    text: AuditText = AuditText.CUT
    redaction: Redaction = field(default_factory=Redaction)
    keeps_detail: bool = True
    sample: float = 0.0

    @classmethod
    @lru_cache(maxsize=8)  # called for each request
    def of(cls, settings: Audit) -> Self:
        """Read the section ``audit`` of a configuration.

        Raises:
            KindError: If ``audit.redact`` names something that cannot be redacted.
        """
        keeps_answers = settings.text == AuditText.FULL and settings.detail_days != 0
        return cls(
            text=AuditText(settings.text),
            redaction=Redaction.of(settings.redact),
            keeps_detail=settings.detail_days != 0,
            # People can judge an answer only if its texts are kept in full.
            sample=settings.sample if keeps_answers else 0.0,
        )


class Quotes:
    """Quotes texts: redacted, and whole, cut or not at all, as :class:`Keeping` says.

    The total length of whole texts is limited, so that records do not get too large. Beyond the
    limit, texts are cut even if ``audit.text`` is ``full``. Long names are always cut, see
    :meth:`name`.
    """

    def __init__(self, keeping: Keeping, *, max_chars: int) -> None:
        """Prepare to quote texts; ``max_chars`` limits the total length of texts kept whole."""
        self._keeping, self._left = keeping, max_chars
        # The cache helps because many claims have the same citations.
        self._apply = lru_cache(maxsize=1024)(keeping.redaction.apply)

    def read(self, text: str) -> RedactedText:
        """Find the ranges to redact in a text, so that parts of the text can be quoted."""
        if self._keeping.text is AuditText.HASH:
            return RedactedText(text, ())  # no part of the text will be quoted
        return self._keeping.redaction.read(text)

    def piece(self, text: RedactedText, start: int = 0, end: int | None = None) -> str | None:
        """Quote a range of a redacted text; ``None`` if only hashes are kept."""
        return self.redacted(text.piece(start, end))

    def part(self, whole: RedactedText, part: Claim | Span) -> str | None:
        """Quote a claim or span as a range of the whole text.

        If the whole text has other words in this range, the part is redacted by itself. If only
        hashes are kept, return ``None``.
        """
        if whole.text[part.start : part.end] == part.text:
            return self.piece(whole, part.start, part.end)
        return self.text(part.text)

    def text(self, text: str) -> str | None:
        """Redact and quote a text; ``None`` if only hashes are kept."""
        return self.redacted(self._apply(text))

    def name(self, text: str) -> str:
        """Redact a name, even if only hashes of other texts are kept.

        A long name is cut; NUL and lone surrogates, which not every database stores, are
        replaced.
        """
        return cut(self._apply(text)).encode("utf-8", "replace").decode().replace("\0", "\ufffd")

    def redacted(self, text: str) -> str | None:
        """Quote a text that is redacted already; ``None`` if only hashes are kept."""
        if self._keeping.text is AuditText.HASH:
            return None
        if self._keeping.text is AuditText.CUT or len(text) > self._left:
            return cut(text)
        self._left -= len(text)
        return text


def cut(text: str, max_chars: int = MAX_CHARS) -> str:
    """Return a text, or its beginning and ``...`` if it is too long.

    >>> cut("It is 330 metres tall.", max_chars=9)
    'It is 330...'
    """
    return text if len(text) <= max_chars else text[:max_chars] + _CUT


def is_cut(kept: str, n_chars: int) -> bool:
    """Return whether a kept text is only the beginning of a text with ``n_chars`` characters.

    A text of 103 characters counts as whole, because its cut form has 103 characters, too.

    >>> is_cut(cut("a" * 500), 500), is_cut("It is 330 metres tall.", 22)
    (True, False)
    """
    return len(kept) == MAX_CHARS + len(_CUT) != n_chars and kept.endswith(_CUT)


def hashed(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
