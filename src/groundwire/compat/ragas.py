"""A metric for Ragas."""

import math
from collections.abc import Sequence

from groundwire.compat.verdict import Checks
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The metric for Ragas", "ragas"):
    from ragas.metrics.collections.base import BaseMetric
    from ragas.metrics.result import MetricResult


class Groundedness(BaseMetric):
    """Measures the share of a response's statements that the retrieved contexts support.

    The metric asks no language model. Its value is NaN if the response was not checked.
    """

    def __init__(self, name: str = "groundedness", *, pipeline: Pipeline | None = None) -> None:
        """Use a pipeline for the checks; by default one with the default configuration."""
        super().__init__(name=name)
        self._checks = Checks(pipeline)

    async def ascore(
        self,
        *,
        response: str,
        retrieved_contexts: Sequence[str],
        user_input: str | None = None,
        **_: object,
    ) -> MetricResult:
        """Check a response in a thread.

        Args:
            response: The response.
            retrieved_contexts: The contexts that must support the response.
            user_input: The question.
        """
        verdict = await self._checks.aanswer(
            response, sources=retrieved_contexts, question=user_input
        )
        value = math.nan if verdict.score is None else verdict.score
        return MetricResult(value=value, reason=verdict.reason)
