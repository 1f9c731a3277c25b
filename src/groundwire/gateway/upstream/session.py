"""The HTTP session to upstreams: keeps connections, and does not decompress bodies."""

import time
from types import SimpleNamespace

import aiohttp

from groundwire.config.tree import UpstreamDefaults

#: Seconds that an unused connection is kept open.
_KEEPALIVE_S = 15.0

#: A failed request counts as sent on a closed connection only if it failed within this many seconds
#: after its start.
_STALE_S = 1.0

#: Headers that the HTTP client must not add.
_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")

#: Limit on the bytes of a header line in a response. Proxies in front of models add long headers.
_MAX_LINE_BYTES = 65_536


def new_session(settings: UpstreamDefaults) -> aiohttp.ClientSession:
    """Return the HTTP session for requests to upstreams.

    Bodies stay compressed, no headers such as User-Agent are added, and no cookies are kept.
    """
    connect_s = settings.connect_timeout_s
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_note_reuse)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=settings.max_connections, keepalive_timeout=_KEEPALIVE_S
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=_ADDED,
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_s, sock_connect=connect_s),
        trace_configs=[tracing],
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_LINE_BYTES,
    )


def was_stale(error: Exception, *, is_reused: bool, started: float) -> bool:
    """Return whether a request seems to have failed on a connection that was already closed.

    If so, the request can be sent again, because the server has probably not read it. Only an error
    within a second of ``started``, by :func:`time.monotonic`, counts: a server that has read a
    request usually fails later. ``is_reused`` says whether an earlier request used the connection.
    """
    is_lost = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    is_connecting = isinstance(error, aiohttp.ClientConnectorError)
    is_prompt = time.monotonic() - started < _STALE_S
    return is_reused and is_lost and not is_connecting and is_prompt


async def _note_reuse(
    _session: aiohttp.ClientSession, context: SimpleNamespace, _params: object
) -> None:
    context.trace_request_ctx[0] = True
