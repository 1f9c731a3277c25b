"""Two models on the same questions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from groundwire.evaluation.measure.compare import CompareError, compare, sign_flip
from groundwire.evaluation.measure.table import compared_to_text
from tests.evaluation.measure.judged import READER, Row, results


def answers(model: str, outcomes: str, context: str = "") -> list[Row]:
    """A question for each letter: hallucinated, grounded, partial or failed."""
    names = {"h": "hallucinated", "g": "grounded", "p": "partial", "f": "failed"}
    return [
        Row(outcome=names[each], question=f"q{i}", model=model, context=context or f"c{i}")
        for i, each in enumerate(outcomes)
    ]


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return tmp_path / "one.jsonl"


def test_questions_of_which_both_have_a_verdict_pair(one: Path) -> None:
    results(one, [*answers("a", "hhggpfg"), *answers("b", "hgghggg"), *answers("b", "x" * 0)])
    found = compare(one, one, first="a", second="b")
    assert (found["n_pairs"], found["rate_first"], found["rate_second"]) == (5, 0.4, 0.4)
    assert (found["worse_first"], found["worse_second"], found["alike"]) == (1, 1, 3)
    assert found["unpaired"]["without_verdict"] == 2
    assert found["p_value"] == 1
    assert "b against a, on 5 questions of 5 contexts: 40.0 % against 40.0 %" in (
        compared_to_text(found)
    )


def test_where_a_question_has_several_answers_their_mean_counts(one: Path) -> None:
    twice = [*answers("a", "h"), *answers("a", "g")]
    results(one, [*twice, *answers("b", "g")])
    found = compare(one, one, first="a", second="b")
    assert (found["n_pairs"], found["difference"]) == (1, -0.5)


def test_other_words_or_sources_do_not_pair(one: Path) -> None:
    changed = replace(answers("b", "h")[0], text="Why?")
    results(one, [*answers("a", "gg"), changed, answers("b", "gg")[1]])
    found = compare(one, one, first="a", second="b")
    assert (found["n_pairs"], found["unpaired"]["changed"]) == (1, 1)


def test_two_files_are_compared_and_what_only_one_was_asked_is_told(tmp_path: Path) -> None:
    before = results(tmp_path / "a.jsonl", answers("a", "ggg"))
    now = results(tmp_path / "b.jsonl", answers("a", "hh"))
    found = compare(before, now)
    assert (found["difference"], found["unpaired"]["only_in_first"]) == (1, 1)
    other = results(tmp_path / "c.jsonl", answers("a", "h"), replace(READER, threshold=0.5))
    with pytest.raises(CompareError, match="another detector, at another threshold"):
        compare(before, other)


@pytest.mark.parametrize(
    ("rows", "models", "problem"),
    [
        ([*answers("a", "g")], (None, None), "Name them by --model"),
        ([*answers("a", "g"), *answers("b", "g")], ("a", None), "Name both models"),
        ([*answers("a", "g"), *answers("b", "g")], ("a", "a"), "compared with itself"),
        ([*answers("a", "g"), *answers("b", "g")], ("a", "c"), "no model 'c'"),
        ([*answers("a", "f"), *answers("b", "g")], ("a", "b"), "No question pairs"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    one: Path, rows: Sequence[Row], models: tuple[str | None, str | None], problem: str
) -> None:
    results(one, rows)
    with pytest.raises(CompareError, match=problem):
        compare(one, one, first=models[0], second=models[1])


def test_many_questions_of_one_context_show_nothing(one: Path) -> None:
    results(one, [*answers("a", "g" * 10, "c"), *answers("b", "h" * 10, "c")])
    found = compare(one, one)
    assert (found["n_contexts"], found["p_value"], found["ci95"]) == (1, 1, [None, None])
    assert "Several questions share their sources" in compared_to_text(found)


@pytest.mark.parametrize(
    ("differences", "p"), [([1] * 9 + [-1], 0.0215), ([1] * 22 + [-1] * 6, 0.0037), ([2, 1], 0.5)]
)
def test_signs_flipped_at_random_come_close_to_all_of_them(
    differences: list[int], p: float
) -> None:
    assert sign_flip(np.array(differences, np.float64)) == pytest.approx(p, abs=0.01)
