"""Two models on the same questions."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evaluation.intervals import Bootstrap
from groundwire.evaluation.workflow.compare import CompareError, Comparison, compare, sign_flip
from groundwire.evaluation.workflow.table import compared_to_text
from tests.evaluation.workflow.chats import SETTINGS, Row, classified

OF = {True: "hallucinated", False: "grounded", None: "partial"}


def answers(
    model: str, verdicts: Sequence[bool | None], *, first: int = 0, context: int = 1
) -> list[Row]:
    return [
        Row(outcome=OF[each], model=model, question=f"q{i}", context=f"c{i // context}")
        for i, each in enumerate(verdicts, first)
    ]


def compared(folder: Path, a: list[Row], b: list[Row]) -> Comparison:
    return compare(classified(folder / "a.jsonl", a), classified(folder / "b.jsonl", b))


def test_answers_are_paired_by_the_ids_of_their_questions(tmp_path: Path) -> None:
    a = answers("a", [True, True, True, False, False, False])
    b = answers("b", [True, False, False, True, False, False])
    found = compared(tmp_path, a, list(reversed(b)))
    assert (found.both, found.only_first, found.only_second, found.neither) == (1, 2, 1, 2)
    data = found.to_dict()
    assert (data["rate_first"], data["rate_second"]) == (0.5, 2 / 6)
    assert data["difference"] == pytest.approx(-1 / 6)
    assert data["p_value"] == 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_of_single_questions_the_test_is_mcnemars(b: int, c: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1
    assert sign_flip([1] * b + [-1] * c + [0]) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_test_counts_all_signs_that_contexts_might_have(differences: list[int]) -> None:
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(each >= abs(sum(differences)) for each in sums) / len(sums)
    assert sign_flip(differences) == pytest.approx(expected)


def test_equal_models_are_told_apart_no_more_often_than_chance_has_it() -> None:
    # In each of 30 contexts one model is worse, by chance, in all five of its questions.
    rng = np.random.default_rng(4)
    signs = rng.choice([-1, 1], size=(400, 30))
    assert np.mean([sign_flip(5 * each) < 0.05 for each in signs]) < 0.08
    # As if they were 150 independent questions, it would be told far more often.
    assert np.mean([sign_flip(np.repeat(each, 5)) < 0.05 for each in signs]) > 0.3


def test_many_contexts_take_no_time_and_stay_exact() -> None:
    many = [1] * 50_000 + [-1] * 50_000 + [3, -2]
    assert 0.99 < sign_flip(many) <= 1
    assert sign_flip([1] * 2000) < 1e-300


def test_questions_of_one_context_are_one_trial(tmp_path: Path) -> None:
    a, b = answers("a", [True] * 10, context=10), answers("b", [False] * 10, context=10)
    found = compared(tmp_path, a, b).to_dict()
    assert (found["p_value"], found["p_method"]) == (1, "sign flips of contexts")


def test_the_interval_is_of_whole_contexts(tmp_path: Path) -> None:
    a = answers("a", [i % 4 == 0 for i in range(40)], context=4)
    b = answers("b", [i % 3 == 0 for i in range(40)], context=4)
    found = compared(tmp_path, a, b)
    contexts = [f"c{i // 4}" for i in range(40)]
    differences = [(i % 3 == 0) - (i % 4 == 0) for i in range(40)]
    expected = (
        Bootstrap.of(contexts)
        .of_sums(np.column_stack([differences, np.ones(40)]), lambda s: s[..., 0] / s[..., 1])
        .interval()
    )
    assert found.difference == expected
    assert found.n_contexts == 10
    assert "the test count contexts, not questions" in compared_to_text(found.to_dict())


def test_what_does_not_pair_is_told_and_counts_for_nobody(tmp_path: Path) -> None:
    a = answers("a", [True, True, None, False, True])
    b = answers("b", [False, True, True, None, True, False, True], first=1)
    other = Row(outcome="hallucinated", model="b", question="q0", sha256="b" * 16)
    found = compared(tmp_path, a, [*b, other])
    assert found.to_dict()["unpaired"] == {
        "only_in_first": 0,
        "only_in_second": 3,
        "changed": 1,
        "without_verdict": 2,
    }
    assert found.n_pairs == 2
    text = compared_to_text(found.to_dict())
    assert "Not paired: 3 only in second, 1 changed, 2 without verdict." in text


def test_a_second_row_of_an_id_that_failed_takes_nothing_from_the_first(tmp_path: Path) -> None:
    a = [*answers("a", [True]), Row(outcome="failed", model="a", question="q0")]
    found = compared(tmp_path, a, answers("b", [False]))
    assert (found.only_first, found.n_without_verdict) == (1, 0)


def test_one_file_with_two_models_is_compared_with_itself(tmp_path: Path) -> None:
    rows = [*answers("a", [True, False]), *answers("b", [False, False])]
    path = classified(tmp_path / "c.jsonl", rows)
    found = compare(path, path)
    assert (found.first, found.second, found.only_first) == ("a", "b", 1)
    assert compare(path, path, first="b", second="a").only_second == 1


def test_models_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    rows = [*answers("a", [True]), *answers("b", [False]), *answers("c", [False])]
    path = classified(tmp_path / "c.jsonl", rows)
    with pytest.raises(CompareError, match=r"has the models 'a', 'b', 'c'\. Name them by --model"):
        compare(path, path)
    with pytest.raises(CompareError, match="no model 'x'"):
        compare(path, path, first="a", second="x")
    with pytest.raises(CompareError, match="compared with itself"):
        compare(path, path, first="a", second="a")


def test_answers_that_were_judged_differently_are_not_compared(tmp_path: Path) -> None:
    a = classified(tmp_path / "a.jsonl", answers("a", [True]))
    detector = {**SETTINGS["detector"], "threshold": 0.9}
    b = classified(tmp_path / "b.jsonl", answers("b", [True]), {**SETTINGS, "detector": detector})
    with pytest.raises(CompareError, match="judged with another detector"):
        compare(a, b)


def test_where_nothing_pairs_there_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(CompareError, match="No question pairs: 'a' has 2 and 'b' has 1, 0 ids"):
        compared(tmp_path, answers("a", [True, True]), answers("b", [True], first=9))
