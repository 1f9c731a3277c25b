"""Answers that are right beside the same answers with one mistake, written by two further hands.

Neither hand knew rules or weights. ``claims`` are sentences over short evidence, ``answers`` of
retrieval over several passages. Pairs are counted, not looked at, and once for weights that are to
ship. Those of two earlier hands are in ``read``: they were counted, and then read for what they
miss, so they show where to go on and prove nothing any more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groundwire import Detector
from tests.cases.case import Case, read

FOLDER = Path(__file__).parent
WRONG, RIGHT = "-wrong", "-right"


@dataclass(frozen=True, slots=True)
class Pair:
    """A right answer, and the same with a mistake; the sources are the same."""

    wrong: Case
    right: Case


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of ``n`` mistakes were found, and of as many right answers flagged."""

    n: int
    found: int
    flagged: int


@cache
def pairs(kind: str, *, seen: bool = False) -> tuple[Pair, ...]:
    """The pairs of two hands, in the order of their ids.

    Args:
        kind: ``claims`` or ``answers``.
        seen: Those that were read, in place of those that were not.
    """
    folder = FOLDER / "read" if seen else FOLDER
    cases = {case.id: case for path in sorted(folder.glob(f"*-{kind}.toml")) for case in read(path)}
    stems = sorted({name.removesuffix(WRONG).removesuffix(RIGHT) for name in cases})
    return tuple(Pair(cases[stem + WRONG], cases[stem + RIGHT]) for stem in stems)


def count(detector: Detector, some: Iterable[Pair]) -> dict[str, Counts]:
    """Count mistakes found and right answers flagged, by kind of mistake and in ``all``.

    A mistake is found if a word of it is flagged. A right answer is flagged if any word is.
    """
    rows: dict[str, list[tuple[bool, bool]]] = {}
    for pair in some:
        found = not any("missed" in problem for problem in _problems(detector, pair.wrong))
        flagged = bool(_problems(detector, pair.right))
        rows.setdefault(pair.wrong.kind, []).append((found, flagged))
    groups = dict(sorted(rows.items()))
    groups["all"] = [row for group in rows.values() for row in group]
    return {
        kind: Counts(len(group), *(sum(each) for each in zip(*group, strict=True)))
        for kind, group in groups.items()
    }


def _problems(detector: Detector, case: Case) -> list[str]:
    return case.problems(
        detector.detect(sources=case.sources, question=case.question, answer=case.answer)
    )
