"""What is read of a prompt to tell what it is about."""

import pytest

from groundwire.policy.gate import Gate
from groundwire.text.prompt_excerpt import MAX_CHARS, both_ends, with_previous


def test_a_prompt_within_the_limit_is_read_in_full() -> None:
    assert both_ends("a" * MAX_CHARS) == "a" * MAX_CHARS


def test_of_a_long_prompt_both_ends_are_read() -> None:
    assert both_ends("ab" + "x" * MAX_CHARS + "cd", most=4) == "ab\ncd"


@pytest.mark.parametrize("question", ["Go on.", "Thanks! And the second one?", "yes"])
def test_a_short_question_comes_with_the_one_before(question: str) -> None:
    assert with_previous(question, "When was it built?") == f"When was it built?\n{question}"


def test_a_question_that_stands_alone_does_not() -> None:
    question = "How many people have visited the tower since 1990?"
    assert with_previous(question, "When was it built?") is None
    assert with_previous("Go on.", None) is None


def test_the_middle_of_a_long_prompt_changes_nothing_for_the_gate() -> None:
    gate = Gate.load(threads=1)
    edge = "word " * 400
    results = {
        gate.classify(edge + filler * 10_000 + edge + "When was Einstein born?").probability
        for filler in ("a", "b")
    }
    assert len(results) == 1
