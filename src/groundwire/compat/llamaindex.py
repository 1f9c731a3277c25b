"""An evaluator for LlamaIndex."""

from collections.abc import Sequence
from typing import Any

from groundwire.compat.verdict import Checks
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The evaluator for LlamaIndex", "llama-index"):
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult


class GroundednessEvaluator(BaseEvaluator):
    """Evaluates, without a language model, whether the contexts support a response.

    A response that was not checked has an invalid result, neither passing nor failing.
    """

    def __init__(self, *, pipeline: Pipeline | None = None) -> None:
        """Use a pipeline for the checks; by default one with the default configuration."""
        self._checks = Checks(pipeline)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        del prompts

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **_: object,
    ) -> EvaluationResult:
        """Evaluate a response in a thread."""
        verdict = await self._checks.aanswer(response, sources=contexts, question=query)
        is_invalid = verdict.passed is None
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            passing=verdict.passed,
            score=verdict.score,
            feedback=verdict.reason,
            invalid_result=is_invalid,
            invalid_reason=verdict.reason if is_invalid else None,
        )
