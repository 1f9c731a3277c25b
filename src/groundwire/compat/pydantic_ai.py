"""An output validator for agents of pydantic-ai."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

from groundwire.compat.verdict import Checks, HostVerdict
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The validator for pydantic-ai", "pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.messages import (
        BaseToolReturnPart,
        ModelMessage,
        ModelRequest,
        SystemPromptPart,
        UserPromptPart,
    )

AnyOutput = TypeVar("AnyOutput")


def groundedness_validator(
    *,
    block_unchecked: bool = False,
    on_verdict: Callable[[HostVerdict], object] = lambda _: None,
    pipeline: Pipeline | None = None,
) -> Callable[[RunContext[Any], AnyOutput], Awaitable[AnyOutput]]:
    """Return a function for ``agent.output_validator`` that checks outputs against the evidence.

    If the evidence does not support an output, the model is asked again with the reason, as often
    as the agent retries outputs; then the run fails. Partial outputs of a stream are not checked.

    Args:
        block_unchecked: Whether outputs that could not be checked are refused as well.
        on_verdict: Called with each verdict.
        pipeline: The pipeline that checks; by default one with the default configuration.
    """
    checks = Checks(pipeline)

    async def validate(context: RunContext[Any], output: AnyOutput) -> AnyOutput:
        if context.partial_output:
            return output
        verdict = await checks.achat({"messages": list(_messages(context.messages))}, output)
        on_verdict(verdict)
        if verdict.withholds(block_unchecked=block_unchecked):
            raise ModelRetry(
                f"The output is not supported by the evidence. {verdict.reason} "
                "Answer again, and say only what the evidence says."
            )
        return output

    return validate


def _messages(messages: Sequence[ModelMessage]) -> Iterator[dict[str, Any]]:
    """Yield the input of the model as messages of a chat.

    What the model itself wrote is left out, since it is no evidence. Errors that ask the model to
    try again are left out too, since they quote what the model wrote.
    """
    for message in messages:
        if isinstance(message, ModelRequest) and message.instructions:
            yield {"role": "system", "content": message.instructions}
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                yield {"role": "system", "content": part.content}
            elif isinstance(part, UserPromptPart):
                yield {"role": "user", "content": _content(part.content)}
            elif isinstance(part, BaseToolReturnPart) and part.outcome != "retried":
                items = part.content_items(mode="str")
                content = items[0] if len(items) == 1 else items
                yield {
                    "role": "tool",
                    "tool_call_id": part.tool_call_id,
                    "name": part.tool_name,
                    "content": _content(content),
                }


def _content(content: object) -> str | list[dict[str, Any]]:
    """Return the content of a message; items that are not text become image parts without data."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else [content]
    unreadable = {"type": "image_url", "image_url": {}}
    return [
        {"type": "text", "text": part} if isinstance(part, str) else unreadable for part in parts
    ]
