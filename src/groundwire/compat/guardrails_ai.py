"""A validator for Guardrails AI."""

from typing import Any

from groundwire.compat.verdict import WITHHELD, Checks
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The validator for Guardrails AI", "guardrails-ai"):
    from guardrails import OnFailAction
    from guardrails.validator_base import (
        ErrorSpan,
        FailResult,
        PassResult,
        ValidationResult,
        Validator,
        register_validator,
    )


@register_validator(name="groundwire/groundedness", data_type="string")
class Groundedness(Validator):
    """Validates whether the sources in a guard's metadata support a text.

    The sources are ``metadata["sources"]``, the question is ``metadata["question"]``. A text that
    could not be checked fails, and its error message begins with "Not checked". A text that claims
    nothing, such as a greeting, passes if there are sources.
    """

    required_metadata_keys = ["sources"]  # noqa: RUF012

    def __init__(
        self,
        on_fail: OnFailAction | str = OnFailAction.EXCEPTION,
        *,
        pipeline: Pipeline | None = None,
    ) -> None:
        """Set what the guard does with texts that fail.

        Args:
            on_fail: ``exception``, ``noop``, ``reask``..., as for other validators. ``fix``
                replaces the text with a notice that it was withheld.
            pipeline: The pipeline that checks; by default one with the default configuration.
        """
        super().__init__(on_fail=on_fail)
        self._checks = Checks(pipeline)

    def _validate(self, value: str, metadata: dict[str, Any]) -> ValidationResult:
        verdict = self._checks.answer(
            value, sources=metadata["sources"], question=metadata.get("question")
        )
        if not verdict.withholds(block_unchecked=True):
            return PassResult()
        spans = [
            ErrorSpan(start=span.start, end=span.end, reason=str(span.label))
            for span in verdict.spans
        ]
        return FailResult(error_message=verdict.reason, fix_value=WITHHELD, error_spans=spans)
