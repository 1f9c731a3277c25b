"""Worker processes on this machine."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from groundwire.cli.detectors import AnyDetector, Choice, load_detector
from groundwire.detection import Detection
from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.files import AnyRow
from groundwire.evaluation.judged import read_judged
from groundwire.evaluation.running import Block, here, run_on
from groundwire.evaluation.scale.processes import on_processes
from groundwire.evaluation.scale.workers import Recipe, WorkerError
from groundwire.example import Example
from tests.evaluation.results import failed, header, rows_of, some_answers
from tests.evaluation.scale.data import CHOICE, info, recipe, rows_in, scores
from tests.fakes import FIXED, FixedDetector


def fixed(choice: Choice) -> AnyDetector:
    del choice
    return FixedDetector(unsupported=["wrong"])


@dataclass(frozen=True, kw_only=True)
class Dying(FixedDetector):
    """Its process ends at an answer, as if the system had ended it."""

    def detect_batch(self, examples: object) -> Iterator[Detection | GroundwireError]:
        assert isinstance(examples, list)
        for example in examples:
            assert isinstance(example, Example)
            if "9" in example.answer:
                os._exit(9)
            yield from super().detect_batch([example])


def dying(choice: Choice) -> AnyDetector:
    del choice
    return Dying()


def fixed_recipe() -> Recipe:
    return Recipe(load=fixed, choice=Choice(), info=FIXED)


def test_processes_give_exactly_the_numbers_of_this_one(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, 60)
    alone = scores(here(load_detector(CHOICE)), rows, tmp_path / "a.jsonl")
    assert scores(on_processes(recipe(), 2), rows, tmp_path / "b.jsonl") == alone


@pytest.mark.parametrize("n_workers", [1, 3])
def test_each_row_has_one_result_however_many_workers_there_are(
    tmp_path: Path, n_workers: int
) -> None:
    rows: list[AnyRow] = [*rows_of(some_answers(11)), failed(12)]
    output = tmp_path / "r.jsonl"
    judging = on_processes(fixed_recipe(), n_workers)
    run_on(judging, rows, output=output, header=header(), block_rows=2)
    assert sorted(row.row for row in read_judged(output)) == list(range(1, 13))


def test_a_worker_that_ends_is_told_and_the_rest_can_be_judged_later(tmp_path: Path) -> None:
    rows = rows_of(some_answers(20))
    output = tmp_path / "r.jsonl"
    judging = on_processes(Recipe(load=dying, choice=Choice(), info=FIXED), 1)
    with pytest.raises(WorkerError, match=r"ended unforeseen.*--resume judges the rest"):
        run_on(judging, rows, output=output, header=header(), block_rows=3)
    assert [row.row for row in read_judged(output)] == [*range(1, 10)]
    again = on_processes(fixed_recipe(), 1)
    assert run_on(again, rows, output=output, header=header()).n_new == 11


def test_a_worker_with_another_detector_or_version_judges_nothing(tmp_path: Path) -> None:
    rows = rows_of(some_answers(2))
    others = {
        "loaded fixed": replace(fixed_recipe(), info=info()),
        "has Groundwire": replace(fixed_recipe(), version="0.0.1"),
    }
    for problem, other in others.items():
        with pytest.raises(WorkerError, match=problem):
            run_on(on_processes(other, 1), rows, output=tmp_path / "r.jsonl", header=header())


def test_no_more_is_read_ahead_than_there_are_workers() -> None:
    n_read = 0

    def blocks() -> Iterator[Block]:
        nonlocal n_read
        for row in rows_of(some_answers(9)):
            n_read += 1
            yield [row]

    judging = on_processes(fixed_recipe(), 2)(blocks())
    for n_judged, _ in enumerate(judging, 1):
        assert n_read <= n_judged + 2
    assert n_read == 9
