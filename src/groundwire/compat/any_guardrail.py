"""A guardrail for Mozilla's any-guardrail."""

from collections.abc import Iterable

from groundwire.compat.verdict import Checks
from groundwire.detection.example import SourceLike
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The guardrail for any-guardrail", "any-guardrail"):
    from any_guardrail.base import Guardrail
    from any_guardrail.taxonomy import (
        BackendType,
        GuardrailCategory,
        GuardrailMetadata,
        GuardrailStage,
        OutputShape,
    )
    from any_guardrail.types import CategoryResult, GuardrailOutput, SpanResult


class Groundedness(Guardrail):
    """Validates whether the context supports an answer.

    The class has the interface of any-guardrail's ``LettuceDetect``. An answer that was not checked
    has ``triggered=None`` in the category ``hallucination``, and is valid only if no check was due,
    as for a greeting that comes with context.
    """

    METADATA = GuardrailMetadata(
        description="Validates whether the context supports an answer.",
        display_name="Groundwire",
        categories=frozenset({GuardrailCategory.HALLUCINATION}),
        primary_category=GuardrailCategory.HALLUCINATION,
        stages=frozenset({GuardrailStage.OUTPUT, GuardrailStage.RAG_CONTEXT}),
        output_shapes=frozenset({OutputShape.BINARY, OutputShape.SCORE, OutputShape.SPAN}),
        backend=BackendType.LIBRARY_WRAPPED,
        required_validate_kwargs=frozenset({"context"}),
        optional_validate_kwargs=frozenset({"question"}),
        vendor="Groundwire",
        default_license="apache-2.0",
    )

    def __init__(self, pipeline: Pipeline | None = None) -> None:
        """Use a pipeline for the checks; by default one with the default configuration."""
        self._checks = Checks(pipeline)

    def validate(
        self,
        input_text: str,
        context: Iterable[SourceLike] | None = None,
        question: str | None = None,
    ) -> GuardrailOutput:
        """Check an answer.

        Args:
            input_text: The answer.
            context: The sources of the answer, or a single source.
            question: The question.

        Returns:
            The output. Its score is the share of the checked statements that are not supported, in
            [0, 1], or ``None`` if the answer was not checked.
        """
        verdict = self._checks.answer(input_text, sources=context, question=question)
        is_wrong = None if verdict.passed is None else not verdict.passed
        return GuardrailOutput(
            valid=not verdict.withholds(block_unchecked=True),
            explanation=verdict.reason,
            score=None if verdict.score is None else 1 - verdict.score,
            categories=[CategoryResult(name="hallucination", triggered=is_wrong)],
            spans=[
                SpanResult(
                    start=span.start,
                    end=span.end,
                    text=span.text,
                    label=str(span.label),
                    score=span.probability,
                )
                for span in verdict.spans
            ],
        )
