"""A request to upstreams, which is sent to one after the other if one fails."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream.headers import Pairs, going_up


class Upload:
    """The pieces of a body that is sent while it comes.

    Attributes:
        has_begun: Whether a piece was asked for: it cannot be sent again then.
        error: The exception of the caller's iterator; the HTTP client raises another one.
        progress: Called after each piece, if it is there.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self.has_begun = False
        self.error: BaseException | None = None
        self.progress: Callable[[], None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self.has_begun = True
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.error = error
            raise
        if self.progress is not None:
            self.progress()
        return piece


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """A request to an upstream.

    Attributes:
        method: The HTTP method.
        path: The path after ``/v1/``, percent-encoded, such as ``chat/completions``.
        query: The query as written, without the question mark.
        headers: The caller's, as they came; see :func:`.headers.going_up`.
        body: The body, or its pieces. Pieces cannot be sent twice: once the first is asked for,
            no other upstream is.
        model: The model to route by; ``None``: the request names none.
        passes_authorization: Whether credentials in ``headers`` are for the upstream.
        accept_encoding: The codings that the response may have; ``None``: as the caller says.
    """

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | Upload
    model: str | None
    passes_authorization: bool
    accept_encoding: str | None = None

    @property
    def can_be_sent_again(self) -> bool:
        """Whether its whole body can still be sent."""
        return isinstance(self.body, bytes) or not self.body.has_begun

    def url(self, upstream: Upstream) -> str:
        """Return its URL, which is always below the URL of the upstream."""
        base = upstream.url.rstrip("/")
        return f"{base}/{self.path}" + (f"?{self.query}" if self.query else "")

    def headers_for(self, upstream: Upstream) -> Pairs:
        """The headers of the request as an upstream gets them."""
        headers = going_up(
            self.headers,
            api_key=None if upstream.api_key is None else upstream.api_key.reveal(),
            passes_authorization=self.passes_authorization,
            accept_encoding=self.accept_encoding,
            key_names=self._key_names(upstream),
        )
        if isinstance(self.body, Upload):
            # Some servers take no body of unknown length. That of the caller is kept to: his
            # server checked it, and a body that is shorter fails here as it does there.
            headers += [pair for pair in self.headers if pair[0].lower() == "content-length"][:1]
        return [(name, _as_utf8(value)) for name, value in headers]

    def _key_names(self, upstream: Upstream) -> tuple[str, ...]:
        """The headers that the key of an upstream goes in: Anthropic's API has its own."""
        if self.path.partition("/")[0] != "messages":
            return ("authorization",)
        if (urlsplit(upstream.url).hostname or "").endswith("anthropic.com"):
            return ("x-api-key",)
        return ("x-api-key", "authorization")  # others that speak it take one or the other


def _as_utf8(value: str) -> str:
    """Return a value that the HTTP client, which writes UTF-8, sends as the original bytes."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
