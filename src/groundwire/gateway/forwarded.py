"""Builds the request to an upstream from a client's request."""

from urllib.parse import unquote

from starlette.requests import Request

from groundwire.control.keys import holds_key
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware import state
from groundwire.gateway.upstream.asking import UpstreamRequest


def forwarded(
    request: Request,
    *,
    path: str,
    body: bytes,
    model: str | None,
    accept_encoding: str | None = None,
    without: bytes = b"",
) -> UpstreamRequest:
    """Return the request to an upstream, with the gateway's trace id in place of the client's.

    Args:
        request: The request of the client.
        path: The path after ``/v1/``.
        body: The body to send.
        model: The model, by which the upstream is chosen; ``None`` if the request names none.
        accept_encoding: Replaces the client's Accept-Encoding; ``None`` keeps it.
        without: The name of a header that is left out, in lower case.

    Raises:
        Problem: 400, if the query has a space, ``#`` or a character that is not printable ASCII, or
            text that looks like a gateway key.
    """
    given = [pair for pair in request.scope["headers"] if pair[0] not in (b"x-trace-id", without)]
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in given]
    return UpstreamRequest(
        method=request.method,
        path=path,
        query=query_of(request),
        headers=(*headers, ("X-Trace-ID", state.trace_id(request))),
        body=body,
        model=model,
        passes_authorization=state.caller(request).passes_authorization,
        accept_encoding=accept_encoding,
    )


def query_of(request: Request) -> str:
    """Return the query of a request's URL, as written.

    Raises:
        Problem: 400, if the query has a space, ``#`` or a character that is not printable ASCII, or
            text that looks like a gateway key.
    """
    query: str = request.scope["query_string"].decode("latin-1")
    if any(not "!" <= each <= "~" or each == "#" for each in query):
        raise Problem.named("invalid_query")
    require_no_key("query", query)
    return query


def require_no_key(part: str, text: str) -> None:
    """Refuse a request whose URL has text that looks like a gateway key.

    The upstream would see the key, and proxies on the way might log it. ``part`` names the part of
    the URL, ``path`` or ``query``, for the error; ``text`` is this part.

    Raises:
        Problem: 400, if the text looks like it holds a gateway key.
    """
    if holds_key(text) or holds_key(unquote(text)):
        raise Problem.named("key_in_request", part=part)
