"""Labelled answers through a detector, into a file of results."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pytest

from groundwire import Detector
from groundwire.detection.example import Example
from groundwire.detection.values import Detection
from groundwire.engine.models import list_models
from groundwire.errors import DatasetError, GroundwireError
from groundwire.evaluation.datasets.files import AnyRow
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import ResultsError
from groundwire.evaluation.judging import judge_block
from groundwire.evaluation.loading import DifferentDetectorError
from groundwire.evaluation.results_file import read_judged
from groundwire.evaluation.run import run
from tests.evaluation.labelled import labelled
from tests.evaluation.results import (
    DETECTOR,
    failed,
    header,
    lines_of,
    rows_of,
    some_answers,
    without_times,
)
from tests.fakes import FIXED, FixedDetector


@dataclass(frozen=True, kw_only=True)
class Watched(FixedDetector):
    """A detector that remembers what it was given, in order."""

    seen: list[str] = field(default_factory=list)

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        for example in examples:
            self.seen.append(example.answer)
            yield from super().detect_batch([example])


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def scores(path: Path) -> bytes:
    return without_times(Evaluation.read(path).to_dict())


def test_each_row_has_one_result(output: Path) -> None:
    rows = [*rows_of(some_answers(6)), failed(7)]
    done = run(DETECTOR, rows, output=output, header=header())
    assert (done.n_rows, done.n_new) == (7, 7)
    assert sorted(row.row for row in read_judged(output)) == [1, 2, 3, 4, 5, 6, 7]


def test_a_row_that_cannot_be_read_and_a_check_that_fails_are_rows_with_an_error(
    output: Path,
) -> None:
    rows = [failed(1), *rows_of([labelled("x"), labelled("It is bad.", "bad", id_="b")])[1:]]
    run(DETECTOR, rows, output=output, header=header())
    unread, unchecked = read_judged(output)
    assert unread.error == {"type": "RowError", "message": "t.jsonl:1: bad"}
    assert (unread.detection, unread.hallucinated) == (None, None)
    assert unchecked.error == {
        "type": "DetectionError",
        "message": "The detector failed on 'bad'.",
    }
    assert (unchecked.detection, unchecked.hallucinated) == (None, True)


def test_answers_to_one_context_are_judged_one_after_the_other() -> None:
    detector = Watched()
    list(judge_block(detector, rows_of(some_answers(9, n_contexts=3))))
    assert [int(answer.split(", ")[1][:-1]) for answer in detector.seen] == [
        *(0, 3, 6),
        *(1, 4, 7),
        *(2, 5, 8),
    ]


@pytest.mark.merge
@pytest.mark.skipif(not list_models(), reason="the embedded model is not built")
def test_each_context_is_read_once_for_its_six_answers() -> None:
    contexts = [
        [f"In {year} the museum of {town} opened its {k}th hall." for k in range(3)]
        for year, town in ((1889, "Arles"), (1911, "Basel"), (1954, "Cork"))
    ]

    def answers(n: int) -> list[LabelledAnswer]:
        return [
            replace(
                labelled("x", context=f"c{i}", id_=f"{i}.{k}"),
                example=Example.of(sources=texts, answer=f"The hall opened in {1880 + k}."),
            )
            for k in range(n)  # as far apart as a block allows
            for i, texts in enumerate(contexts)
        ]

    def n_read(n: int) -> int:
        with Detector.load(threads=2) as detector:
            list(judge_block(detector, rows_of(answers(n))))
            assert detector.cache is not None
            return detector.cache.misses

    assert n_read(6) == n_read(1) > 0


def test_a_run_that_is_cut_anywhere_ends_as_one_that_is_not(output: Path) -> None:
    rows: list[AnyRow] = [*rows_of(some_answers(40)), failed(41), failed(42)]
    random.Random(0).shuffle(rows)
    run(DETECTOR, rows, output=output, header=header())
    whole = scores(output)
    content = output.read_bytes()
    for n_bytes in (0, 10, len(content) // 3, len(content) // 2, len(content) - 1):
        output.write_bytes(content[:n_bytes])
        n_left = run(DETECTOR, rows, output=output, header=header()).n_new
        assert n_left == 42 - max(0, content[:n_bytes].count(b"\n") - 1)
        assert scores(output) == whole


def test_a_run_that_is_complete_judges_nothing(output: Path) -> None:
    rows = rows_of(some_answers(5))
    run(DETECTOR, rows, output=output, header=header())
    before = output.read_bytes()
    detector = Watched(unsupported=["wrong"])
    assert run(detector, rows, output=output, header=header()).n_new == 0
    assert detector.seen == []
    assert output.read_bytes() == before


def test_what_is_done_is_told_with_what_was_done_before(output: Path) -> None:
    rows = rows_of(some_answers(5))
    with pytest.raises(Killed):
        run(DETECTOR, rows, output=output, header=header(), on_row=_kill_at(2))
    told: list[int] = []
    run(DETECTOR, rows, output=output, header=header(), on_row=told.append)
    assert told == [3, 4, 5]


def _kill_at(n_rows: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def on_row(n: int) -> None:
        if n == n_rows:
            raise Killed

    return on_row


def test_results_of_another_detector_are_refused(output: Path) -> None:
    rows = rows_of(some_answers(5))
    run(DETECTOR, rows, output=output, header=header())
    before = output.read_bytes()
    with pytest.raises(DifferentDetectorError):
        run(DETECTOR, rows, output=output, header=header(replace(FIXED, revision="1" * 40)))
    assert output.read_bytes() == before


def test_results_of_rows_that_changed_are_refused(output: Path) -> None:
    run(DETECTOR, rows_of(some_answers(5)), output=output, header=header())
    others = rows_of([*some_answers(4), labelled("It is another.", id_="a4")])
    with pytest.raises(ResultsError, match="row 5 of the data is not the one"):
        run(DETECTOR, others, output=output, header=header())


def test_results_of_rows_that_are_not_chosen_are_refused(output: Path) -> None:
    rows = rows_of(some_answers(5))
    run(DETECTOR, rows, output=output, header=header())
    with pytest.raises(ResultsError, match="2 results of rows that are not chosen now"):
        run(DETECTOR, islice(rows, 3), output=output, header=header())


def test_a_sample_can_be_continued_with_more(output: Path) -> None:
    rows = rows_of(some_answers(5))
    run(DETECTOR, rows[:3], output=output, header=header())
    assert run(DETECTOR, rows, output=output, header=header()).n_new == 2


def test_data_that_cannot_be_read_leaves_the_file_as_it_is(output: Path) -> None:
    def unreadable() -> Iterator[AnyRow]:
        raise DatasetError(output, None, "it has no rows")
        yield

    with pytest.raises(DatasetError):
        run(DETECTOR, unreadable(), output=output, header=header())
    assert not output.exists()
    output.write_text("something of the user's", encoding="utf-8")
    with pytest.raises(DatasetError):
        run(DETECTOR, unreadable(), output=output, header=header(), replace=True)
    assert output.read_text(encoding="utf-8") == "something of the user's"


def test_a_file_is_replaced_if_that_is_wanted(output: Path) -> None:
    output.write_text("something else", encoding="utf-8")
    run(DETECTOR, rows_of(some_answers(2)), output=output, header=header(), replace=True)
    assert len(lines_of(output)) == 3


def test_results_are_not_packed(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="not packed"):
        run(DETECTOR, rows_of(some_answers(2)), output=tmp_path / "r.jsonl.gz", header=header())
