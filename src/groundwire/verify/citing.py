"""Maps the ids that an answer writes in its citations to the ids of spans (passages of evidence).

An id means the span with this id. If there is no such span, ``[12]`` may mean ``S12``, and
``[S12]`` the span ``12``. If there is no such span either, ``[12]`` may be counted from 1 and mean
``S11``. This is assumed only if there is a span ``S0``, all citations of the answer are plain
numbers, and none of them names a span in one of the ways above.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(r"[0-9]{1,6}")
_NAMED = re.compile(r"[Ss]([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Normalization:
    """A written id (``raw``) that was not taken literally, and the span's id (``resolved``)."""

    raw: str
    resolved: str


@dataclass(frozen=True, slots=True)
class IdMap:
    """Maps each id that an answer writes in its citations to the id of a span of evidence.

    Attributes:
        known: Ids of the spans.
        counts_from_one: Whether the answer counts the spans from 1, so that ``[1]`` means ``S0``.
    """

    known: frozenset[str]
    counts_from_one: bool = False

    @classmethod
    def of(cls, known: Iterable[str], written: Iterable[str]) -> "IdMap":
        """Make the map for an answer, from the ids of the spans and the ids that the answer writes.

        The answer counts the spans from 1 if there is a span ``S0``, and all written ids are plain
        numbers that otherwise mean no span. In the first example, ``2`` otherwise means no span, so
        it is the second span. In the second example, ``1`` means the span ``S1``, so the answer
        does not count from 1, and ``2`` means no span.

        >>> IdMap.of(["S0", "S1"], ["2"]).meaning("2")
        'S1'
        >>> IdMap.of(["S0", "S1"], ["1", "2"]).meaning("2") is None
        True
        """
        names = frozenset(known)
        plain = cls(names)
        # If any id means a span without renumbering, the answer does not count from 1.
        is_free = all(_NUMBER.fullmatch(each) and not plain.meaning(each) for each in written)
        return cls(names, is_free and "S0" in names)

    def meaning(self, written: str) -> str | None:
        """Return the id of the span that a written id means; ``None`` if it means no span."""
        if written in self.known:
            return written
        if number := _NUMBER.fullmatch(written):
            before = f"S{int(number.group()) - 1}" if self.counts_from_one else ""
            return self._first(f"S{number.group()}", f"s{number.group()}", before)
        if name := _NAMED.fullmatch(written):
            return self._first(name.group(1), f"S{name.group(1)}", f"s{name.group(1)}")
        return None

    def _first(self, *candidates: str) -> str | None:
        return next((each for each in candidates if each in self.known), None)
