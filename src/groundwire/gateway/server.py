"""Serves the apps of the proxy and the admin plane: sockets, HTTP server, clean shutdown."""

import asyncio
import logging
import math
import signal
import socket
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Literal
from uuid import uuid4

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from groundwire.config import Config
from groundwire.config.kinds import is_loopback_host
from groundwire.errors import ConfigError
from groundwire.gateway.http.problems import Problem, problem_response
from groundwire.gateway.middleware.trace import HEADER as TRACE_HEADER

log = logging.getLogger(__name__)

#: Limit on the bytes of a request's head (request line and headers). A larger head is refused.
MAX_HEAD_BYTES = 65_536
#: Approximate number of bytes in a head without its request target and headers.
_LINE_BYTES = len("GET  HTTP/1.1\r\n\r\n")

#: Seconds that an unused connection is kept open. Most clients close it sooner, so they seldom send
#: a request on a connection that the gateway is just closing.
_KEEP_ALIVE_S = 75

#: Seconds that cancelled requests get to release their resources.
_CANCELLED_S = 5.0

_HEAD_TOO_LARGE = Problem.named("head_too_large", limit=MAX_HEAD_BYTES)
_NO_HTTP = Problem.named("invalid_http")


def listen(
    config: Config, *, is_admin: bool = False, is_local_demo: bool = False
) -> list[socket.socket]:
    """Listen on the configured port of the proxy or the admin plane, on all addresses of its host.

    Raises:
        ConfigError: If the host is no address of this machine, the port is not available, or other
            machines could reach a local demo, which needs no keys.
    """
    own, setting = (config.admin, "admin") if is_admin else (config.gateway, "gateway")
    host = own.host
    try:
        found = socket.getaddrinfo(host, own.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        where = config.origins.get(f"{setting}.host", f"{setting}.host")
        text = f"{where}: the host {host!r} is no address of this machine: {error.strerror}."
        raise ConfigError([f"{text} Use 127.0.0.1, or 0.0.0.0 for all addresses."]) from error
    addresses = dict.fromkeys((family, str(address[0])) for family, *_, address in found)
    if is_local_demo and not all(is_loopback_host(address) for _, address in addresses):
        option = "admin.host: 127.0.0.1" if is_admin else "--host 127.0.0.1"
        raise ConfigError(
            [
                f"--local-demo needs no key, so it listens on this machine only, and {host} can be "
                f"reached from elsewhere. Use {option}, or leave --local-demo out."
            ]
        )
    sockets: list[socket.socket] = []
    try:
        for family, address in addresses:
            # Port 0 means any free port. The first socket gets a free port, and the sockets of the
            # other addresses get the same port.
            taken = sockets[0].getsockname()[1] if sockets else own.port
            made = socket.create_server((address, taken), family=family, backlog=2048)
            made.setblocking(False)
            sockets.append(made)
    except OSError as error:
        for each in sockets:
            each.close()
        option = "--admin-port" if is_admin else "--port"
        raise _not_to_be_had(f"port {own.port} of {host}", option, error) from error
    return sockets


def is_reachable(sockets: Sequence[socket.socket]) -> bool:
    """Return whether other machines may be able to reach these sockets."""
    return not all(is_loopback_host(each.getsockname()[0]) for each in sockets)


def _not_to_be_had(where: str, option: str, error: OSError) -> ConfigError:
    if isinstance(error, PermissionError):
        text = f"This user may not listen on {where}. Choose a port above 1023"
    elif "in use" in str(error.strerror).lower():
        text = f"Another program listens on {where}. End it, or choose another port"
    else:
        text = f"Listening on {where} is not possible: {error.strerror}. Choose another"
    return ConfigError([f"{text}: {option} N, or {option} 0 for any free one."])


class Beside(uvicorn.Server):
    """A server for a second port in the same event loop; :class:`Server` starts and ends it."""

    def __init__(
        self, app: ASGIApp, config: Config, sockets: Sequence[socket.socket], *, address: str
    ) -> None:
        """Make the server, which does not run the app's lifespan.

        ``address`` is the URL that users are shown.
        """
        super().__init__(_settings(app, config, lifespan="off"))
        self.address = address
        self._sockets = list(sockets)
        self._ticking: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start to listen, and serve in a task."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=self._sockets)
        self._ticking = asyncio.create_task(self.main_loop(), name="admin plane")

    async def end(self) -> None:
        """Stop listening, and give the requests in flight time to end."""
        self.should_exit = True
        if self._ticking is not None:
            await self._ticking
            await self.shutdown(sockets=self._sockets)


class Server(uvicorn.Server):
    """The HTTP server of the gateway, with an optional server for a second port.

    Attributes:
        failure: The error that was passed to :meth:`fail`; ``None`` if there is none.
    """

    def __init__(
        self,
        app: ASGIApp,
        config: Config,
        *,
        says: Callable[[str], None],
        address: str,
        beside: Beside | None = None,
    ) -> None:
        super().__init__(_settings(app, config, lifespan="on"))
        self.failure: Exception | None = None
        self._says, self._address, self._shutdown_s = says, address, config.gateway.shutdown_s
        self._beside = beside

    def fail(self, error: Exception) -> None:
        """Stop the server because of an error, which :meth:`serve_until_told` then raises."""
        self.failure = error
        self.should_exit = True

    def serve_until_told(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until SIGTERM, Ctrl-C or :meth:`fail`; requests in flight get time to end.

        Raises:
            Exception: The error that ended the server, if :meth:`fail` was called.
        """

        def end(*_: object) -> None:
            self.should_exit = True

        # uvicorn handles these signals while it serves, and raises them again at the end. With the
        # default handler, a SIGTERM raised again would kill the process, and a clean end would look
        # like a crash.
        before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.run(sockets=list(sockets))
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        if self.failure is not None:
            raise self.failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and start the server of the second port if there is one."""
        asyncio.get_running_loop().set_exception_handler(_note)
        await super().startup(sockets=sockets)
        if self._beside is not None and not self.should_exit:
            await self._beside.begin()
            self._says(f"The admin plane listens on {self._beside.address}.")
            self._says(f"The console is at {self._beside.address}/console.")
        if not self.should_exit:
            self._says(f"Listening on {self._address} (Ctrl-C ends it).")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give the requests in flight time to end, then end the app."""
        if self.failure is None:
            self._says(f"Stopping; what is in flight has {self._shutdown_s:g} s to end.")
        end_app = self.lifespan.shutdown
        ending = None if self._beside is None else asyncio.ensure_future(self._beside.end())

        async def end_after_requests() -> None:
            if ending is not None:
                await ending
            # uvicorn cancels late requests, but does not wait until they have ended. They must
            # end before the app, which closes the services and the audit log that they use.
            if tasks := set(self.server_state.tasks):
                await asyncio.wait(tasks, timeout=_CANCELLED_S)
            await end_app()

        self.lifespan.shutdown = end_after_requests
        await super().shutdown(sockets=sockets)


class LimitedProtocol(HttpToolsProtocol):
    """The HTTP protocol of uvicorn, with a limit on the size of request heads.

    Responses to clients of HTTP/1.0 are not chunked, as RFC 9112 (6.1) requires.
    """

    _n_head_bytes = _n_parsed = 0
    _is_in_head = True
    _has_ended = False

    def data_received(self, data: bytes) -> None:
        """Parse bytes from the client, and refuse a head that gets too large."""
        self._has_ended = False
        super().data_received(data)
        # If a request ended in this piece of data, the piece is not counted, since most of it may
        # be the request's body.
        if self._is_in_head and not self._has_ended:
            self._n_head_bytes += len(data)
            if self._n_head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self._refuse(_HEAD_TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser rejects, or whose head is too large."""
        del msg
        self._refuse(_HEAD_TOO_LARGE if self._n_parsed > MAX_HEAD_BYTES else _NO_HTTP)

    def on_message_begin(self) -> None:
        """Handle the beginning of a request: start to count the bytes of its head."""
        super().on_message_begin()
        self._is_in_head, self._n_head_bytes, self._n_parsed = True, 0, _LINE_BYTES

    def on_url(self, url: bytes) -> None:
        """Handle a piece of the request target, and count it as part of the head."""
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a header, and count it as part of the head."""
        super().on_header(name, value)
        self._count(len(name) + len(value) + len(": \r\n"))

    def _count(self, n_bytes: int) -> None:
        """Count parsed bytes of the head, without the body bytes that may have arrived with them.

        Raises:
            ValueError: If the head is too large; the error stops the parser.
        """
        self._n_parsed += n_bytes
        if self._n_parsed > MAX_HEAD_BYTES:
            raise ValueError(self._n_parsed)

    def on_headers_complete(self) -> None:
        """Handle the end of the head; make sure that a response to HTTP/1.0 is not chunked."""
        self._is_in_head = False
        before = self.cycle
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0" and self.cycle is not before:
            _end_with_connection(self.cycle)

    def on_message_complete(self) -> None:
        """Handle the end of the body, after which the next head may follow."""
        super().on_message_complete()
        self._is_in_head, self._n_head_bytes, self._has_ended = True, 0, True

    def _refuse(self, problem: Problem) -> None:
        """Answer an invalid request with an error, and close the connection."""
        trace_id = uuid4().hex
        body = problem_response(problem, trace_id=trace_id).body
        head = (
            f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            f"{TRACE_HEADER.lower()}: {trace_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + bytes(body))
        self.transport.close()


def _end_with_connection(cycle: RequestResponseCycle) -> None:
    """Make uvicorn send a response of unknown length unchunked; the closed connection ends it."""
    send, is_open = cycle.send, False

    async def send_unchunked(message: Any) -> None:  # noqa: ANN401 - ASGI message
        nonlocal is_open
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            is_open = b"content-length" not in names
            cycle.chunked_encoding = False if is_open else None
        elif is_open:
            # Without a Content-Length, uvicorn expects 0 bytes, and raises an error if there are
            # more. So the expected number is set to the length of each message.
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    cycle.send = send_unchunked  # type: ignore[method-assign]


def _settings(app: ASGIApp, config: Config, *, lifespan: Literal["on", "off"]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # X-Forwarded-* headers are not used
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(config.gateway.shutdown_s),
    )


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an uncaught error without its message, which may hold text of a user."""
    del loop
    error = context.get("exception")
    kind = type(error).__name__ if error is not None else "no exception"
    log.error("%s (%s)", str(context.get("message", "")).partition(":")[0], kind)
