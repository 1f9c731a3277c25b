"""Reads single parts of answers, such as headings and offers, labelled as claims or as asides.

Each part is read without evidence, or with evidence about something else. There an aside, which
claims nothing, counts as supported, and a claim as unsupported. So the reader learns to tell the
two apart.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from groundwire.evaluation.datasets.slots import UNSUPPORTED, MarkedAnswer
from groundwire_training.sets import LabelledContext, read_rows

#: The number of parts in one training record.
_PARTS = 4


def asides(folder: Path) -> list[MarkedAnswer]:
    """Read the parts of all ``.jsonl`` files of a folder; rows have ``text`` and ``claims``.

    Returns:
        One answer for each part. The whole text of a part that is a claim is marked unsupported.
    """
    return [
        MarkedAnswer(row["text"], ((0, len(row["text"]), UNSUPPORTED),) if row["claims"] else ())
        for path in sorted(folder.glob("*.jsonl"))
        for row in read_rows(path)
    ]


def beside(
    record: LabelledContext, parts: Sequence[MarkedAnswer], rng: random.Random
) -> LabelledContext:
    """Make a record of a few parts, with one source of ``record``, or half the time without any.

    Args:
        record: A record about something else than the parts.
        parts: The parts to draw from.
        rng: The only source of randomness.
    """
    sources = () if rng.random() < 0.5 else (rng.choice(record.sources),)
    some = rng.sample(parts, min(_PARTS, len(parts)))
    return LabelledContext(record.id, "asides", sources, None, tuple(some))
