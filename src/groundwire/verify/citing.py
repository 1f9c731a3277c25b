"""From the ids that a claim writes to the ids of the spans that it cites.

An id means the span of that name. ``[12]`` may also mean ``S12``, and ``[S12]`` the span ``12``. If
there is none, ``[12]`` counted from 1 may mean ``S11``, but only if nothing in the answer speaks
against it: spans count from ``S0``, all citations are plain numbers, and none of them names a span
as it stands. Each id that is not taken literally is recorded.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_NUMBER = re.compile(r"[0-9]{1,6}")
_NAMED = re.compile(r"[Ss]([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Normalization:
    """An id that was not taken literally."""

    raw: str
    resolved: str


@dataclass(frozen=True, slots=True)
class Cites:
    """The spans that some written ids mean.

    Attributes:
        ids: Ids of spans, each once, in order.
        normalizations: Written ids that were not taken literally.
        unknown: Ids that name no span, as written.
    """

    ids: tuple[str, ...]
    normalizations: tuple[Normalization, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdMap:
    """Reads the ids that one answer writes."""

    known: frozenset[str]
    counts_from_one: bool = False

    @classmethod
    def of(cls, known: Iterable[str], written: Iterable[str]) -> "IdMap":
        """Make the map for an answer. All ids in it decide whether it numbers the spans from 1.

        >>> IdMap.of(["S0", "S1"], ["2"]).read(["2"]).ids
        ('S1',)
        >>> IdMap.of(["S0", "S1"], ["1", "2"]).read(["1", "2"])
        Cites(ids=('S1',), normalizations=(Normalization(raw='1', resolved='S1'),), unknown=('2',))
        """
        names = frozenset(known)
        plain = cls(names)
        # If any id means a span without renumbering, the answer does not number from 1.
        is_free = all(_NUMBER.fullmatch(each) and not plain.meaning(each) for each in written)
        return cls(names, is_free and "S0" in names)

    def meaning(self, written: str) -> str | None:
        """The id of the span that a written id means; ``None`` if there is none."""
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

    def read(self, written: Collection[str]) -> Cites:
        """Read the ids of one claim."""
        ids: dict[str, None] = {}
        normalizations: dict[Normalization, None] = {}
        unknown: dict[str, None] = {}
        for raw in written:
            resolved = self.meaning(raw)
            if resolved is None:
                unknown[raw] = None
                continue
            ids[resolved] = None
            if resolved != raw:
                normalizations[Normalization(raw, resolved)] = None
        return Cites(tuple(ids), tuple(normalizations), tuple(unknown))
