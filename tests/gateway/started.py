"""A host's own process, on a port of the loopback interface."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

#: A host that starts on a busy machine needs no longer; nothing waits this long if all is well.
PATIENCE_S = 120.0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def started(
    command: Sequence[str],
    port: int,
    *,
    log: Path,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[None]:
    """A process that listens on a port while the block runs; it ends with the block.

    Args:
        command: Starts the process.
        port: Where it will listen.
        log: Gets what the process writes.
        environ: Variables that the process has beside ours.
        folder: Where the process runs.
    """
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environ or {})},
            cwd=folder,
        )
        try:
            _wait_until_it_listens(process, port, log)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-4000:]
            time.sleep(0.05)
        else:
            return
