"""Reads single parts of answers, such as headings and offers, which claim something or nothing.

A part that claims nothing is right beside any evidence, and beside none. One that claims something
is not. So the reader learns what is a claim.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from groundwire.evaluation.datasets.slots import UNSUPPORTED, MarkedAnswer
from groundwire_training.sets import LabelledContext, read_rows

#: The number of parts that are read beside the evidence of one text.
_PARTS = 4


def asides(folder: Path) -> list[MarkedAnswer]:
    """Read the parts of all ``.jsonl`` files of a folder; rows have ``text`` and ``claims``.

    Returns:
        One answer a part. All of its text is marked as unsupported if it claims something.
    """
    return [
        MarkedAnswer(row["text"], ((0, len(row["text"]), UNSUPPORTED),) if row["claims"] else ())
        for path in sorted(folder.glob("*.jsonl"))
        for row in read_rows(path)
    ]


def beside(
    record: LabelledContext, parts: Sequence[MarkedAnswer], rng: random.Random
) -> LabelledContext:
    """Make a record of a few parts beside one source of ``record``, or half the time beside none.

    The source is about something else.
    """
    sources = () if rng.random() < 0.5 else (rng.choice(record.sources),)
    some = rng.sample(parts, min(_PARTS, len(parts)))
    return LabelledContext(record.id, "asides", sources, None, tuple(some))
