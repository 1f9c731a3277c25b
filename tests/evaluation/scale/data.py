"""Labelled answers for engines: real words, right and wrong, and what cannot be read."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.detection.values import DetectorInfo
from groundwire.evaluation.datasets.files import AnyRow, read_labelled
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.judging import Judging
from groundwire.evaluation.loading import DetectorChoice, load_detector
from groundwire.evaluation.run import run
from groundwire.evaluation.scale.workers import Recipe
from tests.evaluation.datasets.tables import json_lines, write
from tests.evaluation.results import without_times

#: Compares hashed words: it loads in a moment, and every process gives the same.
CHOICE = DetectorChoice(model="similarity:hash", threads=1)


def generated(n: int, n_answers: int = 3) -> list[Mapping[str, Any]]:
    """Rows, so many answers to a context; one cannot be read, and one has no label."""
    rows: list[Mapping[str, Any]] = []
    for i in range(n):
        context = i // n_answers
        rows.append(
            {
                "id": f"g{i}",
                "task": f"T{context % 2}",
                "context_id": f"c{context}",
                "sources": [words(2 * context, 60), words(2 * context + 1, 60)],
                "answer": words(2 * context if i % 2 else -i, 27),
                "label": None if i == 5 else "grounded" if i % 2 else "hallucinated",
                "note": "a \ud800 half" if i == 3 else "m",
            }
        )
    rows[7] = {"id": "g7", "answer": 5}
    return rows


def words(seed: int, n: int) -> str:
    """Sentences of made-up words."""
    draw = random.Random(seed)
    names = [f"word{draw.randrange(400)}" for _ in range(n)]
    return " ".join(" ".join(names[i : i + 9]).capitalize() + "." for i in range(0, n, 9))


def rows_in(folder: Path, n: int) -> list[AnyRow]:
    """The same, as they are read from a file."""
    return list(read_labelled(write(folder / "data.jsonl", json_lines(*generated(n)))))


def info() -> DetectorInfo:
    """What that detector says it is."""
    return load_detector(CHOICE).info


def recipe() -> Recipe:
    """How a worker comes by that detector."""
    return Recipe(load=load_detector, choice=CHOICE, info=info())


def header() -> Header:
    """What results of that detector begin with."""
    return Header(detector=info(), data={"data.jsonl": "0" * 64}, command="groundwire evaluate")


def scores(judging: Judging, rows: Sequence[AnyRow], output: Path, block_rows: int = 8) -> bytes:
    """What an engine makes of rows, without times."""
    run(judging, rows, output=output, header=header(), block_rows=block_rows)
    return without_times(Evaluation.read(output).to_dict())
