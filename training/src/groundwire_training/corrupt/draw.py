"""The table of kinds of mistakes, and functions that put them into answers."""

import random
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt.dates import date
from groundwire_training.corrupt.edits import Edit, Mistakes, applied, is_free, shuffled
from groundwire_training.corrupt.entities import entity
from groundwire_training.corrupt.foreign import foreign
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.negation import negation
from groundwire_training.corrupt.numbers import number
from groundwire_training.corrupt.opposites import opposite
from groundwire_training.corrupt.swaps import swap
from groundwire_training.corrupt.units import unit
from groundwire_training.corrupt.wording import WORD
from groundwire_training.sets import LabelledContext


class Kind(NamedTuple):
    """A kind of mistake.

    Attributes:
        propose: Proposes mistakes for an answer's text, in random order. It proposes only edits
            after which the text is surely wrong.
        weight: Relative frequency with which this kind is tried first.
    """

    propose: Callable[[str, Grounds, random.Random], Mistakes]
    weight: int


KINDS = {
    "number": Kind(number, 3),
    "date": Kind(date, 3),
    "unit": Kind(unit, 2),
    "entity": Kind(entity, 4),
    "swap": Kind(swap, 2),
    "negation": Kind(negation, 2),
    "opposite": Kind(opposite, 2),
    "foreign": Kind(foreign, 1),
}


def corrupt(
    answer: MarkedAnswer, grounds: Grounds, rng: random.Random, *, kind: str
) -> MarkedAnswer | None:
    """Put one mistake of a kind into an answer.

    Args:
        answer: The answer. Text outside of its spans is assumed to be supported.
        grounds: The answer's sources.
        rng: Chooses the place and the mistake; the only source of randomness.
        kind: A key of :data:`KINDS`.

    Returns:
        The answer with the mistake marked, or ``None`` if the kind does not apply.
    """
    for proposed in KINDS[kind].propose(answer.text, grounds, rng):
        edits = [edit.with_article(answer.text) for edit in proposed]
        if is_free(answer, edits) and not any(_is_said(answer.text, e, grounds) for e in edits):
            return applied(answer, edits)
    return None


def _is_said(text: str, edit: Edit, grounds: Grounds) -> bool:
    """Return whether the sources have an edit's new words between the same neighbouring words."""
    before = WORD.findall(text[: edit.start][-40:])[-1:]
    after = WORD.findall(text[edit.end :][:40])[:1]
    return grounds.says(" ".join([*before, edit.text, *after]))


def corrupt_any(
    answer: MarkedAnswer, grounds: Grounds, rng: random.Random, *, kinds: Collection[str] = KINDS
) -> MarkedAnswer | None:
    """Put one mistake into an answer, trying kinds in random order by their weights."""
    # Sampling without replacement by weight (Efraimidis and Spirakis, 2006).
    order = sorted(kinds, key=lambda kind: -(rng.random() ** (1 / KINDS[kind].weight)))
    for kind in order:
        if (wrong := corrupt(answer, grounds, rng, kind=kind)) is not None:
            return wrong
    return None


def draw_corrupted(
    record: LabelledContext, n: int, rng: random.Random, strangers: Sequence[LabelledContext]
) -> tuple[MarkedAnswer, ...]:
    """Make corrupted versions of a record's answers, beginning with answers that have few spans.

    Args:
        record: The record; its answers are not changed.
        n: The most versions to make. If the record has fewer answers, they are used repeatedly.
        rng: The only source of randomness.
        strangers: Other records, from which foreign names and sentences are taken.

    Returns:
        Up to ``n`` different answers, with one or two mistakes each.
    """
    grounds = Grounds([source.text for source in record.sources], strangers)
    answers = sorted(shuffled(record.answers, rng), key=lambda answer: len(answer.spans))
    made: dict[MarkedAnswer, None] = {}
    for i in range(n if answers else 0):
        wrong = corrupt_any(answers[i % len(answers)], grounds, rng)
        if wrong is not None and rng.random() < 0.4:
            wrong = corrupt_any(wrong, grounds, rng) or wrong
        if wrong is not None:
            made[wrong] = None
    return tuple(made)
