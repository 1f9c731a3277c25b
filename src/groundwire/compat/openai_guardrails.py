"""A check for the clients of OpenAI's guardrails-python."""

from groundwire.compat.verdict import Checks
from groundwire.errors import DetectionError, needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The check for OpenAI Guardrails", "openai-guardrails"):
    from guardrails import GuardrailResult
    from guardrails.registry import default_spec_registry
    from guardrails.spec import GuardrailSpecMetadata


def register(*, name: str = "Groundedness", pipeline: Pipeline | None = None) -> None:
    """Register the check, so that the stage ``output`` of a configuration can name it.

    The evidence is in the conversation, such as results of tools. An unsupported answer triggers
    the tripwire. For an answer that could not be checked, the result says
    ``execution_failed``, which clients let pass unless they have ``raise_guardrail_errors=True``.

    Args:
        name: The name of the check in configurations. The check has no settings.
        pipeline: The pipeline that checks; by default one with the default configuration.

    Raises:
        ValueError: If a check of this name is registered already.
    """
    checks = Checks(pipeline)

    async def groundedness(ctx: object, candidate: str, config: None) -> GuardrailResult:
        history = getattr(ctx, "get_conversation_history", lambda: None)() or []
        # The last message of the model is the answer; its other messages are no evidence.
        given = [each for each in history if each.get("role") != "assistant"]
        verdict = await checks.achat({"input": given}, candidate)
        is_unchecked = verdict.passed is None and verdict.is_due
        return GuardrailResult(
            tripwire_triggered=verdict.passed is False,
            execution_failed=is_unchecked,
            original_exception=DetectionError(verdict.reason) if is_unchecked else None,
            info={"guardrail_name": name, **verdict.to_dict()},
        )

    default_spec_registry.register(
        name=name,
        check_fn=groundedness,
        description="Checks whether the evidence in a conversation supports the answer.",
        media_type="text/plain",
        metadata=GuardrailSpecMetadata(engine="Groundwire", uses_conversation_history=True),
    )
