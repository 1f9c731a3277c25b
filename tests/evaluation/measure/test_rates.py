"""Rates of hallucinated answers, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from groundwire.evaluation.intervals import wilson
from groundwire.evaluation.judged_row import ResultsError
from groundwire.evaluation.measure.rates import rates
from groundwire.evaluation.measure.table import to_text
from tests.evaluation.measure.judged import Row, results

WRONG = Row(outcome="hallucinated")


@pytest.fixture
def counted(tmp_path: Path) -> Any:  # noqa: ANN401
    return lambda *rows, **more: rates(results(tmp_path / "r.jsonl", rows), **more)


def test_a_rate_is_one_of_verdicts(counted: Any) -> None:  # noqa: ANN401
    others = [Row(outcome=name) for name in ("partial", "unverified", "unavailable", "failed")]
    found = counted(WRONG, Row(), Row(), Row(), *others)
    assert (found["n"], found["n_verdicts"], found["n_hallucinated"]) == (8, 4, 1)
    assert (found["rate"], found["bounds"]) == (0.25, [1 / 8, 5 / 8])
    expected = wilson(1, 4)
    assert found["ci95"] == [expected.low, expected.high]
    assert found["outcomes"]["failed"] == 1
    assert found["errors"] == {"RowError": 1}


def test_answers_to_one_context_are_resampled_together(counted: Any) -> None:  # noqa: ANN401
    rows = [
        Row(outcome="hallucinated" if i % 3 == 0 else "grounded", context=f"c{i // 2}")
        for i in range(40)
    ]
    alone = wilson(14, 40)
    assert counted(*rows)["ci95"] != [alone.low, alone.high]
    assert counted(*rows[:6])["ci95"] is None


def test_without_a_verdict_there_is_no_rate(counted: Any) -> None:  # noqa: ANN401
    found = counted(Row(outcome="failed"), Row(outcome="partial"))
    assert (found["rate"], found["ci95"], found["bounds"]) == (None, None, [0, 1])


def test_contradictions_and_severities_are_counted(counted: Any) -> None:  # noqa: ANN401
    both = Row(outcome="hallucinated", spans=[("contradicted", 4), ("unsupported", 1)])
    found = counted(both, WRONG, Row())
    assert found["contradiction"]["n"] == 1
    assert found["contradiction"]["ratio"] == 0.5
    assert found["severity"]["answers"] == {"0": 1, "1": 0, "2": 1, "3": 0, "4": 1}


def test_models_and_categories_are_told_apart_in_the_order_of_the_data(
    counted: Any,  # noqa: ANN401
) -> None:
    rows = [
        Row(model="b"),
        Row(model="a", task="C", outcome="hallucinated"),
    ]
    found = counted(*rows)
    assert {name: each["rate"] for name, each in found["models"].items()} == {"b": 0, "a": 1}
    assert list(found["models"]) == ["b", "a"]
    assert found["tasks"]["C"]["n"] == 1


def test_tokens_are_counted(counted: Any) -> None:  # noqa: ANN401
    rows = [Row(model="a"), Row(model="b", tokens=(100, "many"), finish_reason="length")]
    found = counted(*rows)
    assert found["tokens"] == {"prompt": 200, "completion": 10}
    assert found["models"]["b"]["tokens"] == {"prompt": 100, "completion": 0}
    assert found["n_cut"] == 1


def test_a_file_without_rows_or_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="it has no rows"):
        rates(results(tmp_path / "r.jsonl", []))
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(ResultsError, match="no file of results"):
        rates(tmp_path / "other.jsonl")


def test_names_cannot_imitate_the_table(counted: Any) -> None:  # noqa: ANN401
    found = counted(Row(model="|<b>\x1b[2J\nall  9"), Row(model="n"))
    assert "\x1b" not in to_text(found)
    assert not any(line.startswith("all  9") for line in to_text(found).splitlines())
