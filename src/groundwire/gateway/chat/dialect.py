"""The seam between the check and the API that a client speaks.

A dialect reads requests, bodies and events of its API and writes them again. What is asked, judged,
held, recorded and refused in between is the same for all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from groundwire.gateway.chat.chunks import Chunk
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation import Answer


class Held(Protocol):
    """One answer of a stream that is held back."""

    @property
    def n_sent(self) -> int:
        """Characters of text that have left."""

    def clear(self, upto: int | None = None) -> list[bytes]:
        """The events that may leave when text may, up to an offset in it or to its end."""

    def settle(
        self, head: Mapping[str, Any], *, warning: str | None = None, in_front: bool = False
    ) -> list[bytes]:
        """The rest of the text of an answer that has passed, with a warning if it has one."""

    def finish(
        self, head: Mapping[str, Any], *, extension: Mapping[str, Any] | None = None
    ) -> list[bytes]:
        """Return the rest of an answer whose text has left: its parts without text, and its end."""

    def calls(self) -> list[str]:
        """The arguments of the calls of tools that are held."""


class HeldResponse(Protocol):
    """A streamed response that is held back: events and verdicts go in, bytes come out."""

    @property
    def head(self) -> Mapping[str, Any]:
        """The fields that all events of the response have."""

    @property
    def answers(self) -> Mapping[int, Held]:
        """The answers so far, by their numbers."""

    @property
    def n_held(self) -> int:
        """Characters that are held."""

    @property
    def n_bytes(self) -> int:
        """Bytes that are held."""

    def take(self, event: ServerSentEvent, chunk: Chunk) -> None:
        """Keep an event."""

    def answer(self, index: int) -> Held:
        """One of the answers, new if it was not mentioned before."""

    def front(self) -> list[bytes]:
        """Take the events that come before all answers."""

    def tail(self, *, is_done: bool) -> list[bytes]:
        """Take the events after all answers; ``is_done``: the upstream ended the stream."""

    def error(self, event: ServerSentEvent, chunk: Chunk) -> list[bytes]:
        """The end of a stream in which the upstream sent an error."""

    def refusal(
        self,
        problem: Problem,
        *,
        passed: set[int],
        trace_id: str,
        extension: Mapping[str, Any] | None,
    ) -> list[bytes]:
        """The end of a stream whose rest is withheld.

        Args:
            problem: Why.
            passed: The answers that are complete already.
            trace_id: The trace id of the request.
            extension: That of :func:`.marks.extension`; its headers stay out, for they may quote
                what is withheld.
        """


class Dialect(Protocol):
    """An API whose answers are checked."""

    @property
    def path(self) -> str:
        """The path of the API, below ``/v1/``."""

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request as the pipeline reads it: with ``messages`` or ``input``.

        It has ``response_format`` if it asks for JSON.
        """

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401 - JSON data
        """The answers in the body of a response.

        Raises:
            InvalidConversationError: If it is no response, or holds text that is not read.
        """

    def is_error(self, data: object) -> bool:
        """Whether a body is an error and nothing else."""

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """A body with a warning before the text of each answer that has one."""

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """Make the reader of the events of one stream, in their order.

        What it returns raises ``UnreadableChunkError`` for events that are none of this API.
        """

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldResponse:
        """Make the buffer that holds a stream back.

        Args:
            model: The model that the request names, for a stream that says nothing of it.
            trace_id: The trace id of the request.
            withholds: Whether all that is no text waits for the end of the answer; otherwise only
                what ends it does.
        """
