"""The servers of the demo: each in a thread, on a free port of the loopback interface."""

import secrets
import threading
from collections.abc import Iterator, Sequence
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
from groundwire.gateway.demo.settings import SETTINGS
from groundwire.gateway.server import Server, listen

#: A start takes a second; nothing waits this long if all is well.
PATIENCE_S = 60.0
_SHUTDOWN_S = 2.0


class DemoStartError(GroundwireError):
    """A server of the demo does not answer."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address

    def __str__(self) -> str:
        return (
            f"The demo's server at {self.address} did not answer within {PATIENCE_S:g} s. Try "
            "again when this machine has less to do; groundwire doctor says whether checks work."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGateway:
    """A gateway that runs.

    Attributes:
        name: Of its configuration, in :data:`.settings.SETTINGS`.
        url: Where it is, without ``/v1``.
        audit: Its audit log.
    """

    name: str
    url: str
    audit: Path


class Gateways:
    """The gateways of the demo, each started when it is first needed.

    Attributes:
        key: What all of them take as a key.
        upstream: The base URL of the model, with ``/v1``.
    """

    def __init__(self, stack: ExitStack, model: ScriptedModel) -> None:
        """Start the model.

        Args:
            stack: Ends all that is started.
            model: What the gateways ask.
        """
        self._stack, self._running = stack, dict[str, RunningGateway]()
        self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="groundwire-demo-")))
        self.key = f"{PREFIX}{secrets.token_urlsafe(32)}"
        self.upstream = ""
        url = stack.enter_context(_serving(model.app, self._config("model"), probe="/v1/models"))
        self.upstream = f"{url}/v1"

    @property
    def running(self) -> tuple[RunningGateway, ...]:
        """Those that were started, in order."""
        return tuple(self._running.values())

    def get(self, name: str) -> RunningGateway:
        """The gateway with the configuration of this name.

        Raises:
            GroundwireError: If it cannot be started.
        """
        if name not in self._running:
            config, failures = self._config(name), list[Exception]()
            app = create_app(config, on_failure=failures.append)
            url = self._stack.enter_context(
                _serving(app, config, probe="/readyz", failures=failures)
            )
            audit = Path(str(config.audit.path))
            self._running[name] = RunningGateway(name=name, url=url, audit=audit)
        return self._running[name]

    def _config(self, name: str) -> Config:
        # Nothing of the user's own environment: what the demo shows is the same everywhere.
        environ = {
            **({"GROUNDWIRE_UPSTREAM_URL": self.upstream} if self.upstream else {}),
            "GROUNDWIRE_GATEWAY_API_KEY": self.key,
            "GROUNDWIRE_GATEWAY_PORT": "0",
            "GROUNDWIRE_GATEWAY_SHUTDOWN_S": str(_SHUTDOWN_S),
            "GROUNDWIRE_GATEWAY_DATA_DIR": str(self._folder),
            "GROUNDWIRE_AUDIT_PATH": str(self._folder / f"{name}.audit.jsonl"),
        }
        return parse(SETTINGS.get(name, ""), name=name, environ=environ)


@contextmanager
def _serving(
    app: ASGIApp, config: Config, *, probe: str, failures: Sequence[Exception] = ()
) -> Iterator[str]:
    """The base URL of an app, which answers while the block runs.

    Raises:
        DemoStartError: If it does not answer.
        Exception: What stands in ``failures``, which may come while it starts.
    """
    (listener,) = listen(config)
    address = f"http://{config.gateway.host}:{listener.getsockname()[1]}"
    server = Server(app, config, says=lambda _: None, address=address)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="demo", daemon=True
    )
    thread.start()
    try:
        _wait_for_answer(address, probe, thread, failures)
        yield address
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()


def _wait_for_answer(
    address: str, probe: str, thread: threading.Thread, failures: Sequence[Exception]
) -> None:
    deadline = monotonic() + PATIENCE_S
    while not _answers(address, probe):
        if failures:
            raise failures[0]
        if monotonic() > deadline or not thread.is_alive():
            raise DemoStartError(address)
        sleep(0.02)


def _answers(address: str, probe: str) -> bool:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_S)
    try:
        connection.request("GET", probe)
        return connection.getresponse().status == 200
    except (HTTPException, OSError):
        return False
    finally:
        connection.close()
