"""A metric for DSPy's evaluation and optimizers."""

from collections.abc import Callable, Mapping
from typing import Any

from groundwire.compat.verdict import Checks, value_of
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The metric for DSPy", "dspy"):
    from dspy import Example, Prediction


def groundedness_metric(
    *,
    answer: str | None = None,
    sources: str | None = None,
    question: str | None = None,
    pipeline: Pipeline | None = None,
) -> Callable[..., float | bool | Prediction]:
    """Return a metric: the share of a prediction's statements that the sources support.

    The sources are a field of the prediction or the example. If neither has such a field, the
    sources are the results of tools (``observation_0``...) that the agent ``ReAct`` puts into the
    prediction. A prediction that was not checked has the score 0, since DSPy has no missing scores.

    Args:
        answer: The field of the answer; by default ``answer``, ``response``...
        sources: The field of the sources; by default ``context``, ``passages``...
        question: The field of the question; by default ``question``, ``query``...
        pipeline: The pipeline that checks; by default one with the default configuration.
    """
    checks = Checks(pipeline)

    def groundedness(
        gold: Example,
        pred: Prediction,
        trace: object = None,
        pred_name: str | None = None,
        pred_trace: object = None,
    ) -> float | bool | Prediction:
        """Return the score of a prediction.

        With ``pred_name``, which the optimizer GEPA gives, return the score and the reason as
        feedback. Otherwise, with ``trace``, which optimizers give when they collect demonstrations,
        return whether ``pred`` passes.
        """
        predicted, given = pred.toDict(), gold.toDict()
        evidence = value_of({**given, **predicted}, "sources", sources)
        verdict = checks.answer(
            value_of(predicted, "answer", answer),
            sources=_observations(predicted) if evidence is None else evidence,
            question=value_of(given, "question", question),
        )
        score = verdict.score or 0.0
        if pred_name is not None:
            return Prediction(score=score, feedback=verdict.reason)
        return score if trace is None else verdict.passed is True

    return groundedness


def _observations(predicted: Mapping[str, Any]) -> list[str]:
    trajectory = predicted.get("trajectory")
    steps = trajectory.items() if isinstance(trajectory, Mapping) else ()
    return [str(value) for key, value in steps if key.startswith("observation")]
