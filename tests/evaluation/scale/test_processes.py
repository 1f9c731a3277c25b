"""Worker processes on this machine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from groundwire.detection.example import Example
from groundwire.detection.values import Detection
from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.files import AnyRow, read_labelled
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judging import Block, judge_block
from groundwire.evaluation.loading import AnyDetector, DetectorChoice, load_detector
from groundwire.evaluation.results_file import read_header, read_judged
from groundwire.evaluation.run import here, run
from groundwire.evaluation.scale.processes import on_processes
from groundwire.evaluation.scale.workers import Recipe, WorkerError
from tests.evaluation.datasets.tables import json_lines, write
from tests.evaluation.results import failed, header, rows_of, some_answers, without_times
from tests.evaluation.scale.data import CHOICE, generated, info, recipe, rows_in, scores
from tests.fakes import FIXED, FixedDetector

#: Each test starts processes, and each of them imports the library.
pytestmark = pytest.mark.merge

#: A bound on how long a process may take here; none comes near it.
PATIENCE_S = 120


def fixed(choice: DetectorChoice) -> AnyDetector:
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


def dying(choice: DetectorChoice) -> AnyDetector:
    del choice
    return Dying()


def fixed_recipe() -> Recipe:
    return Recipe(load=fixed, choice=DetectorChoice(), info=FIXED)


def test_processes_give_exactly_the_numbers_of_this_one(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, 60)
    alone = scores(here(load_detector(CHOICE)), rows, tmp_path / "a.jsonl")
    assert scores(on_processes(recipe(), 2), rows, tmp_path / "b.jsonl") == alone


def test_each_row_has_one_result_with_more_workers_than_processors(tmp_path: Path) -> None:
    rows: list[AnyRow] = [*rows_of(some_answers(11)), failed(12)]
    output = tmp_path / "r.jsonl"
    judging = on_processes(fixed_recipe(), 3)
    run(judging, rows, output=output, header=header(), block_rows=2)
    assert sorted(row.row for row in read_judged(output)) == list(range(1, 13))


def test_a_worker_that_ends_is_told_and_the_rest_can_be_judged_later(tmp_path: Path) -> None:
    rows = rows_of(some_answers(20))
    output = tmp_path / "r.jsonl"
    judging = on_processes(Recipe(load=dying, choice=DetectorChoice(), info=FIXED), 1)
    with pytest.raises(WorkerError, match=r"ended unforeseen.*--resume judges the rest"):
        run(judging, rows, output=output, header=header(), block_rows=3)
    assert [row.row for row in read_judged(output)] == [*range(1, 10)]
    again = on_processes(fixed_recipe(), 1)
    assert run(again, rows, output=output, header=header()).n_new == 11


def test_a_worker_with_another_detector_or_version_judges_nothing(tmp_path: Path) -> None:
    rows = rows_of(some_answers(2))
    others = {
        "loaded fixed": replace(fixed_recipe(), info=info()),
        "has Groundwire": replace(fixed_recipe(), version="0.0.1"),
    }
    for problem, other in others.items():
        with pytest.raises(WorkerError, match=problem):
            run(on_processes(other, 1), rows, output=tmp_path / "r.jsonl", header=header())


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


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux who its children are")
def test_the_workers_of_a_process_that_is_killed_end_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "data.jsonl", json_lines(*generated(1500)))
    code = "from groundwire.cli import main; main()"
    command = [
        *(sys.executable, "-c", code, "evaluate", "--data", "data.jsonl", "--output", "r.jsonl"),
        *("--detector", "similarity:hash", "--workers", "2", "--resume", "--json"),
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    output = tmp_path / "r.jsonl"
    _wait(lambda: output.exists() and output.read_bytes().count(b"\n") > 50)
    workers = _children(process.pid)
    process.kill()
    assert process.wait(PATIENCE_S) == -9
    assert len(workers) >= 2
    _wait(lambda: not any(Path(f"/proc/{worker}/exe").exists() for worker in workers))
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False
    )
    cut = without_times(Evaluation.read(output).to_dict())
    monkeypatch.chdir(tmp_path)  # messages name the file as the command does
    rows = list(read_labelled(Path("data.jsonl")))
    alone = without_times(
        Evaluation.of(read_header(output), judge_block(load_detector(CHOICE), rows)).to_dict()
    )
    assert cut == alone
    assert json.loads(done.stdout)["n"] == 1500


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _wait(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
