"""Chat completions as OpenAI sends them, whole and in events."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def completion(
    text: str | None,
    *,
    n: int = 1,
    finish: str = "stop",
    **extra: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """A chat completion as OpenAI's: ``n`` choices that say the same, and further fields."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": finish}
        for index in range(n)
    ]
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    return {**_envelope("chat.completion"), "choices": choices, "usage": usage, **extra}


def chunk(
    delta: Mapping[str, Any] | None,
    *,
    index: int = 0,
    finish: str | None = None,
    **extra: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """One chunk of a streamed chat completion; without a delta it has no choices."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    choices = [] if delta is None else [choice]
    return {**_envelope("chat.completion.chunk"), "choices": choices, **extra}


def event(value: object) -> bytes:
    """One event of a stream, with JSON data."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def stream_events(
    pieces: Iterable[str],
    *,
    usage: bool = False,
    n: int = 1,
    finish: str = "stop",
    done: bool = True,
    **extra: Any,  # noqa: ANN401
) -> list[bytes]:
    """The events of a streamed chat completion, as OpenAI sends them.

    Args:
        pieces: Of the text; each of the ``n`` choices says them all, one after the other.
        usage: Whether the last chunk has the usage, as ``include_usage`` asks for.
        n: How many choices.
        finish: The finish reason.
        done: Whether ``[DONE]`` stands at the end.
        extra: Further fields of every chunk.
    """
    nothing: dict[str, Any] = {"usage": None} if usage else {}
    fields = {**nothing, **extra}
    every = range(n)
    chunks = [chunk({"role": "assistant", "content": ""}, index=i, **fields) for i in every]
    chunks += [
        chunk({"content": piece}, index=index, **fields) for piece in pieces for index in every
    ]
    chunks += [chunk({}, index=i, finish=finish, **fields) for i in every]
    if usage:
        counted = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
        chunks.append(chunk(None, **{**fields, "usage": counted}))
    return [event(each) for each in chunks] + ([DONE] if done else [])


def _envelope(kind: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-scripted",
        "object": kind,
        "created": 1_700_000_000,
        "model": "scripted-1",
        "system_fingerprint": "fp_scripted",
    }
