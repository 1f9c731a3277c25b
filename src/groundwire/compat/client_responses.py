"""Reads what the clients of OpenAI and Anthropic receive as chat completions."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.streamed_calls import JoinedCalls, call_parts

Data = Mapping[str, Any]


def _of_chunks(chunks: Sequence[Data]) -> Data:
    """Return the chunks of a streamed chat completion as one chat completion."""
    choices: dict[object, dict[str, Any]] = {}
    joined: dict[object, JoinedCalls] = {}
    for choice in (each for chunk in chunks for each in chunk.get("choices") or ()):
        index, delta = choice.get("index"), choice.get("delta") or {}
        own = choices.setdefault(index, {"index": index, "message": {"content": []}})
        own["finish_reason"] = choice.get("finish_reason") or own.get("finish_reason")
        message = own["message"]
        message |= {key: value for key, value in delta.items() if value and key not in _JOINED}
        content = delta.get("content") or []
        message["content"] += content if isinstance(content, list) else [content]
        if delta.get("refusal"):
            message["content"].append({"type": "refusal", "refusal": delta["refusal"]})
        joined.setdefault(index, JoinedCalls()).take(call_parts(delta))
    for index, own in choices.items():
        calls = joined[index].calls
        own["message"]["tool_calls"] = [_call(each.name, each.arguments) for each in calls]
    return {"choices": list(choices.values())}


#: Fields of a delta that are joined from piece to piece.
_JOINED = ("content", "refusal", "tool_calls", "function_call")


def _call(name: str, arguments: object) -> Data:
    return {"type": "function_call", "name": name, "arguments": arguments}


def _of_response(response: Data) -> Data:
    """Return a response of the Responses API as a chat completion."""
    items = response.get("output") or []
    message = {
        "content": [
            part
            for item in items
            for part in item.get("content") or ()
            if item.get("type") == "message"
        ],
        "tool_calls": [item for item in items if str(item.get("type")).endswith("_call")],
    }
    return {"choices": [{"message": message, "finish_reason": response.get("status")}]}


def _of_response_events(events: Sequence[Data]) -> Data:
    """Return the whole response that ends a stream as a chat completion."""
    for event in reversed(events):
        if event.get("type") in _LAST:
            return _of_response(event.get("response") or {})
    raise InvalidConversationError("the stream", "it ended before its response was complete", "")


def _of_message(message: Data) -> Data:
    """Return a message of the Messages API as a chat completion."""
    blocks = message.get("content") or []
    said = {
        # A block of an unknown type counts as unread; reasoning and tools say nothing to the user.
        "content": [each for each in blocks if not _NOT_SAID.search(str(each.get("type")))],
        "tool_calls": [
            _call(each.get("name") or "", each.get("input"))
            for each in blocks
            if each.get("type") == "tool_use"
        ],
    }
    return {"choices": [{"message": said, "finish_reason": message.get("stop_reason")}]}


def _of_message_events(events: Sequence[Data]) -> Data:
    """Return the events of a streamed message as a chat completion.

    A piece of a block that was not begun is text.
    """
    blocks: list[tuple[Data, list[str]]] = []
    latest: dict[object, list[str]] = {}  # number of a block → pieces of its text or input
    reason = None
    for event in events:
        kind, index = event.get("type"), event.get("index")
        if kind == "content_block_start" or (kind == "content_block_delta" and index not in latest):
            latest[index] = []
            blocks.append((event.get("content_block") or {}, latest[index]))
        match event.get("delta"):
            case {"text": str(said)} | {"partial_json": str(said)}:
                latest[index].append(said)
            case {"stop_reason": str(said)}:
                reason = said
    whole = [
        {
            **block,
            "type": block.get("type") or "text",
            "text": f"{block.get('text') or ''}{''.join(said)}",
            "input": "".join(said) or block.get("input"),
        }
        for block, said in blocks
    ]
    return _of_message({"content": whole, "stop_reason": reason})


def data_of(model: Any) -> Any:  # noqa: ANN401 - a model of Pydantic
    """Return a response or an event as JSON data, without log probabilities."""
    return model.model_dump(mode="json", warnings=False, exclude=_LOGPROBS)


def is_repeated(event: object) -> bool:
    """Return whether the last event of a stream repeats an event, as in the Responses API."""
    kind = str(getattr(event, "type", ""))
    return kind.startswith("response.") and kind not in _LAST


#: Matches the types of blocks that are reasoning of the model, calls of tools, or their results.
_NOT_SAID = re.compile("thinking|tool")
#: What is left out of events: log probabilities, which are large and not read.
_LOGPROBS = {"choices": {"__all__": {"logprobs"}}}
#: Types of the events that end a stream of the Responses API with the whole response.
_LAST = ("response.completed", "response.incomplete")
#: Path of an API → two functions: they convert a whole response, and all events of a stream, to a
#: chat completion. The second raises an InvalidConversationError if the response is not whole.
APIS: Mapping[str, tuple[Callable[[Data], Data], Callable[[Sequence[Data]], Data]]] = {
    "/chat/completions": (lambda completion: completion, _of_chunks),
    "/responses": (_of_response, _of_response_events),
    "/messages": (_of_message, _of_message_events),
}
