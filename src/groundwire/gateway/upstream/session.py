"""The HTTP client: keeps connections, and neither decompresses nor follows redirects."""

import time
from types import SimpleNamespace

import aiohttp

from groundwire.config.tree import UpstreamDefaults

#: How long a connection is kept that is not used, in seconds.
_KEEPALIVE_S = 15.0

#: A server that has closed a kept connection lets us know within this, in seconds.
_STALE_S = 1.0

#: Headers that the HTTP client would add on its own; they are left out unless the caller sent them.
_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")

#: Limit on the bytes of one header line of a response. Proxies in front of models add long ones.
_MAX_LINE_BYTES = 65_536


def new_session(settings: UpstreamDefaults, *, trust_env: bool) -> aiohttp.ClientSession:
    """A client that sends what it is given and gives what it gets: bodies stay compressed,
    redirects are responses like others, cookies are nobody's.
    """  # noqa: D205
    timeout = aiohttp.ClientTimeout(
        total=None,
        connect=settings.connect_timeout_s,
        sock_connect=settings.connect_timeout_s,
    )
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_note_reuse)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=settings.max_connections, keepalive_timeout=_KEEPALIVE_S
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=_ADDED,
        timeout=timeout,
        trust_env=trust_env,
        trace_configs=[tracing],
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_LINE_BYTES,
    )


def was_stale(error: Exception, *, is_reused: bool, started: float) -> bool:
    """Whether a request failed because the server had closed the kept connection it went out on.

    It was not read then, and can be sent again. A server that had it would not fail at once.
    """
    is_lost = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    is_connecting = isinstance(error, aiohttp.ClientConnectorError)
    is_prompt = time.monotonic() - started < _STALE_S
    return is_reused and is_lost and not is_connecting and is_prompt


async def _note_reuse(
    _session: aiohttp.ClientSession, context: SimpleNamespace, _params: object
) -> None:
    context.trace_request_ctx[0] = True
