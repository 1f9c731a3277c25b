"""Serving an app for real: uvicorn in a thread, on a free port of the loopback interface."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from groundwire.config import Config
from groundwire.gateway.console.app import AdminPlane
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.server import (
    Beside,
    LimitedProtocol,
    Server,
    listen,
)

#: Longer than a start or an end takes on a busy machine; nothing waits this long if all is well.
PATIENCE_S = 60.0


class PromptServer(uvicorn.Server):
    """A server that ends within milliseconds once it is told to, where uvicorn takes a fifth of a
    second: it looks more often, and waits for connections only if there are any.
    """  # noqa: D205

    async def main_loop(self) -> None:
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        await self.lifespan.shutdown()


@contextmanager
def serving(app: Any, **settings: Any) -> Iterator[str]:  # noqa: ANN401 - any ASGI app
    """The base URL of an app while the block runs; when it ends, so does the server, for sure.

    Args:
        app: An ASGI app; its lifespan runs.
        settings: Of :class:`uvicorn.Config`, over ours.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    ours: dict[str, Any] = {
        "http": LimitedProtocol,
        "lifespan": "on",
        "log_config": None,
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": 5,
    }
    server = PromptServer(uvicorn.Config(app, **(ours | settings)))
    thread = threading.Thread(target=_run, args=(server, listener), daemon=True)
    thread.start()
    try:
        _wait_for_start(server, thread)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        if thread.is_alive():
            server.force_exit = True
            thread.join(PATIENCE_S)
        listener.close()
        assert not thread.is_alive(), "the server did not end"


class Planes:
    """A data plane and its admin plane, in one thread, as ``groundwire serve`` has them.

    Attributes:
        url: Of the data plane.
        admin_url: Of the admin plane.
    """

    def __init__(self, app: Any, config: Config, control: ControlPlane) -> None:  # noqa: ANN401
        """Start them.

        Args:
            app: The data plane.
            config: Whose ports are 0.
            control: What both share.
        """
        state = app.state
        admin = AdminPlane(control, readiness=state.readiness, metrics=state.metrics)
        (one,), (other,) = listen(config), listen(config, is_admin=True)
        self.url, self.admin_url = (
            f"http://127.0.0.1:{each.getsockname()[1]}" for each in (one, other)
        )
        beside = Beside(admin, config, [other], address="")
        self._server = Server(app, config, says=lambda _: None, address="", beside=beside)
        self._thread = threading.Thread(target=_run, args=(self._server, one), daemon=True)
        self._thread.start()
        _wait_for_start(beside, self._thread)

    def stop(self) -> None:
        """End both, in order."""
        self._server.should_exit = True
        self._thread.join(2 * PATIENCE_S)
        assert not self._thread.is_alive(), "the server did not end"


@contextmanager
def serving_both(app: Any, config: Config, control: ControlPlane) -> Iterator[Planes]:  # noqa: ANN401
    """A data plane and its admin plane, while the block runs."""
    planes = Planes(app, config, control)
    try:
        yield planes
    finally:
        planes.stop()


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    with suppress(SystemExit):  # an app that did not start; the waiting thread tells
        server.run(sockets=[listener])


def _wait_for_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not server.started:
        assert thread.is_alive(), "the app did not start; its log says why"
        assert time.monotonic() < deadline, f"the app did not start within {PATIENCE_S} s"
        time.sleep(0.005)
