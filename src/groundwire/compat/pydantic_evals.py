"""An evaluator for pydantic-evals."""

from dataclasses import dataclass
from typing import Any

from groundwire.compat.verdict import Checks, value_of
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The evaluator for pydantic-evals", "pydantic-evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext


@dataclass(repr=False)
class Groundedness(Evaluator[Any, Any, Any]):
    """Evaluates whether the sources of a case support the output.

    A case that was checked gets the assertion ``grounded`` and the score ``groundedness``; any
    other case gets the label ``not checked`` under ``groundedness``.

    Attributes:
        sources: Key of the sources in the output, the inputs or the metadata of a case,
            which are searched in this order; by default a usual key, such as ``context``.
        answer: Key of the answer, if the output is a dictionary; by default a usual key.
        pipeline: The pipeline that checks; by default one with the default configuration.
    """

    sources: str | None = None
    answer: str | None = None
    pipeline: Pipeline | None = None

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, Any]:
        """Evaluate one case in a thread."""
        answer, question, sources = ctx.output, ctx.inputs, None
        if isinstance(answer, dict):
            answer = value_of(answer, "answer", self.answer)
        if not isinstance(question, str):
            question = value_of(question, "question")
        for data in (ctx.output, ctx.inputs, ctx.metadata):
            if sources is None:
                sources = value_of(data, "sources", self.sources)
        verdict = await Checks(self.pipeline).aanswer(
            answer, sources=sources, question=question if isinstance(question, str) else None
        )
        if verdict.passed is None:
            return {"groundedness": EvaluationReason(verdict.status, verdict.reason)}
        return {
            "grounded": EvaluationReason(verdict.passed, verdict.reason),
            "groundedness": verdict.score,
        }
