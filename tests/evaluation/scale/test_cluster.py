"""Ray Data, on a real cluster of this machine with two workers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray: Any = pytest.importorskip("ray", reason="needs the ray extra")
pytest.importorskip("ray.data", reason="needs the ray extra")

from groundwire.evaluation.loading import DetectorChoice, load_detector  # noqa: E402
from groundwire.evaluation.results_file import read_judged  # noqa: E402
from groundwire.evaluation.run import here, run  # noqa: E402
from groundwire.evaluation.scale.cluster import on_ray, start_local  # noqa: E402
from groundwire.evaluation.scale.workers import Recipe, WorkerError  # noqa: E402
from tests.evaluation.datasets.tables import json_lines, write  # noqa: E402
from tests.evaluation.results import header, rows_of, some_answers, without_times  # noqa: E402
from tests.evaluation.scale.data import (  # noqa: E402
    CHOICE,
    generated,
    info,
    recipe,
    rows_in,
    scores,
)

# Warnings are those of Ray, which other tests never meet.
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

#: A bound on how long a process may take here; none comes near it.
PATIENCE_S = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    start_local(2)
    yield
    ray.shutdown()


class Counted:
    """Loads detectors, and leaves a file for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, choice: DetectorChoice) -> Any:  # noqa: ANN401
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        return load_detector(choice)


@pytest.mark.usefixtures("cluster")
def test_two_workers_give_exactly_the_numbers_of_this_process(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, 90)
    alone = scores(here(load_detector(CHOICE)), rows, tmp_path / "a.jsonl")
    assert scores(on_ray(recipe(), 2), rows, tmp_path / "b.jsonl") == alone
    verdicts = [
        {row.row: _verdict(row.detection) for row in read_judged(path)}
        for path in (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    ]
    assert verdicts[0] == verdicts[1]


def _verdict(detection: Any) -> str:  # noqa: ANN401
    kept = {name: value for name, value in (detection or {}).items() if name != "timings_ms"}
    return json.dumps(kept, sort_keys=True)


@pytest.mark.usefixtures("cluster")
def test_each_worker_loads_the_model_once(tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    loads.mkdir()
    judging = on_ray(Recipe(load=Counted(loads), choice=CHOICE, info=info()), 2)
    scores(judging, rows_in(tmp_path, 60), tmp_path / "r.jsonl", block_rows=4)
    assert len(list(loads.iterdir())) == 2


@pytest.mark.usefixtures("cluster")
def test_a_worker_with_another_detector_judges_nothing(tmp_path: Path) -> None:
    rows = rows_of(some_answers(2))
    other = Recipe(load=load_detector, choice=CHOICE, info=header().detector)
    with pytest.raises(WorkerError, match="Ray could not go on"):
        run(on_ray(other, 1), rows, output=tmp_path / "r.jsonl", header=header())
    assert list(read_judged(tmp_path / "r.jsonl")) == []


def command(*options: str) -> list[str]:
    code = "from groundwire.cli import main; main()"
    return [
        *(sys.executable, "-c", code, "evaluate", "--data", "data.jsonl", "--output", "r.jsonl"),
        *("--detector", "similarity:hash", "--threads", "1", "--resume", "--json", *options),
    ]


def evaluated(folder: Path, *options: str) -> dict[str, Any]:
    result = subprocess.run(
        command(*options), cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert result.returncode == 1, result.stderr.decode()  # a row cannot be read
    found: dict[str, Any] = json.loads(result.stdout)
    return {name: value for name, value in found.items() if name != "command"}


def test_killed_in_the_middle_the_same_command_ends_with_the_numbers_of_one_process(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / name for name in ("local", "ray")]
    for folder in folders:
        folder.mkdir()
        write(folder / "data.jsonl", json_lines(*generated(1500)))
    options = ("--engine", "ray", "--workers", "2")
    # A group of its own: what Ray started ends with it.
    process = subprocess.Popen(
        command(*options),
        cwd=folders[1],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + PATIENCE_S
        results = folders[1] / "r.jsonl"
        while not results.exists() or results.read_bytes().count(b"\n") < 100:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        _end_group(process.pid)
    n_kept = sum(1 for _ in read_judged(folders[1] / "r.jsonl"))
    assert 0 < n_kept < 1500
    local, on_cluster = evaluated(folders[0]), evaluated(folders[1], *options)
    assert without_times(on_cluster) == without_times(local)
    assert (local["n"], local["n_failed"], local["n_unlabelled"]) == (1500, 1, 1)


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
