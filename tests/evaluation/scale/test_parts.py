"""Results as a folder of Parquet files."""

import shutil
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the eval extra")

from groundwire.evaluation.datasets.files import AnyRow
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import JudgedRow, ResultsError
from groundwire.evaluation.judging import Block, Judging
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.evaluation.results_file import open_results, read_header, read_judged
from groundwire.evaluation.run import here, run
from groundwire.evaluation.scale.parts import MANIFEST, parts_of
from tests.evaluation.labelled import labelled
from tests.evaluation.results import (
    DETECTOR,
    failed,
    header,
    judged,
    rows_of,
    some_answers,
    without_times,
)
from tests.fakes import FIXED, FixedDetector

ROWS: list[AnyRow] = [*rows_of(some_answers(40)), failed(41)]


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "results.parquet"


def judge(output: Path, judging: Judging | None = None, *, replaces: bool = False) -> int:
    done = run(
        judging or here(DETECTOR),
        ROWS,
        output=output,
        header=header(),
        replace=replaces,
        block_rows=8,
    )
    return done.n_new


def scores(path: Path) -> bytes:
    return without_times(Evaluation.read(path).to_dict())


def test_a_folder_holds_what_a_file_holds(output: Path, tmp_path: Path) -> None:
    assert judge(output) == judge(tmp_path / "r.jsonl") == 41
    assert read_header(output) == read_header(tmp_path / "r.jsonl")
    lines = sorted(read_judged(tmp_path / "r.jsonl"), key=lambda row: row.row)
    assert sorted(read_judged(output), key=lambda row: row.row) == lines
    assert scores(output) == scores(tmp_path / "r.jsonl")


def test_there_is_a_file_for_each_batch(output: Path) -> None:
    judge(output)
    assert len(parts_of(output)) == 6
    assert {path.name for path in output.iterdir()} - {path.name for path in parts_of(output)} == {
        MANIFEST
    }


def test_a_run_that_is_cut_between_batches_or_in_one_ends_as_one_that_is_not(
    output: Path, tmp_path: Path
) -> None:
    n_batches = 2

    def cut(blocks: Iterator[Block]) -> Generator[Iterable[JudgedRow]]:
        for i, batch in enumerate(here(DETECTOR)(blocks)):
            yield batch if i < n_batches else partly(batch)

    def partly(batch: Iterable[JudgedRow]) -> Iterator[JudgedRow]:
        yield from islice(batch, 3)
        raise Killed

    with pytest.raises(Killed):
        judge(output, cut)
    (output / "part-000000000003.parquet.part").write_bytes(b"PAR1 cut short")
    assert judge(output) == 41 - 8 * n_batches
    assert not list(output.glob("*.part"))
    judge(tmp_path / "r.jsonl")
    assert scores(output) == scores(tmp_path / "r.jsonl")


def test_a_folder_of_which_not_even_the_header_was_written_is_begun(output: Path) -> None:
    output.mkdir()
    (output / f"{MANIFEST}.part").write_text('{"sch', encoding="utf-8")
    assert judge(output) == 41


def test_a_part_that_is_lost_is_judged_again(output: Path) -> None:
    judge(output)
    parts_of(output)[2].unlink()
    assert judge(output) == 8
    assert len(list(read_judged(output))) == 41


# Rows that failed, once more.

# The first of each part but one fails, and one part as a whole.
_FAIL = {1, 4, 9, 17, *range(25, 33)}
FAILING: list[AnyRow] = [
    *rows_of(
        labelled(f"{'bad' if n in _FAIL else 'fine'} {n}", context=f"c{n}", id_=f"a{n}")
        for n in range(1, 41)
    ),
    failed(41),
]
MENDED = FixedDetector(unsupported=["wrong"])


def judge_failing(output: Path, detector: FixedDetector, *, retries: bool) -> int:
    done = run(
        here(detector),
        FAILING,
        output=output,
        header=header(),
        block_rows=8,
        retry_failed=retries,
    )
    assert done.n_rows == len(FAILING)
    return done.n_new


def test_rows_that_failed_are_judged_again_and_no_others(output: Path, tmp_path: Path) -> None:
    judge_failing(output, DETECTOR, retries=False)
    assert judge_failing(output, MENDED, retries=True) == len(_FAIL) + 1
    assert sorted(row.row for row in read_judged(output)) == [*range(1, 42)]
    judge_failing(tmp_path / "whole.parquet", MENDED, retries=False)
    assert scores(output) == scores(tmp_path / "whole.parquet")
    assert judge_failing(output, MENDED, retries=True) == 1  # the one that cannot be read


def test_a_retry_that_is_cut_anywhere_ends_as_one_that_is_not(
    output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_failing(tmp_path / "whole.parquet", MENDED, retries=False)
    whole = scores(tmp_path / "whole.parquet")
    moved = Path.replace
    for n_moves in (0, 3):
        left = iter(range(n_moves))
        shutil.rmtree(output, ignore_errors=True)
        judge_failing(output, DETECTOR, retries=False)

        def move(path: Path, to: Path, left: Iterator[int] = left) -> Path:
            if next(left, None) is None:
                raise Killed
            return moved(path, to)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", move)
            with pytest.raises(Killed):
                judge_failing(output, MENDED, retries=True)
        judge_failing(output, MENDED, retries=True)
        assert scores(output) == whole
        assert not list(output.glob("*.part"))


def test_parts_without_a_row_that_failed_are_not_rewritten(output: Path) -> None:
    judge(output)
    times = {path: path.stat().st_mtime_ns for path in parts_of(output)[:-1]}
    run(
        *(here(DETECTOR), ROWS),
        output=output,
        header=header(),
        block_rows=8,
        retry_failed=True,
    )
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_another_detector_and_other_data_are_refused(output: Path) -> None:
    judge(output)
    other = header(replace(FIXED, threshold=0.7))
    with pytest.raises(DifferentDetectorError):
        run(here(DETECTOR), ROWS, output=output, header=other)
    with pytest.raises(ResultsError, match="made from other data"):
        run(here(DETECTOR), ROWS, output=output, header=header(rows="1" * 64))


def test_what_is_replaced_is_what_results_are_and_nothing_else(output: Path) -> None:
    judge(output)
    (output / "notes.txt").write_text("mine", encoding="utf-8")
    assert judge(output, replaces=True) == 41
    assert len(parts_of(output)) == 6
    assert (output / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_folder_of_something_else_is_left_alone(output: Path) -> None:
    output.mkdir()
    (output / "table.parquet").write_bytes(b"the user's")
    for replaces in (False, True):
        with pytest.raises(ResultsError, match="no folder of results"):
            judge(output, replaces=replaces)
    assert (output / "table.parquet").read_bytes() == b"the user's"


def test_a_file_is_no_folder(output: Path) -> None:
    output.write_bytes(b"PAR1")
    with pytest.raises(ResultsError, match="and this is a file"):
        judge(output)
    with pytest.raises(ResultsError, match="no folder of results"):
        read_header(output)


def test_a_damaged_part_is_named(output: Path) -> None:
    judge(output)
    path = parts_of(output)[1]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ResultsError, match=f"{path.name}: this is no file of results"):
        list(read_judged(output))
    with pytest.raises(ResultsError, match=path.name):
        judge(output)


def test_a_batch_without_rows_is_no_file(output: Path) -> None:
    with open_results(output).writer(header(), replace=False) as writer:
        writer.end_batch()
        writer.write(judged(some_answers(1))[0])
    assert parts_of(output) == []
