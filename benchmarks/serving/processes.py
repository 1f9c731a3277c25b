"""Servers in processes of their own, on ports of the loopback interface."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.client import Client

HERE = Path(__file__).parent
#: The only key of the gateways here.
KEY = "gw_" + "b" * 43
_START_S, _END_S = 90.0, 20.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        name: What tables call it.
        port: Where it listens.
        pid: Of its process.
        key: What it wants to see.
    """

    name: str
    port: int
    pid: int
    key: str | None = None

    def client(self) -> Client:
        """A new connection."""
        return Client(self.port, key=self.key)

    def rss_mb(self) -> float:
        """Its resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text("utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return round(int(line.split()[1]) * 1024 / 1e6, 1)
        raise OSError(f"process {self.pid} has ended")

    def n_files(self) -> int:
        """Its open file descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - names alone are wanted

    def n_threads(self) -> int:
        """Its threads."""
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208

    def cpu_s(self) -> float:
        """Processor seconds that it took."""
        stat = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def upstream() -> Iterator[Server]:
    """The scripted upstream."""
    port = _free_port()
    command = [sys.executable, str(HERE / "upstream.py"), str(port)]
    with _running("direct", command, port, path="/v1/models", folder=None) as server:
        yield server


@contextmanager
def gateway(
    name: str, behind: Server, folder: Path, settings: Mapping[str, Any] | None = None
) -> Iterator[Server]:
    """``groundwire serve`` before an upstream.

    Args:
        name: What tables call it.
        behind: The upstream.
        folder: For its files.
        settings: Sections of its configuration, over those of the benchmark.
    """
    port, own = _free_port(), folder / name.replace(" ", "-").replace(",", "")
    own.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {
        "gateway": {"port": port, "data_dir": str(own)},
        "admin": {"port": 0},  # several gateways run at a time
        "upstream": {"url": f"http://127.0.0.1:{behind.port}/v1"},
        "tenants": {"default": {"keys": [KEY]}},
        "audit": {"path": str(own / "audit.jsonl")},
    }
    for section, values in (settings or {}).items():
        config[section] = {**config.get(section, {}), **values}
    file = own / "groundwire.yaml"
    file.write_text(json.dumps(config), "utf-8")
    command = [sys.executable, "-m", "groundwire", "serve", "--config", str(file)]
    with _running(name, command, port, path="/readyz", folder=own, key=KEY) as server:
        yield server


@contextmanager
def litellm(command: Path, behind: Server, folder: Path) -> Iterator[Server]:
    """LiteLLM's proxy before an upstream: one worker, a master key, no database, nothing logged.

    Args:
        command: ``litellm`` of an environment of its own.
        behind: The upstream.
        folder: For its files.
    """
    port, own = _free_port(), folder / "litellm"
    own.mkdir(parents=True, exist_ok=True)
    to = {
        "model": "openai/scripted-1",
        "api_base": f"http://127.0.0.1:{behind.port}/v1",
        "api_key": "none",
    }
    key = f"sk-{secrets.token_hex(32)}"  # it starts with none, and with no weak one
    config = {
        "model_list": [{"model_name": "scripted-1", "litellm_params": to}],
        "litellm_settings": {"telemetry": False},
        "general_settings": {"master_key": key},
    }
    file = own / "config.yaml"
    file.write_text(json.dumps(config), "utf-8")
    arguments = ["--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    full = [str(command), *arguments, "--num_workers", "1"]
    path = "/health/liveliness"
    with _running("LiteLLM", full, port, path=path, folder=own, key=key) as server:
        yield server


def litellm_version(command: Path) -> str:
    """The version that is installed beside a command."""
    python = command.parent / "python"
    code = "from importlib.metadata import version; print(version('litellm'))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@contextmanager
def _running(
    name: str,
    command: list[str],
    port: int,
    *,
    path: str,
    folder: Path | None,
    key: str | None = None,
) -> Iterator[Server]:
    with ExitStack() as stack:
        log: Any = subprocess.DEVNULL
        if folder is not None:
            log = stack.enter_context((folder / "log.txt").open("wb"))
        environment = {**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        stack.callback(_end, process)
        _wait(process, port, path, folder)
        yield Server(name, port, process.pid, key)


def _wait(process: "subprocess.Popen[bytes]", port: int, path: str, folder: Path | None) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError), Client(port) as client:
            if client.get(path).status == 200:
                return
        time.sleep(0.1)
    said = "" if folder is None else (folder / "log.txt").read_text("utf-8", "replace")[-2000:]
    raise SystemExit(f"{process.args!r} did not start within {_START_S:g} s.\n{said}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
