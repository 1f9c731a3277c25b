"""The servers of the demo: each in a thread, on a free port of the loopback interface."""

import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from groundwire.config import Config, parse
from groundwire.control.keys import PREFIX
from groundwire.errors import GroundwireError
from groundwire.gateway.app import create_app
from groundwire.gateway.demo.model import ScriptedModel
from groundwire.gateway.server import Server, listen

#: A start takes a second; this long is only waited if something is wrong.
PATIENCE_S = 60.0


class DemoStartError(GroundwireError):
    """A server of the demo does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGateway:
    """A gateway that runs.

    Attributes:
        name: Of its configuration.
        yaml: Its configuration.
        url: Its address, without ``/v1``.
        audit: Its audit log.
    """

    name: str
    yaml: str
    url: str
    audit: Path


class Gateways:
    """The gateways of the demo, each started when it is first needed.

    Attributes:
        key: The key that all of them take.
        upstream: The base URL of the model, with ``/v1``.
        running: Those that were started, by name.
    """

    def __init__(self, stack: ExitStack, model: ScriptedModel, settings: Mapping[str, str]) -> None:
        """Start the model.

        Args:
            stack: Ends all that is started.
            model: The upstream of the gateways.
            settings: Name of a configuration → its YAML.
        """
        self._stack, self._settings = stack, settings
        self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="groundwire-demo-")))
        self.key, self.upstream = f"{PREFIX}{secrets.token_urlsafe(32)}", "http://127.0.0.1:9/v1"
        self.running: dict[str, RunningGateway] = {}
        self.upstream = f"{stack.enter_context(_serving(model.app, self._config('model')))}/v1"

    def get(self, name: str) -> RunningGateway:
        """The gateway with the configuration of this name.

        Raises:
            GroundwireError: If it cannot be started.
        """
        if name not in self.running:
            config, failures = self._config(name), list[Exception]()
            app = create_app(config, on_failure=failures.append)
            url = self._stack.enter_context(_serving(app, config, failures))
            self.running[name] = RunningGateway(
                name=name, yaml=self._settings[name], url=url, audit=Path(str(config.audit.path))
            )
        return self.running[name]

    def _config(self, name: str) -> Config:
        # Nothing of the user's own environment: what the demo shows is the same everywhere.
        environ = {
            "GROUNDWIRE_UPSTREAM_URL": self.upstream,
            "GROUNDWIRE_GATEWAY_API_KEY": self.key,
            "GROUNDWIRE_GATEWAY_PORT": "0",
            "GROUNDWIRE_GATEWAY_SHUTDOWN_S": "2",
            "GROUNDWIRE_GATEWAY_DATA_DIR": str(self._folder),
            "GROUNDWIRE_AUDIT_PATH": str(self._folder / f"{name}.audit.jsonl"),
        }
        return parse(self._settings.get(name, ""), name=name, environ=environ)


@contextmanager
def _serving(app: ASGIApp, config: Config, failures: Sequence[Exception] = ()) -> Iterator[str]:
    """The base URL of an app, which answers while the block runs.

    Raises:
        DemoStartError: If it does not answer.
        Exception: The first of ``failures``, which may be added to while it starts.
    """
    (listener,) = listen(config)
    address = f"http://{config.gateway.host}:{listener.getsockname()[1]}"
    server = Server(app, config, says=lambda _: None, address=address)
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
    try:
        return fetch(f"{address}/readyz")[0] in (200, 404)  # the model has no probe
    except (HTTPException, OSError):
        return False


def fetch(url: str) -> tuple[int, str]:
    """The status and the text of an open address, such as the metrics.

    Raises:
        OSError: If the connection breaks off.
        HTTPException: If what comes is no HTTP.
    """
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    try:
        connection.request("GET", parts.path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
