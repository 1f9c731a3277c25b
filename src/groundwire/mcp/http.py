"""Streamable HTTP: one server for several clients.

Who may ask is decided before a body is read: by a token, and by the headers Host and Origin, since
a page of some website can give its own name the address of this server.
"""

import hmac
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.config.keys import key_hash
from groundwire.mcp.server import ToolServer
from groundwire.mcp.store import StoreLimits

MAX_BODY_BYTES = 4 * 1024 * 1024
#: The most clients that have a session at a time, whether they hold evidence or not.
MAX_SESSIONS = 1_000
MAX_CONNECTIONS = 512

#: Seconds that open streams get to finish when the server stops.
_SHUTDOWN_S = 2

_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


class NoAddressError(OSError):
    """The server cannot listen on its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The clients that a server accepts.

    Attributes:
        token_hash: SHA-256 of the token; ``None``: none is needed.
        hosts: Names that the header Host may have, beside this machine's own if ``is_local``.
        origins: Values that the header Origin may have, if there is one.
        is_local: Whether this machine alone can reach the server.
    """

    token_hash: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    is_local: bool = True

    def settings(self) -> TransportSecuritySettings:
        """The SDK's settings for these clients."""
        hosts = [*self.hosts, *(_LOCAL_HOSTS if self.is_local else ())]
        origins = [f"http://{each}" for each in _LOCAL_HOSTS] if self.is_local else []
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=_with_any_port(hosts),
            allowed_origins=_with_any_port([*self.origins, *origins]),
        )


def _with_any_port(names: Sequence[str]) -> list[str]:
    return [each for name in names for each in (name, f"{name}:*")]


class TokenCheck:
    """Middleware that lets only requests with the token in."""

    def __init__(self, app: ASGIApp, token_hash: str) -> None:
        self._app, self._hash = app, token_hash

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or refuse it."""
        if scope["type"] == "http" and not self._has_token(scope):
            text = "This server needs its token. Send it as Authorization: Bearer TOKEN."
            headers = {"WWW-Authenticate": "Bearer"}
            response = JSONResponse({"error": text}, status_code=401, headers=headers)
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        # Hashes, so that how long it takes says nothing of the token.
        is_same = hmac.compare_digest(key_hash(token.strip()), self._hash)
        return is_same and scheme.lower() == b"bearer"


def app_of(server: ToolServer, access: Access, *, path: str, limits: StoreLimits) -> ASGIApp:
    """The ASGI app of a server, with its access checks."""
    app: ASGIApp = server.protocol().streamable_http_app(
        streamable_http_path=path,
        transport_security=access.settings(),
        max_request_body_size=MAX_BODY_BYTES,
        session_idle_timeout=limits.idle_s,
        max_sessions=MAX_SESSIONS,
    )
    return app if access.token_hash is None else TokenCheck(app, access.token_hash)


def listen(host: str, port: int) -> socket.socket:
    """Take the port of a host.

    Raises:
        NoAddressError: If the server cannot listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise NoAddressError(
            f"Port {port} of {host} cannot be had: {error.strerror}. Choose another with --port, "
            "or 0 for any free one; --host is an address of this machine, or 0.0.0.0 for all."
        ) from error


def http_server(app: ASGIApp) -> uvicorn.Server:
    """The HTTP server of an app."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",  # it bounds the heads of requests
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nothing here believes them
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
    )


def serve_http(
    app: ASGIApp, sock: socket.socket, *, address: str, says: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    for each in (signal.SIGINT, signal.SIGTERM):
        # The server ends at these signals, and raises them once more when it has ended.
        signal.signal(each, lambda *_: None)
    says(f"Listening on {address} (Ctrl-C ends it).")
    http_server(app).run(sockets=[sock])
