"""A scorer for the evaluations of Weights & Biases Weave."""

from typing import Any

from groundwire.compat.verdict import Checks, value_of
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The scorer for Weave", "weave"):
    import weave


class Groundedness(weave.Scorer):
    """Scores whether the evidence of a row supports the output of a model.

    The evidence is the sources (``context``, ``contexts``, ``documents``...) in the output or, if
    the output has none, in the row. The output is a text, or has one as ``answer``, ``response``,
    ``output`` or ``actual_output``. An output that was not checked has ``None`` as ``passed`` and
    ``score``.
    """

    def __init__(self, *, pipeline: Pipeline | None = None, **settings: Any) -> None:  # noqa: ANN401
        """Use a pipeline for the checks.

        Args:
            pipeline: The pipeline that checks; by default one with the default configuration.
            settings: Settings that every scorer of Weave has, such as ``name``.
        """
        super().__init__(**settings)
        self._checks = Checks(pipeline)

    @weave.op
    async def score(self, *, output: Any, **row: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return ``passed``, ``status``, ``outcome``, ``score`` and ``reason`` of an output."""
        verdict = await self._checks.aanswer(
            value_of(output, "answer") if isinstance(output, dict) else output,
            sources=value_of(output, "sources") or value_of(row, "sources"),
            question=value_of(row, "question"),
        )
        return {"passed": verdict.passed, **verdict.to_dict()}
