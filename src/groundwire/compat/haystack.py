"""Components for Haystack: a checker of replies, and an evaluator."""

import math
from statistics import fmean
from typing import Any

from groundwire.compat.verdict import Checks
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The components for Haystack", "haystack"):
    from haystack import Document, component, default_to_dict
    from haystack.dataclasses import ChatMessage


class _Component:
    """Base class of the two components for Haystack."""

    def __init__(self, pipeline: Pipeline | None = None) -> None:
        """Use a pipeline for the checks; by default one with the default configuration."""
        self._checks, self._is_default = Checks(pipeline), pipeline is None

    def to_dict(self) -> dict[str, Any]:
        """Return the component as JSON data.

        Raises:
            ValueError: If the component was given a pipeline, which JSON cannot describe.
        """
        if not self._is_default:
            raise ValueError(
                f"{type(self).__name__} was given a Groundwire pipeline, which cannot be written. "
                "Write the component without it, and make it in code."
            )
        return dict(default_to_dict(self))


@component
class GroundednessChecker(_Component):
    """Divides replies into three lists: supported, unsupported and not checked."""

    @component.output_types(
        passed=list[ChatMessage],
        failed=list[ChatMessage],
        not_checked=list[ChatMessage],
        verdicts=list[dict[str, Any]],
    )
    def run(
        self, replies: list[ChatMessage], documents: list[Document], query: str | None = None
    ) -> dict[str, list[Any]]:
        """Check each reply.

        Args:
            replies: The replies of a chat generator.
            documents: The documents that the generator was given.
            query: The question.

        Returns:
            The replies by verdict, and all verdicts in the order of the replies.
        """
        groups: dict[str, list[Any]] = {"passed": [], "failed": [], "not_checked": []}
        verdicts = [
            self._checks.answer(each.text, sources=documents, question=query) for each in replies
        ]
        for reply, verdict in zip(replies, verdicts, strict=True):
            groups[verdict.status.replace(" ", "_")].append(reply)
        return {**groups, "verdicts": [each.to_dict() for each in verdicts]}


@component
class GroundednessEvaluator(_Component):
    """Evaluates answers against their contexts, with the interface of ``FaithfulnessEvaluator``.

    An answer that was not checked has the score NaN and the status ``error``, and does not count in
    the mean.
    """

    @component.output_types(
        individual_scores=list[float], score=float, results=list[dict[str, Any]]
    )
    def run(
        self, questions: list[str], contexts: list[list[str]], predicted_answers: list[str]
    ) -> dict[str, Any]:
        """Evaluate each answer.

        Args:
            questions: The questions.
            contexts: The contexts of each question.
            predicted_answers: The answer to each question.

        Raises:
            ValueError: If the lists differ in length.
        """
        verdicts = [
            self._checks.answer(answer, sources=sources, question=question)
            for question, sources, answer in zip(
                questions, contexts, predicted_answers, strict=True
            )
        ]
        scores = [math.nan if each.score is None else each.score for each in verdicts]
        known = [each for each in scores if not math.isnan(each)]
        results = [
            {
                "score": score,
                "status": "error" if verdict.passed is None else "evaluated",
                "passed": verdict.passed,
                "reason": verdict.reason,
            }
            for score, verdict in zip(scores, verdicts, strict=True)
        ]
        return {
            "score": fmean(known) if known else math.nan,
            "individual_scores": scores,
            "results": results,
        }
