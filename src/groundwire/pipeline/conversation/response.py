"""Reads a response: one answer for each choice, with its kind."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.content import items_of, type_problem
from groundwire.pipeline.conversation.known_fields import KNOWN, OF_CHOICE, count_unread, unread_in


class AnswerKind(StrEnum):
    """The kinds of answers, by the content of a choice."""

    TEXT = "text"
    STRUCTURED = "structured"  # JSON, or the arguments of a tool that returns the final output
    REFUSAL = "refusal"
    TOOL_CALLS = "tool_calls"  # only calls, no text: the answer is still to come
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool: the name of the tool, and its arguments (or input) as text."""

    name: str
    arguments: str

    @classmethod
    def of(cls, call: object) -> "ToolCall | None":
        """Read a call, or a piece of a streamed call.

        Returns:
            The call; a piece may have an empty name or empty arguments. ``None`` if the value is
            not a call of a function or of a custom tool.

        Raises:
            InvalidConversationError: If the arguments are data that is nested too deeply.
        """
        if not isinstance(call, Mapping):
            return None
        for key in ("function", "custom"):
            if isinstance(inner := call.get(key), Mapping):
                return cls.of({**inner, "type": key})
        kind = call.get("type")
        if kind not in ("function", "custom", "function_call", "custom_tool_call"):
            return None
        said = call.get("input" if str(kind).startswith("custom") else "arguments")
        name = call.get("name")
        return cls(name=name if isinstance(name, str) else "", arguments=_argument_text(said))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One choice of a response.

    Attributes:
        index: The number that the response gives the choice; without a number, the position of the
            choice.
        kind: The kind of the answer.
        text: If the kind is ``text`` or ``refusal``, the text that the user reads. If the kind is
            ``structured``, the prose (if any) and the JSON. Otherwise empty or blank.
        n_skipped: The number of parts that are not checked, such as sound, images, unknown fields
            that may hold text, or a refusal beside a text.
        calls: The calls of tools in the answer.
        n_prose: The number of characters of prose before the JSON of a ``structured`` answer.
        is_cut: Whether the answer breaks off, maybe within a word.
        has_reasoning: Whether there is reasoning of the model, which is not checked.
    """

    index: int
    kind: AnswerKind
    text: str = ""
    n_skipped: int = 0
    calls: tuple[ToolCall, ...] = ()
    n_prose: int = 0
    is_cut: bool = False
    has_reasoning: bool = False

    @property
    def has_statements(self) -> bool:
        """Whether the answer can have statements that sources could support."""
        return self.kind in (AnswerKind.TEXT, AnswerKind.STRUCTURED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The text in the content of a message, or of a streamed piece of a message.

    Attributes:
        text: The text that the user reads as the answer.
        refusal: The text that the user reads as a refusal.
        n_skipped: The number of parts that are neither text nor refusal, and so are not read.
    """

    text: str
    refusal: str
    n_skipped: int

    @classmethod
    def of(cls, content: object) -> "Said":
        """Read the content of a message or of a streamed delta: a text, parts, or nothing."""
        text = refusal = ""
        n_skipped = 0
        # Parts are joined without a separator, because a text with citations comes in several
        # parts.
        for part in content if isinstance(content, (list, tuple)) else [content]:
            match part:
                case str(said) | {"type": "text" | "output_text", "text": str(said)}:
                    text += said
                case {"type": "refusal", "refusal": str(said)}:
                    refusal += said
                case None:
                    pass
                case _:
                    n_skipped += 1
        return cls(text=text, refusal=refusal, n_skipped=n_skipped)


