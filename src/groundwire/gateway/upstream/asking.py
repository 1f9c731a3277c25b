"""A request to an upstream, which can be sent to another upstream if the first one fails."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream.headers import Pairs, going_up


class Upload:
    """The pieces of a request body that is sent to the upstream while it is received.

    Attributes:
        has_begun: Whether a piece was asked for. The body cannot be sent again then.
        error: The exception that the iterator of the pieces raised, if any. The HTTP client
            replaces it by one of its own.
        progress: A function to call after each piece, or ``None``.
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
        headers: The caller's headers, unchanged; :meth:`headers_for` filters them.
        body: The body, or its pieces. Pieces cannot be sent twice: once the first one was asked
            for, the request cannot go to another upstream.
        model: Name of the model, by which the upstream is chosen; ``None`` if the request names
            no model.
        passes_authorization: Whether credentials in ``headers`` are for the upstream.
        accept_encoding: Replaces the caller's Accept-Encoding; ``None`` keeps it.
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
        """Whether the whole body can still be sent, from its beginning."""
        return isinstance(self.body, bytes) or not self.body.has_begun

    def url(self, upstream: Upstream) -> str:
        """Return the URL of the request at an upstream, always below the upstream's own URL."""
        base = upstream.url.rstrip("/")
        return f"{base}/{self.path}" + (f"?{self.query}" if self.query else "")

    def headers_for(self, upstream: Upstream) -> Pairs:
        """Return the headers of the request for an upstream."""
        headers = going_up(
            self.headers,
            api_key=None if upstream.api_key is None else upstream.api_key.reveal(),
            passes_authorization=self.passes_authorization,
            accept_encoding=self.accept_encoding,
            key_names=self._key_names(upstream),
        )
        if isinstance(self.body, Upload):
            # Some servers refuse a body of unknown length, so the caller's Content-Length is sent.
            # It can be trusted: the gateway's server refuses a body of another length, and if the
            # body breaks off, so does the request to the upstream.
            headers += [pair for pair in self.headers if pair[0].lower() == "content-length"][:1]
        return [(name, _as_utf8(value)) for name, value in headers]

    def _key_names(self, upstream: Upstream) -> tuple[str, ...]:
        """Return the names of headers for an upstream's key; Anthropic's API has its own header."""
        if self.path.partition("/")[0] != "messages":
            return ("authorization",)
        if (urlsplit(upstream.url).hostname or "").endswith("anthropic.com"):
            return ("x-api-key",)
        return ("x-api-key", "authorization")  # other servers of this API accept one of the two


def _as_utf8(value: str) -> str:
    """Return the text of a header, re-decoded so that the HTTP client sends its original bytes.

    The client encodes headers as UTF-8.
    """
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
