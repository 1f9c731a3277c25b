"""A request to an upstream, which can be sent to another upstream if the first one fails."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream.headers import Pairs, going_up


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """A request to an upstream.

    Attributes:
        method: The HTTP method.
        path: The path after ``/v1/``, percent-encoded, such as ``chat/completions``.
        query: The query as written, without the question mark.
        headers: The caller's headers; :meth:`headers_for` filters them.
        body: The body.
        model: Name of the model that the request asks for, if any.
        passes_authorization: Whether credentials in ``headers`` are for the upstream.
        accept_encoding: Replaces the caller's Accept-Encoding; ``None`` keeps it.
    """

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    model: str | None
    passes_authorization: bool
    accept_encoding: str | None = None

    def url(self, upstream: Upstream) -> str:
        """Return the URL of the request at an upstream."""
        base = upstream.url.rstrip("/")
        return f"{base}/{self.path}" + (f"?{self.query}" if self.query else "")

    def headers_for(self, upstream: Upstream) -> Pairs:
        """Return the headers for an upstream: the caller's, filtered, and the key if needed."""
        headers = going_up(
            self.headers,
            api_key=None if upstream.api_key is None else upstream.api_key.reveal(),
            passes_authorization=self.passes_authorization,
            accept_encoding=self.accept_encoding,
            key_names=self._key_names(upstream),
        )
        return [(name, _as_utf8(value)) for name, value in headers]

    def _key_names(self, upstream: Upstream) -> tuple[str, ...]:
        """Return the names of the headers in which an upstream gets its key.

        Usually this is ``authorization``. Anthropic's API (paths that begin with ``messages``) has
        the header ``x-api-key``. Other servers with this API may expect the key in
        ``authorization``, so they get both headers.
        """
        if self.path.partition("/")[0] != "messages":
            return ("authorization",)
        if f".{urlsplit(upstream.url).hostname}".endswith(".anthropic.com"):
            return ("x-api-key",)
        return ("x-api-key", "authorization")


def _as_utf8(value: str) -> str:
    """Decode a header's value as UTF-8 if possible; until now, it was decoded as Latin-1.

    The HTTP client encodes headers as UTF-8. So a value that is valid UTF-8 is sent to the upstream
    with the bytes that the caller sent.
    """
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
