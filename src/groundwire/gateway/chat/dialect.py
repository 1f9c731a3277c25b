"""The interface between the check and the API that a client uses.

A dialect reads the requests, response bodies and events of one API, and writes changed bodies and
events. All other work on a request is the same for all dialects.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from groundwire.gateway.chat.blocks import HeldBlocks
from groundwire.gateway.chat.hold_buffer import HeldStream
from groundwire.gateway.chat.reading import ReadEvent
from groundwire.gateway.http.sse import ServerSentEvent
from groundwire.pipeline.conversation.response import Answer

#: A buffer for a streamed response, which holds events back until they may be sent.
HeldResponse: TypeAlias = HeldStream | HeldBlocks


class Dialect(Protocol):
    """Reads the requests and responses of one API, and writes changed responses."""

    @property
    def path(self) -> str:
        """The path of the API, below ``/v1/``."""

    def conversation(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the body of a request in the form that the pipeline reads."""

    def answers(self, data: Any) -> tuple[Answer, ...]:  # noqa: ANN401 - JSON data
        """Return the answers in the body of a response.

        Raises:
            InvalidConversationError: If the body is not a response of this API, or has text of an
                answer in a field in which this API has none.
        """

    def is_error(self, data: object) -> bool:
        """Return whether a body has an error, and no answer beside the error."""

    def with_warnings(self, data: Any, warnings: Sequence[str | None]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return a body with each warning before the text of its answer.

        If an answer has no text, the dialect decides whether and where to add its warning.

        Args:
            data: The body.
            warnings: One entry for each answer: its warning, or ``None`` for no warning.
        """

    def reader(self) -> Callable[[ServerSentEvent], ReadEvent]:
        """Return a function that reads one event; call it with the events of one stream in order.

        The function raises ``UnreadableChunkError`` if the event does not fit this API or the
        events before it.
        """

    def held(self, *, model: str, trace_id: str, withholds: bool) -> HeldResponse:
        """Return an empty buffer that holds back one stream.

        Args:
            model: The model that the request names, for a stream that names none.
            trace_id: The trace id of the request.
            withholds: Whether text waits for the check. The event that ends an answer waits in any
                case.
        """
