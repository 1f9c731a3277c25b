"""A premise of any length: what a model reads of it."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.errors import DetectionError, UnreadableError
from groundwire.explain import Explainer, best_lines
from groundwire.explain.nearby import MAX_LINES
from groundwire.explain.premise import MAX_LINE_CHARS, MAX_PREMISE_CHARS

FILLER = "The weather over the northern hills stayed mild, and the herds moved on. "
FACT = "The Eiffel Tower was completed in 1889. "
CLAIM = "The Eiffel Tower was completed in 1950."


def test_a_premise_that_fits_is_taken_as_it_is() -> None:
    premise = "  It is 330 m tall.\n\n| a | b |\n"
    (only,) = best_lines(premise, CLAIM)
    assert (only.start, only.end, only.text) == (0, len(premise), premise)


def test_of_a_long_one_the_lines_that_bear_on_the_claim_are_taken() -> None:
    premise = FILLER * 200 + FACT + FILLER * 200
    lines = best_lines(premise, CLAIM)
    assert any(FACT.strip() in line.text for line in lines)
    assert 0 < sum(len(line.text) for line in lines) <= MAX_PREMISE_CHARS + len(lines)


def test_lines_that_follow_each_other_are_read_together() -> None:
    first, second = "The Eiffel Tower stands in Paris. ", "Its completion fell in 1889."
    premise = FILLER * 100 + first + second + " " + FILLER * 100
    (only,) = best_lines(premise, "The Eiffel Tower of Paris: completion in 1950")
    assert only.text == first + second


def test_what_is_beside_the_point_is_not_read_along() -> None:
    premise = FILLER * 100 + FACT + FILLER * 100
    assert [line.text for line in best_lines(premise, CLAIM)] == [FACT.strip()]


def test_if_nothing_bears_on_the_claim_the_first_lines_are_read() -> None:
    (only,) = best_lines(FILLER * 100, "Cats purr.")
    assert only.start == 0


def test_data_is_cut_at_its_fields() -> None:
    records = [{"name": f"tower {n}", "height": f"{n} m"} for n in range(400)]
    premise = json.dumps(records)
    lines = best_lines(premise, "The height of tower 333 is 12 m.")
    assert any('"name": "tower 333"' in line.text for line in lines)


def test_a_long_line_is_taken_in_part() -> None:
    premise = "word " * 10_000 + "Eiffel Tower 1889"
    lines = best_lines(premise, CLAIM)
    assert any("1889" in line.text for line in lines)


def test_nothing_to_read_gives_no_lines() -> None:
    assert best_lines("", CLAIM) == ()
    assert best_lines(" \n ", CLAIM) == ()
    assert best_lines("- " * 5_000, CLAIM) == ()


@given(
    st.lists(st.sampled_from([FILLER, FACT, "x" * 3_000, "\n", '{"a": 1}', "é😀 "]), max_size=30),
    st.integers(MAX_LINE_CHARS, 6_000),
)
def test_lines_quote_the_premise_in_order_and_within_the_limit(
    parts: list[str], max_chars: int
) -> None:
    premise = "".join(parts)
    lines = best_lines(premise, CLAIM, max_chars=max_chars)
    assert all(premise[line.start : line.end] == line.text for line in lines)
    assert all(a.end <= b.start for a, b in pairwise(lines))
    # Between lines that are joined stands what belongs to neither, such as a space.
    assert sum(len(line.text) for line in lines) <= max_chars + 20 * MAX_LINES


def test_a_repeated_question_gives_the_same_lines() -> None:
    premise = FILLER * 300
    assert best_lines(premise, CLAIM) == best_lines(premise, CLAIM)


# Asking the explainer.

SAYS = Entailment(entailment=0.2, neutral=0.1, contradiction=0.7)


def judge(hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
    if "BOOM" in hypothesis:
        raise DetectionError("The model's output is not a number.")
    assert evidence
    return SAYS


def test_entailment_is_what_the_judge_says() -> None:
    assert Explainer(judge).entailment(CLAIM, best_lines(FACT, CLAIM)) == SAYS


@pytest.mark.parametrize(("claim", "premise"), [(" ", FACT), (CLAIM, ""), ("", "")])
def test_nothing_to_judge_is_refused(claim: str, premise: str) -> None:
    with pytest.raises(UnreadableError, match="that the model can read"):
        Explainer(judge).entailment(claim, best_lines(premise, claim))


def test_what_the_model_raises_is_raised() -> None:
    with pytest.raises(DetectionError, match="not a number"):
        Explainer(judge).entailment("BOOM", best_lines(FACT, CLAIM))
