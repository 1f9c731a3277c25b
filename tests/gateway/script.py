"""What a scripted upstream is to do about a request."""

import json
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

Headers = tuple[tuple[str, str], ...]


class End(StrEnum):
    """How an answer ends."""

    FINISH = "finish"  # as HTTP says; the connection is kept
    CLOSE = "close"  # the connection is closed, without the last chunk
    RESET = "reset"  # the connection is reset (RST)
    HANG = "hang"  # nothing more happens, until the client closes


class Framing(StrEnum):
    """How the client knows where the body ends."""

    LENGTH = "length"  # Content-Length
    CHUNKED = "chunked"  # each piece is a chunk
    NONE = "none"  # the end of the connection is the end of the body


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for a while."""

    seconds: float


class Gate:
    """Nothing is sent until a test opens it."""

    def __init__(self) -> None:
        self._is_open = threading.Event()

    def open(self) -> None:
        """Let the upstream go on."""
        self._is_open.set()

    @property
    def is_open(self) -> bool:
        """Whether the upstream may go on."""
        return self._is_open.is_set()


Piece = bytes | Pause | Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the upstream does about one request.

    Attributes:
        status: Of the answer.
        reason: Its reason phrase.
        headers: In order, as they are; those of the framing and the coding are added.
        body: Pieces, with pauses and gates between them. Each is written alone.
        framing: Where the body ends.
        encoding: ``gzip`` or ``deflate``: the body is sent so, flushed after each piece.
        end: What happens after the last piece.
        before: Pauses and gates before the first byte of the answer.
        drip: Bytes written at a time; ``None``: a piece at once.
        claimed_length: What Content-Length says instead of the truth.
        raw: Sent instead of a status line, headers and body.
        reads_body: Whether the request is read to its end before anything is sent.
        hangs_at_once: Whether nothing is sent at all, ever.
    """

    status: int = 200
    reason: str = "OK"
    headers: Headers = ()
    body: tuple[Piece, ...] = ()
    framing: Framing = Framing.LENGTH
    encoding: str = ""
    end: End = End.FINISH
    before: tuple[Pause | Gate, ...] = ()
    drip: int | None = None
    claimed_length: int | None = None
    raw: bytes | None = None
    reads_body: bool = True
    hangs_at_once: bool = False

    @classmethod
    def json(cls, value: object, **changes: Any) -> Self:  # noqa: ANN401
        """An answer that is JSON."""
        body = json.dumps(value).encode()
        return cls(headers=(("Content-Type", "application/json"),), body=(body,)).but(**changes)

    @classmethod
    def sse(cls, events: Iterable[Piece], **changes: Any) -> Self:  # noqa: ANN401
        """An answer that is a stream of events, chunked."""
        headers = (("Content-Type", "text/event-stream; charset=utf-8"),)
        return cls(headers=headers, body=tuple(events), framing=Framing.CHUNKED).but(**changes)

    @classmethod
    def error(cls, status: int, message: str = "scripted", **changes: Any) -> Self:  # noqa: ANN401
        """An error in OpenAI's envelope."""
        problem = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
        return cls.json(problem, status=status, reason="Scripted").but(**changes)

    def but(self, **changes: Any) -> Self:  # noqa: ANN401
        """The same, with changes."""
        return replace(self, **changes)


def encoded(body: Sequence[Piece], encoding: str) -> Iterator[Piece]:
    if not encoding:
        yield from body
        return
    compress, flush, finish = _compressor(encoding)
    for piece in body:
        yield compress(piece) + flush() if isinstance(piece, bytes) else piece
    yield finish()


def _compressor(
    encoding: str,
) -> tuple[Callable[[bytes], bytes], Callable[[], bytes], Callable[[], bytes]]:
    zipped = zlib.compressobj(wbits={"gzip": 31, "deflate": 15}[encoding])
    return zipped.compress, lambda: zipped.flush(zlib.Z_SYNC_FLUSH), zipped.flush
