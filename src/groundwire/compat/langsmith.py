"""An evaluator for LangSmith's ``evaluate``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groundwire.compat.verdict import Checks, HostVerdict, value_of
from groundwire.errors import needs_extra
from groundwire.pipeline import Pipeline

with needs_extra("The evaluator for LangSmith", "langchain"):
    from langchain_core.messages import BaseMessage, convert_to_openai_messages


def groundedness_evaluator(
    pipeline: Pipeline | None = None,
) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """Return an evaluator for LangSmith's ``evaluate``.

    The outputs of a run have either ``messages``, of which the last is the answer, or an answer
    (``answer``, ``response``, ``output``...) and its sources (``context``, ``contexts``,
    ``documents``...). Without ``messages``, the question is in the inputs (``question``,
    ``query``...).
    """
    checks = Checks(pipeline)

    def groundedness(inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
        if messages := outputs.get("messages"):
            verdict = check_messages(checks, messages[:-1], _text_of(messages[-1]))
        else:
            verdict = checks.answer(
                value_of(outputs, "answer"),
                sources=value_of(outputs, "sources"),
                question=value_of(inputs, "question"),
            )
        return {
            "key": "groundedness",
            "score": verdict.score,
            "value": verdict.status,
            "comment": verdict.reason,
        }

    return groundedness


def check_messages(checks: Checks, messages: Sequence[Any], answer: str) -> HostVerdict:
    """Check the answer to LangChain messages.

    The verdict is "not checked" if LangChain cannot convert the messages to OpenAI's form.
    """
    try:
        body = {"messages": convert_to_openai_messages(messages)}
    except (ValueError, TypeError) as error:  # content that LangChain cannot convert
        return checks.unread(answer, error)
    return checks.chat(body, answer)


def _text_of(message: BaseMessage | Mapping[str, Any]) -> str:
    return message.text if isinstance(message, BaseMessage) else str(message.get("content") or "")
