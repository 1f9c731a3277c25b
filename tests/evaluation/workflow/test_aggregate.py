"""Rates: what counts, what does not, and how sure one can be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundwire.errors import SettingError
from groundwire.evaluation.intervals import Bootstrap, wilson
from groundwire.evaluation.metrics import ratios
from groundwire.evaluation.reports.markdown import code
from groundwire.evaluation.workflow.aggregate import Prices, aggregate
from groundwire.evaluation.workflow.rows import NoColumnError
from groundwire.evaluation.workflow.stage import StageError
from groundwire.evaluation.workflow.table import to_markdown, to_text
from tests.evaluation.workflow.chats import Row, classified

BAD = Row(outcome="hallucinated")
GOOD = Row(outcome="grounded")


def found(folder: Path, *rows: Row, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    return aggregate(classified(folder / "c.jsonl", rows), **options)


def test_the_rate_is_one_of_verdicts(tmp_path: Path) -> None:
    result = found(tmp_path, BAD, GOOD, GOOD, GOOD)
    assert (result["n"], result["n_verdicts"], result["n_hallucinated"]) == (4, 4, 1)
    assert result["rate"] == 0.25
    assert result["bounds"] == [0.25, 0.25]


def test_what_is_no_verdict_is_in_no_rate_and_never_grounded(tmp_path: Path) -> None:
    others = [Row(outcome=each) for each in ("partial", "unverified", "unavailable", "failed")]
    result = found(tmp_path, BAD, GOOD, *others)
    assert result["rate"] == 0.5
    assert (result["n"], result["n_verdicts"]) == (6, 2)
    assert result["outcomes"] == {
        "hallucinated": 1,
        "grounded": 1,
        "partial": 1,
        "unverified": 1,
        "unavailable": 1,
        "skipped": 0,
        "failed": 1,
    }
    assert result["bounds"] == [1 / 6, 5 / 6]
    assert result["errors"] == {"GenerationError": 1}
    text = to_text(result)
    assert (
        "Without a verdict, and in no rate: 1 partial, 1 unverified, 1 unavailable, 1 failed. "
        "Whatever they are, between 16.7 and 83.3 % of all answers are hallucinated." in text
    )


def test_without_any_verdict_there_is_no_rate(tmp_path: Path) -> None:
    result = found(tmp_path, Row(outcome="failed"))
    assert (result["rate"], result["ci95"], result["ci_method"]) == (None, None, None)
    assert result["bounds"] == [0, 1]
    assert "- (- to -)" in to_text(result)


def test_answers_with_sources_of_their_own_have_wilsons_interval(tmp_path: Path) -> None:
    result = found(tmp_path, *[BAD] * 3, *[GOOD] * 7)
    expected = wilson(3, 10)
    assert result["ci_method"] == "wilson"
    assert result["ci95"] == [expected.low, expected.high]


def test_answers_that_share_their_sources_are_resampled_by_context(tmp_path: Path) -> None:
    contexts = [f"c{i // 2}" for i in range(20)]
    wrong = [i % 5 == 0 or i == 6 for i in range(20)]
    rows = [
        Row(outcome="hallucinated" if bad else "grounded", context=context)
        for bad, context in zip(wrong, contexts, strict=True)
    ]
    result = found(tmp_path, *rows)
    sums = np.column_stack([wrong, np.ones(20)])
    expected = (
        Bootstrap.of(contexts).of_sums(sums, lambda s: ratios(s[..., 0], s[..., 1])).interval()
    )
    assert result["ci_method"] == "bootstrap"
    assert result["ci95"] == [expected.low, expected.high]


@pytest.mark.parametrize("row", [BAD, GOOD])
def test_none_and_all_are_not_certain(tmp_path: Path, row: Row) -> None:
    """A bootstrap of equal values would have no width; contexts are what was tried."""
    rows = [Row(outcome=row.outcome, context=f"c{i // 4}") for i in range(40)]
    result = found(tmp_path, *rows)
    expected = wilson(10 if row is BAD else 0, 10)
    assert result["ci95"] == [expected.low, expected.high]
    assert result["ci95"][1] - result["ci95"][0] > 0.2


def test_contradictions_are_told_of_hallucinated_answers_and_of_spans(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        Row(outcome="hallucinated", spans=[("contradicted", 4), ("unsupported", 2)]),
        Row(outcome="hallucinated", spans=[("unsupported", 1)]),
        Row(outcome="hallucinated", spans=[("contradicted", 3)]),
        GOOD,
    )
    contradiction = result["contradiction"]
    assert (contradiction["n"], contradiction["ratio"]) == (2, 2 / 3)
    assert (contradiction["n_spans"], contradiction["span_ratio"]) == (2, 0.5)
    assert result["severity"]["answers"] == {"0": 0, "1": 1, "2": 0, "3": 1, "4": 1}
    assert result["severity"]["spans"] == {"0": 0, "1": 1, "2": 1, "3": 1, "4": 1}


def test_models_and_categories_are_told_apart(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        Row(outcome="hallucinated", model="a", task="dates", question="q1"),
        Row(outcome="grounded", model="b", task="dates", question="q1"),
        Row(outcome="grounded", model="a", task="names", question="q2"),
        Row(outcome="failed", model="b", task="names", question="q2"),
    )
    assert {name: group["rate"] for name, group in result["models"].items()} == {"a": 0.5, "b": 0}
    assert {name: group["rate"] for name, group in result["tasks"].items()} == {
        "dates": 0.5,
        "names": 0,
    }
    assert result["models"]["b"]["tasks"]["names"]["rate"] is None
    assert result["models"]["b"]["outcomes"]["failed"] == 1


def test_another_column_can_be_told_apart(tmp_path: Path) -> None:
    rows = [
        Row(outcome="hallucinated", columns={"tenant": "acme"}),
        Row(columns={"tenant": "acme"}),
        Row(),
    ]
    result = found(tmp_path, *rows, by="tenant")
    assert {name: each["rate"] for name, each in result["by"]["tenant"].items()} == {
        "acme": 0.5,
        "": 0,
    }


def test_a_column_that_no_row_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    rows = [Row(columns={"tenant": "acme"}), Row(columns={"level": "hard"})]
    with pytest.raises(NoColumnError, match=r"the column 'tenent' of --by. There are .*'tenant'"):
        found(tmp_path, *rows, by="tenent")


def test_a_column_of_the_table_goes_before_one_of_ours(tmp_path: Path) -> None:
    rows = [Row(model="a", columns={"task": "mine"}), Row(model="b")]
    assert set(found(tmp_path, *rows, by="task")["by"]["task"]) == {"mine", "QA"}
    assert set(found(tmp_path, *rows, by="model")["by"]["model"]) == {"a", "b"}


def test_further_models_are_compared_with_the_first(tmp_path: Path) -> None:
    rows = [
        Row(outcome="hallucinated" if model == "b" else "grounded", model=model, question=f"q{i}")
        for i in range(8)
        for model in ("a", "b", "c")
    ]
    result = found(tmp_path, *rows)
    assert [(each["first"], each["second"]) for each in result["comparisons"]] == [
        ("a", "b"),
        ("a", "c"),
    ]
    assert result["comparisons"][0]["p_value"] == pytest.approx(2 / 2**8)
    text = to_text(result)
    assert "b against a, on 8 questions of 24 contexts" not in text
    assert "b against a, on 8 questions of 8 contexts: 100.0 % against 0.0 %" in text


def test_a_model_of_which_all_failed_is_told_and_the_others_are_measured(tmp_path: Path) -> None:
    rows = [
        Row(model="a", question="q1"),
        Row(model="b", question="q1", outcome="failed"),
    ]
    result = found(tmp_path, *rows)
    assert "No question pairs" in result["comparisons"][0]["problem"]
    assert "b against a: No question pairs" in to_text(result)


def test_what_the_explainer_acquitted_and_what_was_cut_is_counted(tmp_path: Path) -> None:
    result = found(
        tmp_path, Row(detected="hallucinated"), Row(finish_reason="length"), Row(outcome="failed")
    )
    assert (result["n_dropped"], result["n_cut"], result["rate"]) == (1, 1, 0)
    assert "acquitted by the explainer: 1" in to_text(result)


def test_tokens_cost_what_their_model_does(tmp_path: Path) -> None:
    rows = [Row(model="a", tokens=(1000, 100)), Row(model="b", tokens=(2000, 200))]
    prices = Prices.of(["2.5", "b=5"], ["10"])
    result = found(tmp_path, *rows, prices=prices)
    assert result["tokens"] == {"prompt": 3000, "completion": 300}
    costs = {name: group["cost"] for name, group in result["models"].items()}
    assert costs == {"a": pytest.approx(0.0035), "b": pytest.approx(0.012)}
    assert result["cost"] == pytest.approx(0.0155)
    assert found(tmp_path, *rows)["cost"] is None
    assert found(tmp_path, *rows, prices=Prices.of(["a=1"], ["a=1"]))["cost"] is None


@pytest.mark.parametrize("text", ["", "x", "a=", "-1", "nan", "inf"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="price-in"):
        Prices.of([text], [])


def test_names_of_models_are_text(tmp_path: Path) -> None:
    name = "<b>|x\x1b[2J\n@team"
    result = found(tmp_path, Row(model=name), Row(model="b", task="<i>"), Row(model="b"))
    markdown, text = to_markdown(result), to_text(result)
    assert "<b>" not in markdown
    assert "@team" not in markdown
    for shown in (markdown, text):
        assert "\x1b" not in shown
    tables = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {11}


def test_models_and_tasks_are_in_the_order_of_the_data(tmp_path: Path) -> None:
    rows = [Row(model="a", task="x", row=1), Row(model="b", task="y", row=2, outcome="failed")]
    for order in (rows, rows[::-1]):
        result = found(tmp_path, *order)
        assert (list(result["models"]), list(result["tasks"])) == (["a", "b"], ["x", "y"])
        assert result["models"]["b"]["outcomes"]["failed"] == 1


def test_long_names_stay_apart(tmp_path: Path) -> None:
    # As long as names on a hub are, and told apart by their last letter.
    names = [f"organisation/a-model-with-a-rather-long-name-and-{size}-billion" for size in (7, 70)]
    rows = [Row(model=name, task=f"{'t' * 60}{i}") for name in names for i in range(2)]
    result = found(tmp_path, *rows)
    text, markdown = to_text(result), to_markdown(result)
    for shown, kind in ((text, "model, category"), (markdown, code("model, category"))):
        # Their numbers are the same.
        lines = [line for line in shown.splitlines() if kind in line]
        assert len(lines) == len(set(lines)) == 4
    assert all(code(name) in markdown for name in names)
    assert "…" in text


def test_names_that_differ_in_their_middle_are_shown_whole(tmp_path: Path) -> None:
    names = [f"{'a' * 30}{i}{'b' * 30}" for i in range(2)]
    text = to_text(found(tmp_path, *(Row(model=name) for name in names)))
    assert all(f"model: {name}" in text for name in names)


def test_without_a_verdict_markdown_says_so(tmp_path: Path) -> None:
    shown = to_markdown(found(tmp_path, Row(outcome="failed")))
    assert "No rate: none of 1 answers has a verdict." in shown
    assert "**" not in shown


def test_a_file_without_rows_is_told(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="it has no rows"):
        found(tmp_path)


def test_a_row_of_another_shape_is_told_with_its_line(tmp_path: Path) -> None:
    path = classified(tmp_path / "c.jsonl", [GOOD])
    with path.open("a") as stream:
        stream.write('{"outcome": "splendid"}\n')
    with pytest.raises(StageError, match="line 3: this is no classified answer"):
        aggregate(path)
