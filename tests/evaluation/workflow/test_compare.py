"""Two models on the same questions."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evaluation.intervals import Bootstrap
from groundwire.evaluation.workflow.aggregate import aggregate
from groundwire.evaluation.workflow.compare import Comparison, Table, compare
from groundwire.evaluation.workflow.flips import flipped, sign_flip
from groundwire.evaluation.workflow.pairs import CompareError
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
    assert found.table == Table(both=1, only_first=2, only_second=1, neither=2)
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
    assert found.table == Table(both=0, only_first=1, only_second=0, neither=0)
    assert found.n_without_verdict == 0


def samples(model: str, *verdicts: Sequence[bool | None]) -> list[Row]:
    """Several answers to each question."""
    return [row for each in verdicts for row in answers(model, each)]


def test_of_several_answers_to_a_question_the_mean_counts(tmp_path: Path) -> None:
    # Of three answers to each of ten questions the first model has two wrong, the second none.
    a = samples("a", [True] * 10, [True] * 10, [False] * 10)
    b = samples("b", *[[False] * 10] * 3)
    path = classified(tmp_path / "c.jsonl", [*a, *b])
    data = compare(path, path).to_dict()
    assert (data["rate_first"], data["rate_second"]) == (pytest.approx(2 / 3), 0)
    rates = [each["rate"] for each in aggregate(path)["models"].values()]
    assert rates == pytest.approx([data["rate_first"], data["rate_second"]])
    assert (data["n_pairs"], data["worse_first"], data["alike"]) == (10, 10, 0)
    assert data["p_value"] == pytest.approx(2 / 2**10)


def test_all_answers_are_accounted_for(tmp_path: Path) -> None:
    a = samples("a", [True, True, None], [False, True, None], [None, True, None])
    data = compared(tmp_path, a, answers("b", [False, True, True])).to_dict()
    assert data["answers_first"] == {"n": 9, "n_used": 5}
    assert data["answers_second"] == {"n": 3, "n_used": 2}
    assert data["unpaired"]["without_verdict"] == 1
    assert (data["rate_first"], data["rate_second"]) == (0.75, 0.5)
    assert (data["both"], data["worse_first"], data["alike"]) == (None, 1, 1)
    text = compared_to_text(data)
    assert "counts with their mean: 5 of 9 answers of a, 2 of 3 answers of b." in text
    assert "More often hallucinated by a 1, by b 0, alike 1." in text


def test_means_of_other_numbers_of_answers_are_flipped_exactly(tmp_path: Path) -> None:
    # 1/2 against 0, and 0 against 1/3: in sixths, 3 and -2.
    a = [*samples("a", [True], [False]), *answers("a", [False], first=1)]
    b = [*answers("b", [False]), *[r for v in (1, 0, 0) for r in answers("b", [v == 1], first=1)]]
    assert compared(tmp_path, a, b).p_value == sign_flip([3, -2]) == 1
    a += [row for i in range(2, 9) for row in answers("a", [True], first=i)]
    b += [row for i in range(2, 9) for row in answers("b", [False], first=i)]
    found = compared(tmp_path, a, b)
    assert found.p_value == sign_flip([3, -2, *[6] * 7])
    assert found.p_method == "sign flips of contexts"


def test_signs_are_drawn_where_there_are_too_many_sums() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(-2520, 2521, 4000) + 40
    p_value, method = flipped(sizes, np.arange(4000))
    assert method == "20,000 random sign flips of contexts"
    # The sum of many signs is as a normal one.
    stats = pytest.importorskip("scipy.stats")
    expected = 2 * stats.norm.sf(abs(sizes.sum()) / np.sqrt((sizes.astype(float) ** 2).sum()))
    assert p_value == pytest.approx(expected, abs=0.02)


def test_an_answer_that_failed_is_without_a_verdict_and_no_changed_question(
    tmp_path: Path,
) -> None:
    failed = Row(outcome="failed", model="b", question="q1", sha256="0" * 16)
    b = [*answers("b", [False]), failed]
    data = compared(tmp_path, answers("a", [True, True]), b).to_dict()
    assert data["unpaired"] == {
        "only_in_first": 0,
        "only_in_second": 0,
        "changed": 0,
        "without_verdict": 1,
    }


def test_the_first_model_is_that_of_the_data_whichever_call_failed(tmp_path: Path) -> None:
    rows = [
        Row(outcome="hallucinated", model="a", question="q0", row=1),
        Row(outcome="failed", model="b", question="q0", row=2),
        Row(outcome="hallucinated", model="a", question="q1", row=3),
        Row(outcome="grounded", model="b", question="q1", row=4),
    ]
    for order in (rows, [rows[1], rows[0], *rows[2:]], rows[::-1]):
        path = classified(tmp_path / "c.jsonl", order)
        found = compare(path, path)
        assert (found.first.name, found.difference.value) == ("a", -1)
        (comparison,) = aggregate(path)["comparisons"]
        assert (comparison["first"], comparison["second"]) == ("a", "b")


def test_one_file_with_two_models_is_compared_with_itself(tmp_path: Path) -> None:
    rows = [*answers("a", [True, False]), *answers("b", [False, False])]
    path = classified(tmp_path / "c.jsonl", rows)
    found = compare(path, path)
    assert (found.first.name, found.second.name, found.first.n_worse) == ("a", "b", 1)
    assert compare(path, path, first="b", second="a").second.n_worse == 1


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
