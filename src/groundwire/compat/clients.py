"""Checks the answers that the Python clients of OpenAI and Anthropic receive; see :func:`wrap`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from groundwire.compat.verdict import Checks, HostVerdict
from groundwire.errors import GroundwireError
from groundwire.pipeline import Pipeline

Client = TypeVar("Client")
Data = Mapping[str, Any]
Judge = Callable[[Data], HostVerdict]


class AnswerWithheldError(GroundwireError):
    """A wrapped client withholds the answer that it received.

    Attributes:
        verdict: The verdict on the answer.
        response: The response that the client received; ``None`` for a stream.
    """

    def __init__(self, verdict: HostVerdict, response: object = None) -> None:
        self.verdict, self.response = verdict, response
        super().__init__(f"The answer is withheld. {verdict.reason}")


def wrap(
    client: Client,
    *,
    block: bool = False,
    block_unchecked: bool = False,
    on_verdict: Callable[[HostVerdict], object] = lambda _: None,
    pipeline: Pipeline | None = None,
) -> Client:
    """Return a copy of a client that checks each answer against the evidence in the request.

    Answers of the APIs Chat Completions, Responses and Messages are checked, whole or streamed. The
    arguments of a tool that gives the final answer are not checked in streams of chat completions
    and messages. The :class:`HostVerdict` is the attribute ``groundwire`` of the response; a stream
    has it after the last event. The verdict on several choices is the worst one.

    Args:
        client: A client of the package ``openai`` or ``anthropic``, synchronous or not.
        block: Whether an unsupported answer raises :class:`AnswerWithheldError`. A stream raises
            the error at its end, when the caller has already read all words. With ``block``, raw
            responses (such as those of ``with_raw_response``) raise a TypeError, because they are
            not checked.
        block_unchecked: With ``block``, whether an answer that could not be checked raises
            :class:`AnswerWithheldError` too.
        on_verdict: Called with each verdict, before an error is raised.
        pipeline: The pipeline that checks; by default one with the default configuration.

    Raises:
        TypeError: If ``client`` lacks the method ``post`` or ``copy``, which these clients have.
        GroundwireError: If a model cannot be loaded.
    """
    if not all(callable(getattr(client, name, None)) for name in ("post", "copy")):
        kind = f"{type(client).__module__}.{type(client).__qualname__}"
        raise TypeError(f"wrap() takes a client of the package openai or anthropic, not {kind}")
    checks = Checks(pipeline)
    _ = checks.pipeline  # raises an error now, not after an answer, if a model cannot be loaded

    def judge(body: Data, completion: Data, response: Any = None) -> HostVerdict:  # noqa: ANN401
        verdict = checks.completion(body, completion)
        on_verdict(verdict)
        if block and verdict.withholds(block_unchecked=block_unchecked):
            raise AnswerWithheldError(verdict, response)
        return verdict

    def watched(found: Any) -> Any:  # noqa: ANN401 - a client
        send, copy = found.post, found.copy

        def post(path: str, **asked: Any) -> Any:  # noqa: ANN401
            return _checked(judge, path, asked, send(path, **asked), block=block)

        async def apost(path: str, **asked: Any) -> Any:  # noqa: ANN401
            response = await send(path, **asked)
            return await asyncio.to_thread(_checked, judge, path, asked, response, block=block)

        found.post = apost if iscoroutinefunction(send) else post
        found.copy = found.with_options = lambda **options: watched(copy(**options))
        return found

    wrapped: Client = watched(client.copy())  # type: ignore[attr-defined]
    return wrapped


def _checked(
    judge: Callable[..., HostVerdict],
    path: str,
    asked: Data,
    response: Any,  # noqa: ANN401
    *,
    block: bool,
) -> Any:  # noqa: ANN401
    """Check a response and set its verdict; for a stream, do so when the stream ends.

    Responses of APIs that are not in :data:`_READERS` are returned unchecked. Raw responses (such
    as those of ``with_raw_response``) raise a TypeError if ``block`` is true; otherwise, they are
    returned unchecked too.
    """
    read = _READERS.get(path.partition("?")[0].removeprefix("/v1"))
    if read is None:
        return response
    given = {**(asked.get("body") or {}), **(asked["options"].get("extra_json") or {})}
    # For arguments that the caller left out, the clients pass placeholders, which are dropped here.
    kinds = (str, int, float, list, tuple, Mapping)
    body = {key: value for key, value in given.items() if isinstance(value, kinds)}
    if hasattr(response, "__anext__"):
        response._iterator = _awatch(response, response._iterator, partial(judge, body))
    elif hasattr(response, "__next__"):
        response._iterator = _watch(response, response._iterator, partial(judge, body))
    elif hasattr(response, "model_dump"):
        verdict = judge(body, read(_data(response)), response)
        object.__setattr__(response, "groundwire", verdict)  # the Pydantic model has no such field
    elif block:
        raise TypeError(
            "A raw response cannot be checked, so it cannot be blocked. Do not use "
            "with_raw_response or with_streaming_response, or wrap the client without block=True."
        )
    return response


def _watch(stream: Any, events: Iterator[Any], judge: Judge) -> Iterator[Any]:  # noqa: ANN401
    said = _Said()
    for event in events:
        said.add(_data(event))
        yield event
    stream.groundwire = judge(said.completion)


async def _awatch(stream: Any, events: AsyncIterator[Any], judge: Judge) -> AsyncIterator[Any]:  # noqa: ANN401
    said = _Said()
    async for event in events:
        said.add(_data(event))
        yield event
    stream.groundwire = await asyncio.to_thread(judge, said.completion)


class _Said:
    """The content of a stream so far, collected event by event."""

    def __init__(self) -> None:
        self._choices: dict[int, dict[str, Any]] = {}
        self._whole: Data | None = None

    @property
    def completion(self) -> Data:
        """The content as a chat completion."""
        return self._whole or {"choices": list(self._choices.values())}

    def add(self, event: Data) -> None:
        """Add an event of a stream of chat completions, responses or messages."""
        for choice in event.get("choices") or ():
            self._add(choice["index"], choice.get("delta") or {}, choice.get("finish_reason"))
        match event:
            case {"type": "response.completed" | "response.incomplete", "response": response}:
                self._whole = _of_response(response)
            case {"type": "content_block_start", "content_block": {"type": "text", "text": text}}:
                self._add(0, {"content": text})
            case {"type": "content_block_start", "content_block": {"type": "tool_use"} as call}:
                self._add(0, {"tool_calls": [call]})
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                self._add(0, {"content": text})
            case {"type": "message_delta", "delta": {"stop_reason": reason}}:
                self._add(0, {}, reason)

    def _add(self, index: int, delta: Data, finish: str | None = None) -> None:
        empty = {"content": [], "refusal": "", "tool_calls": []}
        choice = self._choices.setdefault(index, {"index": index, "message": empty})
        message = choice["message"]
        message["content"] += [delta["content"]] if delta.get("content") else []
        message["refusal"] += delta.get("refusal") or ""
        message["tool_calls"] += delta.get("tool_calls") or []
        choice["finish_reason"] = finish or choice.get("finish_reason")


def _data(model: Any) -> Any:  # noqa: ANN401 - a model of Pydantic
    return model.model_dump(mode="json", warnings=False)


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


def _of_message(message: Data) -> Data:
    """Return a message of the Messages API as a chat completion."""
    blocks = message.get("content") or []
    said = {
        "content": [each for each in blocks if each["type"] == "text"],
        "tool_calls": [
            {"type": "function_call", "name": each["name"], "arguments": each["input"]}
            for each in blocks
            if each["type"] == "tool_use"
        ],
    }
    return {"choices": [{"message": said, "finish_reason": message.get("stop_reason")}]}


#: Path of an API → function that converts its response to a chat completion.
_READERS: Mapping[str, Callable[[Data], Data]] = {
    "/chat/completions": lambda completion: completion,
    "/responses": _of_response,
    "/messages": _of_message,
}
