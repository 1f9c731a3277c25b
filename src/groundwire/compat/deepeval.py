"""A metric for DeepEval."""

import asyncio
from collections.abc import Iterator

from groundwire.compat.verdict import Checks
from groundwire.detection.example import Source, SourceLike
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The metric for DeepEval", "deepeval"):
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase


class GroundednessMetric(BaseMetric):
    """Measures the share of the output's statements that the evidence of a test case supports.

    The evidence is ``retrieval_context`` and the outputs of ``tools_called``. If the actual output
    could not be checked, the metric has an error by default. For a greeting, the metric is skipped
    if the test case has evidence.
    """

    # DeepEval copies metrics, so each argument must be an attribute of the same name.
    def __init__(
        self, threshold: float = 1.0, skip_unchecked: bool = False, pipeline: Pipeline | None = None
    ) -> None:
        """Set which test cases succeed.

        Args:
            threshold: A test case succeeds with this score or more; in [0, 1].
            skip_unchecked: Whether the metric is skipped for outputs that could not be checked. A
                test case of which all metrics are skipped succeeds.
            pipeline: The pipeline that checks; by default one with the default configuration.
        """
        self.threshold, self.skip_unchecked, self.pipeline = threshold, skip_unchecked, pipeline

    @property
    def __name__(self) -> str:
        return "Groundedness"

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Check the output of a test case; return its score, ``None`` for an unchecked output."""
        verdict = Checks(self.pipeline).answer(
            test_case.actual_output, sources=list(_sources(test_case)), question=test_case.input
        )
        self.score, self.reason = verdict.score, verdict.reason
        is_due = verdict.is_due or not test_case.actual_output
        self.skipped = verdict.score is None and (self.skip_unchecked or not is_due)
        self.error = verdict.reason if verdict.score is None and not self.skipped else None
        is_enough = verdict.score is not None and verdict.score >= self.threshold
        self.success = None if self.skipped else is_enough
        return verdict.score

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Run :meth:`measure` in a thread."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool | None:
        """Return whether the last test case succeeded; ``None`` if the metric was skipped."""
        return self.success


def _sources(test_case: LLMTestCase) -> Iterator[SourceLike]:
    for each in test_case.retrieval_context or ():
        yield each if isinstance(each, str) else Source(text=each.context, title=each.source)
    for call in test_case.tools_called or ():
        if call.output is not None:
            yield call.output if isinstance(call.output, str | dict | list) else str(call.output)
