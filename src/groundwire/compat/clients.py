"""Checks the answers that the Python clients of OpenAI and Anthropic receive; see :func:`wrap`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from groundwire.compat.client_responses import APIS, Data, data_of, is_repeated
from groundwire.compat.verdict import Checks, HostVerdict
from groundwire.errors import GroundwireError, InputError
from groundwire.pipeline import Pipeline

Client = TypeVar("Client")
#: Checks all events of a stream.
Judge = Callable[[list[Data]], HostVerdict]


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
    :class:`HostVerdict` is the attribute ``groundwire`` of the response; a stream has it after the
    last event. The verdict on several choices is the worst one.

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

    def judge(
        body: Data, read: Callable[[Any], Data], said: object, response: object = None
    ) -> HostVerdict:
        try:
            completion = read(said)
        except (InputError, AttributeError, KeyError, TypeError) as error:  # an odd response
            verdict = checks.unread("", error)
        else:
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

    Responses of APIs that are not in :data:`.APIS` are returned unchecked, and so are raw responses
    (such as those of ``with_raw_response``), unless ``block`` is true: then they raise a TypeError.
    """
    api = APIS.get(path.partition("?")[0].removeprefix("/v1"))
    if api is None:
        return response
    given = {**(asked.get("body") or {}), **(asked["options"].get("extra_json") or {})}
    # Drop the placeholders that the clients pass for arguments that the caller left out.
    kinds = (str, int, float, list, tuple, Mapping)
    body = {key: value for key, value in given.items() if isinstance(value, kinds)}
    of_response, of_events = api
    ended = partial(judge, body, of_events)
    if hasattr(response, "__anext__"):
        response._iterator = _awatch(response, response._iterator, ended)
    elif hasattr(response, "__next__"):
        response._iterator = _watch(response, response._iterator, ended)
    elif hasattr(response, "model_dump"):
        verdict = judge(body, of_response, data_of(response), response)
        object.__setattr__(response, "groundwire", verdict)  # the Pydantic model has no such field
    elif block:
        raise TypeError(
            "A raw response cannot be checked, so it cannot be blocked. Do not use "
            "with_raw_response or with_streaming_response, or wrap the client without block=True."
        )
    return response


def _watch(stream: Any, events: Iterator[Any], judge: Judge) -> Iterator[Any]:  # noqa: ANN401
    said: list[Data] = []
    for event in events:
        said += [] if is_repeated(event) else [data_of(event)]
        yield event
    stream.groundwire = judge(said)


async def _awatch(stream: Any, events: AsyncIterator[Any], judge: Judge) -> AsyncIterator[Any]:  # noqa: ANN401
    said: list[Data] = []
    async for event in events:
        said += [] if is_repeated(event) else [data_of(event)]
        yield event
    stream.groundwire = await asyncio.to_thread(judge, said)
