"""Reads OpenAI's legacy completions, and writes changed ones; a choice has a text, no message."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.chunks import UnreadableChunkError
from groundwire.gateway.chat.hold_buffer import HeldStream
from groundwire.gateway.dialects.chat_completions import ChatCompletions
from groundwire.pipeline.conversation.response import Answer, read_response

_OBJECT = "text_completion"


class HeldTexts(HeldStream):
    """A buffer that holds back a stream of legacy completions, in the form of chat completions."""

    def write(self, chunk: Mapping[str, Any]) -> bytes:
        """Return a chunk of chat completions as an event with a legacy completion."""
        choices = []
        for choice in chunk.get("choices") or ():
            own = {key: value for key, value in choice.items() if key != "delta"}
            text = (choice.get("delta") or {}).get("content") or ""
            choices.append({"index": own.pop("index", 0), "text": text, **own})
        return super().write({**chunk, "object": _OBJECT, "choices": choices})

    def read(self, event: bytes) -> dict[str, Any]:
        """Return the legacy completion in an event as a chunk of chat completions."""
        return _as_chat(super().read(event))


class Completions(ChatCompletions):
    """Reads requests and responses of ``POST /v1/completions``, and writes changed responses."""

    path = "completions"
    _prefix, _object, _buffer = "cmpl", _OBJECT, HeldTexts

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request in which the prompt is the user's only message.

        If the prompt is neither a text nor a list with a single text, the request has no messages.
        """
        prompt = body.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
        return {**body, "messages": messages}

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401
        """Return the answers in the body of a response, one for each choice."""
        choices = data.get("choices") if isinstance(data, Mapping) else None
        if not isinstance(choices, list):
            raise InvalidConversationError("choices", "it is no list", "")
        for choice in choices:
            if not isinstance(choice, Mapping) or choice.get("message") or choice.get("delta"):
                raise InvalidConversationError("choices", "one has text outside of its text", "")
            if not isinstance(choice.get("text"), (str, type(None))):
                raise InvalidConversationError("choices", "one has a text that is none", "")
        said = [{**each, "text": "", "message": {"content": each.get("text")}} for each in choices]
        return read_response({**data, "choices": said})

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body in which each warning stands before the text of its choice."""
        choices = [
            choice
            if warning is None
            else {**choice, "text": f"{warning}\n\n{choice.get('text') or ''}"}
            for choice, warning in zip(data["choices"], warnings, strict=True)
        ]
        return {**data, "choices": choices}

    def chunk(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of an event as a chunk of chat completions."""
        return _as_chat(data)


def _as_chat(data: dict[str, Any]) -> dict[str, Any]:
    """Convert a chunk of legacy completions to a chunk of chat completions.

    Raises:
        UnreadableChunkError: If a choice has a delta, or a text that is neither string nor null.
    """
    choices = data.get("choices")
    if not isinstance(choices, list):
        return data
    return {**data, "choices": [_with_delta(choice) for choice in choices]}


def _with_delta(choice: object) -> object:
    if not isinstance(choice, dict):
        return choice
    text = choice.get("text")
    if choice.get("delta") or not isinstance(text, (str, type(None))):
        raise UnreadableChunkError("a choice has a delta, or a text that is none")
    own = {key: value for key, value in choice.items() if key != "text"}
    return {**own, "delta": {"content": text}}
