"""Runs the servers of the demo in threads, on free ports of the loopback interface."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from groundwire.config import Config, parse
from groundwire.control.keys import new_key
from groundwire.errors import GroundwireError
from groundwire.gateway.app import create_app
from groundwire.gateway.console.app import AdminPlane
from groundwire.gateway.control import ControlPlane
from groundwire.gateway.server import Beside, Server, listen

#: Limit on the seconds that a server takes to start, and on the seconds that it takes to stop.
PATIENCE_S = 60.0


class DemoStartError(GroundwireError):
    """A server of the demo is not ready in time, or ends before it is ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGateway:
    """A running gateway of the demo.

    Attributes:
        name: The name of its configuration.
        yaml: The text of its configuration.
        url: Its base URL, without ``/v1``.
        audit: The file of its audit log.
    """

    name: str
    yaml: str
    url: str
    audit: Path


class Gateways:
    """The gateways of the demo, each of which is started when it is first needed.

    Attributes:
        key: The key that the gateways from :meth:`get` accept.
        upstream: The base URL of the model, with ``/v1``.
        running: The gateways that :meth:`get` has started, by name.
    """

    def __init__(self, stack: ExitStack, model: ASGIApp, settings: Mapping[str, str]) -> None:
        """Start the model.

        Args:
            stack: The stack that stops all started servers when it is closed.
            model: The upstream of the gateways.
            settings: Name of a configuration → its YAML.
        """
        self._stack, self._settings = stack, settings
        self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="groundwire-demo-")))
        self.key, self.upstream = new_key(), "http://127.0.0.1:9/v1"
        self.running: dict[str, RunningGateway] = {}
        self.upstream = f"{stack.enter_context(_serving(model, self._config('model')))}/v1"

    def get(self, name: str) -> RunningGateway:
        """Return the gateway whose configuration has this name; start the gateway if necessary.

        Raises:
            Exception: If the gateway cannot be started; mostly a ``GroundwireError``.
        """
        if name not in self.running:
            config, failures = self._config(name), list[Exception]()
            app = create_app(config, on_failure=failures.append)
            url = self._stack.enter_context(_serving(app, config, failures))
            self.running[name] = RunningGateway(
                name=name, yaml=self._settings[name], url=url, audit=Path(str(config.audit.path))
            )
        return self.running[name]

    def open_console(self, yaml: str) -> tuple[str, str]:
        """Start a gateway with a console that needs no sign-in, for this machine only.

        Returns:
            The base URL of the gateway, without ``/v1``, and the URL of the console.

        Raises:
            Exception: If the gateway cannot be started; mostly a ``GroundwireError``.
        """
        environ = self._environ | {"GROUNDWIRE_ADMIN_PORT": "0"}
        config, failures = parse(yaml, name="console.yaml", environ=environ), list[Exception]()
        control = ControlPlane(config, is_local_demo=True)
        app = create_app(config, control=control, on_failure=failures.append)
        plane = AdminPlane(control, readiness=app.state.readiness, metrics=app.state.metrics)
        (listener,) = listen(config, is_admin=True, is_local_demo=True)
        self._stack.callback(listener.close)
        address = f"http://{config.admin.host}:{listener.getsockname()[1]}"
        beside = Beside(plane, config, [listener], address=address)
        url = self._stack.enter_context(_serving(app, config, failures, beside=beside))
        return url, f"{address}/console"

    @property
    def _environ(self) -> dict[str, str]:
        # The user's own environment is left out, so that the demo is the same on every machine.
        return {
            "GROUNDWIRE_UPSTREAM_URL": self.upstream,
            "GROUNDWIRE_GATEWAY_PORT": "0",
            "GROUNDWIRE_GATEWAY_SHUTDOWN_S": "2",
            "GROUNDWIRE_GATEWAY_DATA_DIR": str(self._folder),
        }

    def _config(self, name: str) -> Config:
        environ = self._environ | {
            "GROUNDWIRE_GATEWAY_API_KEY": self.key,
            "GROUNDWIRE_AUDIT_PATH": str(self._folder / f"{name}.audit.jsonl"),
        }
        return parse(self._settings.get(name, ""), name=name, environ=environ)


@contextmanager
def _serving(
    app: ASGIApp,
    config: Config,
    failures: Sequence[Exception] = (),
    *,
    beside: Beside | None = None,
) -> Iterator[str]:
    """Serve an app while the block runs, and yield its base URL.

    Raises:
        Exception: The first error in ``failures``, to which the app adds errors while it starts.
        DemoStartError: If the server is not ready in time, or ends before it is ready.
    """
    (listener,) = listen(config)
    address = f"http://{config.gateway.host}:{listener.getsockname()[1]}"
    server = Server(app, config, says=lambda _: None, address=address, beside=beside)
    thread = threading.Thread(target=server.run, args=([listener],), name="demo", daemon=True)
    thread.start()
    deadline = monotonic() + PATIENCE_S
    try:
        while not _is_ready(address):
            if failures:
                raise failures[0]
            if monotonic() > deadline or not thread.is_alive():
                raise DemoStartError(
                    f"The demo's server at {address} did not answer within {PATIENCE_S:g} s. Try "
                    "again when this machine has less to do; groundwire doctor says whether "
                    "checks work."
                )
            sleep(0.02)
        yield address
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()


def _is_ready(address: str) -> bool:
    with (
        suppress(HTTPException, OSError),
        closing(HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_S)) as connection,
    ):
        connection.request("GET", "/readyz")
        return connection.getresponse().status in (200, 404)  # the fake model answers 404
    return False
