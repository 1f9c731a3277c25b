"""Serves the tools over streamable HTTP: one server for several clients.

Access is checked by a token, if one is set, and by the headers Host and Origin. The check of the
headers prevents DNS rebinding: a website may let its own name point to the address of this server,
so that its pages in a user's browser can send requests here.
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
#: Highest number of sessions that are open at once, with or without held evidence.
MAX_SESSIONS = 1_000
MAX_CONNECTIONS = 512

#: Seconds that open requests get to finish when the server stops.
_SHUTDOWN_S = 2

_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The conditions under which a server accepts requests.

    Attributes:
        token_hash: SHA-256 of the token; ``None`` if no token is needed.
        hosts: Values that the header Host may have, with any port. If ``is_local``, the names of
            this machine are accepted too.
        origins: Values that the header Origin may have, with any port, if a request has that
            header. If ``is_local``, the ``http`` origins of this machine are accepted too.
        is_local: Whether the server can be reached from this machine only.
    """

    token_hash: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    is_local: bool = True

    def settings(self) -> TransportSecuritySettings:
        """Return the settings with which the SDK checks Host and Origin."""
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
    """Middleware that answers requests without the right token with status 401."""

    def __init__(self, app: ASGIApp, token_hash: str) -> None:
        self._app, self._hash = app, token_hash

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app, or refuse it."""
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
        # Hashes are compared, so that the time of the comparison reveals nothing about the token.
        is_same = hmac.compare_digest(key_hash(token.strip()), self._hash)
        return is_same and scheme.lower() == b"bearer"


def app_of(server: ToolServer, access: Access, *, path: str, limits: StoreLimits) -> ASGIApp:
    """Make the ASGI app of a server, with its access checks.

    Args:
        server: The server.
        access: The conditions under which requests are accepted.
        path: Path of the endpoint, such as ``/mcp``.
        limits: Limits of held evidence. A session ends if it is not used for ``idle_s`` seconds.
    """
    app: ASGIApp = server.protocol().streamable_http_app(
        streamable_http_path=path,
        transport_security=access.settings(),
        max_request_body_size=MAX_BODY_BYTES,
        session_idle_timeout=limits.idle_s,
        max_sessions=MAX_SESSIONS,
    )
    return app if access.token_hash is None else TokenCheck(app, access.token_hash)


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens on a port of a host.

    Raises:
        OSError: If the server cannot listen on this port; the message says what to choose instead.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise OSError(
            f"Port {port} of {host} cannot be had: {error.strerror}. Choose another with --port, "
            "or 0 for any free one; --host is an address of this machine, or 0.0.0.0 for all."
        ) from error


def http_server(app: ASGIApp) -> uvicorn.Server:
    """Make the HTTP server for an app."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",  # h11 limits the size of request headers
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # anybody could send such headers, and this server needs none
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
    )


def serve_http(
    app: ASGIApp, sock: socket.socket, *, address: str, says: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        app: The app.
        sock: A socket that listens.
        address: URL of the server, for the message.
        says: Function that prints a message for the user.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        # When uvicorn has stopped, it raises the signal again for the handler that was set before
        # it started. That is this empty handler, so the process ends without an error.
        signal.signal(each, lambda *_: None)
    says(f"Listening on {address} (Ctrl-C ends it).")
    http_server(app).run(sockets=[sock])