def read_response(body: object) -> tuple[Answer, ...]:
    """Read the answers of a chat completion.

    Args:
        body: The body of the response, as :func:`json.loads` gives it.

    Returns:
        One answer for each choice, in order; empty if there are no choices. Unknown fields that may
        hold text count as skipped parts.

    Raises:
        InvalidConversationError: If the body is not a chat completion, the arguments of a call
            are nested too deeply, a choice has text outside of its message, or there is text but no
            choice.
    """
    remedy = 'A completion is an object such as {"choices": [{"message": {"content": "..."}}]}.'
    if not isinstance(body, Mapping):
        raise InvalidConversationError("the response", type_problem(body), remedy)
    choices = body.get("choices")
    if not isinstance(choices, (list, tuple)):
        problem = type_problem(choices) if "choices" in body else "it is missing"
        raise InvalidConversationError("choices", problem, remedy)
    answers, n_beside = [], count_unread(body, KNOWN)
    for i, choice in enumerate(choices):
        if not isinstance(choice, Mapping):
            raise InvalidConversationError(f"choices[{i}]", type_problem(choice), remedy)
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise InvalidConversationError(f"choices[{i}].message", type_problem(message), remedy)
        delta = choice.get("delta")
        if choice.get("text") or (isinstance(delta, Mapping) and delta.get("content")):
            # The check reads only the message, so this text would go unchecked.
            raise InvalidConversationError("choices", "one has text outside of its message", "")
        index = choice.get("index")
        answer = _read_message(message, index if type(index) is int else i)
        n_unread = n_beside + count_unread(choice, OF_CHOICE) + unread_in(message)
        answer = replace(answer, n_skipped=answer.n_skipped + n_unread)
        answers.append(replace(answer, is_cut=breaks_off(choice.get("finish_reason"))))
    if n_beside and not answers:
        raise InvalidConversationError("choices", "there are none, and text beside them", "")
    return tuple(answers)


def _read_message(message: Mapping[str, object], index: int) -> Answer:
    """Read one message. If the message has text, the text is the answer, whatever else it has."""
    said = Said.of(message.get("content"))
    refusal = message.get("refusal")
    return answer_of(
        index,
        text=said.text,
        refusal=(refusal if isinstance(refusal, str) else "") + said.refusal,
        has_calls=bool(message.get("tool_calls") or message.get("function_call")),
        n_skipped=said.n_skipped + bool(message.get("audio")),
        calls=tuple(_calls(message)),
        has_reasoning=has_reasoning(message),
    )


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """Yield the tool calls in a message, in ``tool_calls`` or the older ``function_call``."""
    for call in (*items_of(message.get("tool_calls")), {"function": message.get("function_call")}):
        if (found := ToolCall.of(call)) is not None:
            yield found


def _argument_text(arguments: object) -> str:
    """Return the arguments of a call as a text; some servers send them as an object."""
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        raise InvalidConversationError("the arguments of a call", "it is too deep", "") from None


#: Values of ``finish_reason`` and similar fields that mean that the answer breaks off.
_BREAKS_OFF = frozenset(
    ("length", "content_filter", "model_length", "max_tokens", "refusal", "incomplete")
).union(("model_context_window_exceeded", "response.incomplete"))


def breaks_off(reason: object) -> bool:
    """Return whether a ``finish_reason``, or a similar value, means that the answer breaks off."""
    return isinstance(reason, str) and reason.lower() in _BREAKS_OFF


#: Fields of a message that may have the reasoning of a model.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")


def has_reasoning(message: Mapping[str, Any]) -> bool:
    """Return whether a message, or a streamed delta, has reasoning of the model."""
    return any(map(message.get, _REASONING))


def answer_of(
    index: int,
    *,
    text: str,
    refusal: str,
    has_calls: bool,
    n_skipped: int,
    calls: tuple[ToolCall, ...] = (),
    has_reasoning: bool = False,
    is_cut: bool = False,
) -> Answer:
    """Make an answer from its contents, and determine its kind.

    A refusal beside text counts as a skipped part. If there is reasoning, but no text, refusal or
    call, the reasoning counts as a skipped part too, because clients may show it as the answer.
    """
    if text.strip():
        kind = AnswerKind.TEXT
        n_skipped += bool(refusal.strip())
    elif refusal.strip():
        kind, text = AnswerKind.REFUSAL, refusal
    elif has_calls:
        kind, text = AnswerKind.TOOL_CALLS, ""
    else:
        kind, text = AnswerKind.EMPTY, ""
        n_skipped += has_reasoning
    return Answer(
        index=index,
        kind=kind,
        text=text,
        n_skipped=n_skipped,
        calls=calls,
        has_reasoning=has_reasoning,
        is_cut=is_cut,
    )
