"""DSPy's programs, ``Evaluate`` and optimizers with the metric."""

from typing import Any

import pytest

from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet

pytestmark = pytest.mark.nightly
needs("dspy", extra="dspy")

import dspy
from dspy.utils import DummyLM

from groundwire.compat.dspy import groundedness_metric

EXAMPLE = dspy.Example(question=QUESTION, context=[TOWER]).with_inputs("question", "context")


def score(answer: str, example: Any = EXAMPLE) -> float:
    program = dspy.Predict("context, question -> answer")
    names = snippet("DSPy", devset=[example])
    with dspy.context(lm=DummyLM([{"answer": answer}])):
        return float(names["evaluate"](program).score)


@pytest.mark.shows("DSPy", evidence="fields of the example")
def test_a_wrong_prediction_has_the_score_0_and_a_right_one_100() -> None:
    assert (score(WRONG), score(RIGHT)) == (0, 100)


@pytest.mark.shows("DSPy", unchecked="the score 0")
def test_a_prediction_without_sources_has_the_score_0() -> None:
    example = dspy.Example(question=QUESTION, context=[]).with_inputs("question", "context")
    assert score(RIGHT, example) == 0


@pytest.mark.shows("DSPy", unchecked="the reason in the feedback")
def test_an_optimizer_is_told_why() -> None:
    metric = groundedness_metric()
    told = metric(EXAMPLE, dspy.Prediction(answer=WRONG), None, "predictor", None)
    assert isinstance(told, dspy.Prediction)
    assert (told.score, "330 metres" in told.feedback) == (0, True)
    without = dspy.Example(question=QUESTION)
    told = metric(without, dspy.Prediction(answer=RIGHT), None, "predictor", None)
    assert isinstance(told, dspy.Prediction)
    assert (told.score, told.feedback[:11]) == (0, "Not checked")


def test_a_bootstrap_takes_only_right_predictions_for_examples() -> None:
    optimizer = dspy.BootstrapFewShot(metric=groundedness_metric(), max_labeled_demos=0)
    for answer, n_demos in ((WRONG, 0), (RIGHT, 1)):
        with dspy.context(lm=DummyLM([{"answer": answer}] * 5)):
            program = optimizer.compile(
                dspy.Predict("context, question -> answer"), trainset=[EXAMPLE]
            )
        assert len(program.demos) == n_demos


@pytest.mark.shows("DSPy", evidence="observations of `ReAct`")
def test_observations_of_react_are_sources() -> None:
    def landmark(name: str) -> str:
        """Look up a landmark."""
        return TOWER

    steps = [
        {
            "next_thought": "look",
            "next_tool_name": "landmark",
            "next_tool_args": '{"name": "Eiffel Tower"}',
        },
        {"next_thought": "done", "next_tool_name": "finish", "next_tool_args": "{}"},
    ]
    for answer, wanted in ((WRONG, 0), (RIGHT, 1)):
        with dspy.context(lm=DummyLM([*steps, {"reasoning": "so", "answer": answer}])):
            prediction = dspy.ReAct("question -> answer", tools=[landmark])(question=QUESTION)
        assert groundedness_metric()(dspy.Example(question=QUESTION), prediction) == wanted
