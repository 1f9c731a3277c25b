"""Redacts texts before they are kept: markers like ``[REDACTED:email]`` replace sensitive parts.

A part of a text, such as a span of an answer, is redacted within the whole text: half of a card's
number does not look like a card's number by itself.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from typing import Self

from groundwire.config.tree import SETTINGS
from groundwire.control.audit import shapes
from groundwire.detection.values import JsonRecord


class RedactionKind(StrEnum):
    """The kinds of text that can be redacted.

    Where texts of two kinds overlap, the kind that is listed first gives the marker.
    """

    SECRET = "secret"
    EMAIL = "email"
    IBAN = "iban"
    CARD = "card"
    PHONE = "phone"
    IP = "ip"

    @property
    def marker(self) -> str:
        """The text that replaces a redacted text of this kind."""
        return f"[REDACTED:{self}]"


_FINDERS: dict[RedactionKind, shapes.Finder] = {
    RedactionKind.SECRET: shapes.secrets,
    RedactionKind.EMAIL: shapes.emails,
    RedactionKind.IBAN: shapes.ibans,
    RedactionKind.CARD: shapes.cards,
    RedactionKind.PHONE: shapes.phones,
    RedactionKind.IP: shapes.ips,
}


@dataclass(frozen=True, slots=True)
class Redacted(JsonRecord):
    """A redacted range of a text: ``[start, end)``, in characters."""

    start: int
    end: int
    kind: RedactionKind


@dataclass(frozen=True, slots=True)
class Redaction:
    """The kinds of text that are redacted, from the setting ``audit.redact``."""

    kinds: tuple[RedactionKind, ...] = (RedactionKind.SECRET,)

    @classmethod
    def of(cls, setting: str) -> Self:
        """Read ``audit.redact``: names of kinds, separated by commas, or ``none``.

        Raises:
            KindError: If a name is unknown, or there are names beside ``none``.
        """
        names = SETTINGS["audit.redact"].kind.read(setting).split(",")
        return cls(tuple(kind for kind in RedactionKind if kind in names))

    def find(self, text: str) -> tuple[Redacted, ...]:
        """Find the ranges to redact in a text; they are in reading order and disjoint."""
        plain = shapes.folded(text)
        found = sorted(
            (start, rank, end)
            for rank, kind in enumerate(self.kinds)
            for start, end in _FINDERS[kind](plain)
        )
        return tuple(Redacted(start, end, self.kinds[rank]) for start, end, rank in _joined(found))

    def read(self, text: str) -> "RedactedText":
        """Find the ranges to redact in a text; return the text together with these ranges."""
        return RedactedText(text, self.find(text))

    def apply(self, text: str) -> str:
        """Redact a text.

        >>> Redaction.of("email").apply("Write to alice@example.com.")
        'Write to [REDACTED:email].'
        """
        return self.read(text).piece()


class RedactedText:
    """A text with its ranges to redact; parts of it can be read in redacted form."""

    def __init__(self, text: str, found: tuple[Redacted, ...]) -> None:
        """Keep a text and its ranges to redact, in reading order and disjoint."""
        self.text, self.found = text, found
        self._ends = [each.end for each in found]

    def touched(self, start: int, end: int) -> tuple[Redacted, ...]:
        """Return the ranges to redact that overlap the range ``[start, end)``."""
        first = bisect_right(self._ends, start)
        return tuple(takewhile(lambda each: each.start < end, islice(self.found, first, None)))

    def piece(self, start: int = 0, end: int | None = None) -> str:
        """Return a part of the text, redacted; without arguments, the whole text.

        Even a range to redact that lies only partly in ``[start, end)`` is replaced by its marker.
        """
        end = len(self.text) if end is None else end
        parts, at = [], start
        for each in self.touched(start, end):
            parts += [self.text[at : max(at, each.start)], each.kind.marker]
            at = min(each.end, end)
        return "".join([*parts, self.text[at:end]])


def _joined(found: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join overlapping ranges into disjoint ones.

    ``found`` is sorted and has ranges ``(start, rank, end)``; the result has ``(start, end, rank)``
    with the lowest rank of each joined range.
    """
    joined: list[tuple[int, int, int]] = []
    for start, rank, end in found:
        if joined and start < joined[-1][1]:
            last_start, last_end, last_rank = joined.pop()
            joined.append((last_start, max(last_end, end), min(last_rank, rank)))
        else:
            joined.append((start, end, rank))
    return joined
