"""The interface between the check and the API that a client uses.

A dialect reads the requests, bodies and events of one API, and writes them again. All other work on
a request is the same for all dialects: asking the upstream, checking, holding text back, recording
and refusing.
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
        """Characters of text that have been sent to the client."""

    def clear(self, upto: int | None = None) -> list[bytes]:
        """Release text up to an offset in the answer; ``None``: to the end of the text so far.

        Returns:
            The events to send now: the text, and fields that may be sent with it.
        """

    def settle(
        self, head: Mapping[str, Any], *, warning: str | None = None, in_front: bool = False
    ) -> list[bytes]:
        """Release all text of an answer that has passed its check, with a warning if there is one.

        Args:
            head: The fields that all events of the response have.
            warning: The warning for the user.
            in_front: Whether the warning stands before the text; otherwise it follows the text.
        """

    def finish(
        self, head: Mapping[str, Any], *, extension: Mapping[str, Any] | None = None
    ) -> list[bytes]:
        """Release the rest of an answer whose text has been sent: other fields, and its end.

        Args:
            head: The fields that all events of the response have.
            extension: The value of ``groundwire`` in the event that ends the answer.
        """

    def calls(self) -> list[str]:
        """Return the arguments of each tool call that is held."""


class HeldResponse(Protocol):
    """A buffer for a streamed response: events and verdicts go in, the bytes to send come out."""

    @property
    def head(self) -> Mapping[str, Any]:
        """The fields that all events of the response have."""

    @property
    def answers(self) -> Mapping[int, Held]:
        """The answers that have been mentioned so far, by number."""

    @property
    def n_held(self) -> int:
        """Characters that are held."""

    @property
    def n_bytes(self) -> int:
        """Bytes that are held."""

    def take(self, event: ServerSentEvent, chunk: Chunk) -> None:
        """Hold back an event and the chunk that was read from it."""

    def answer(self, index: int) -> Held:
        """Return the answer with this number; it is created if no event has mentioned it yet."""

    def front(self) -> list[bytes]:
        """Return the events to send before all answers, and remove them from the buffer."""

    def tail(self, *, is_done: bool) -> list[bytes]:
        """Return the events to send after all answers, and remove them from the buffer.

        Args:
            is_done: Whether the upstream has ended the stream as its API demands.
        """

    def error(self, event: ServerSentEvent, chunk: Chunk) -> list[bytes]:
        """Return the events that end a stream in which the upstream sent an error."""

    def refusal(
        self,
        problem: Problem,
        *,
        passed: set[int],
        trace_id: str,
        extension: Mapping[str, Any] | None,
    ) -> list[bytes]:
        """Return the events that end a stream whose rest is withheld.

        Args:
            problem: Why the rest is withheld.
            passed: Numbers of the answers that have been released to their end.
            trace_id: The trace id of the request.
            extension: The result of :func:`.marks.extension`. Its entry ``headers`` is left out,
                because headers may quote the withheld text.
        """


class Dialect(Protocol):
    """Reads and writes the requests and responses of one API whose answers are checked."""

    @property
    def path(self) -> str:
        """The path of the API, below ``/v1/``."""

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request in the form that the pipeline reads.

        The conversation is in ``messages`` or ``input``. The result has a ``response_format`` if
        the request asks for JSON.
        """

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401 - JSON data
        """Return the answers in the body of a response.

        Raises:
            InvalidConversationError: If the body is no response of this API, or holds text in a
                place that is not read.
        """

    def is_error(self, data: object) -> bool:
        """Return whether a body has an error, and no answer beside the error."""

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body in which each warning stands before the text of its answer.

        Args:
            data: The body.
            warnings: The warning for each answer; ``None`` for an answer without a warning.
        """

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """Return a function that reads the events of one stream, called in their order.

        The function raises ``UnreadableChunkError`` for an event that is not one of this API.
        """

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldResponse:
        """Return an empty buffer that holds back one stream.

        Args:
            model: The model that the request names, for a stream that names none.
            trace_id: The trace id of the request.
            withholds: Whether fields without text are held until the answer has passed. Otherwise
                only the event that ends the answer is held.
        """
