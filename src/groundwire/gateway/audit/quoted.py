"""What an audit event keeps of a text: its beginning, or a hash."""

import unicodedata
from enum import StrEnum
from hashlib import sha256

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
