"""Writers of an audit trail that are killed at random moments, and what they had said by then.

As a program it is told ``go N`` on its standard input, and starts a writer that says the number of
each event, from N on, once the log has promised what it promises: that the event is on disk
(``settle``), or that it is handed over (``write``). It says ``pid`` first, and ``end`` when the
writer is dead. Writers are forks, which need no time to import anything.
"""

import asyncio
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from groundwire.config import Config, parse
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.log import AuditLog
from tests.control.audit.trails import KEY, PATIENCE_S, event

#: Who ask at the same time.
N_WRITERS = 8
#: Between the numbers of two writers.
STRIDE = 1_000_000

_ROOT = Path(__file__).parents[3]


class Writers:
    """The program, from the outside."""

    def __init__(self, process: "subprocess.Popen[str]", *, seed: int, first: int) -> None:
        """Begin to listen."""
        self._process, self._chance = process, random.Random(seed)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._first = first
        threading.Thread(target=self._listen, daemon=True).start()

    def kill_one(self) -> list[int]:
        """Start a writer, and kill it somewhere on its way; the numbers that it had said."""
        self._tell(f"go {self._first}")
        self._first += STRIDE
        pid, said = int(self._hear().removeprefix("pid ")), list[int]()
        wanted = self._chance.choice(
            (0, 1, self._chance.randrange(50), self._chance.randrange(400))
        )
        while len(said) < wanted:
            said.append(int(self._hear()))
        # Somewhere between two of its steps, and not always at the end of one.
        time.sleep(self._chance.uniform(0, 0.3 if wanted == 0 else 0.005))
        os.kill(pid, signal.SIGKILL)
        while (line := self._hear()) != "end":
            said.append(int(line))
        return said

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        return self._lines.get(timeout=PATIENCE_S)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())


@contextmanager
def writers(environ: Mapping[str, str], *, seed: int, first: int = STRIDE) -> Iterator[Writers]:
    """A program whose writers have a configuration, and numbers from ``first`` on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.control.audit.killing"],
        cwd=_ROOT,
        env={**os.environ, "GROUNDWIRE_AUDIT_KEY": KEY.decode(), **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Writers(process, seed=seed, first=first)
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


# The program.


def main() -> None:
    """Start writers until nobody asks for more."""
    config = parse("", name="", environ=os.environ)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _say(f"pid {os.getpid()}")
            asyncio.run(_write(config, int(line.split()[1])))
        os.waitpid(pid, 0)
        _say("end")


async def _write(config: Config, first: int) -> None:
    log, numbers = audit_log(config, is_stored=True), count(first)
    await log.open()
    is_settled = config.audit.durability == "before_response"
    await asyncio.gather(*(_ask(log, numbers, is_settled=is_settled) for _ in range(N_WRITERS)))


async def _ask(log: AuditLog, numbers: Iterator[int], *, is_settled: bool) -> None:
    for number in numbers:
        own = event(number, detail={"n": number} if number % 2 else None)
        if is_settled:
            if not await log.settle([own]):
                continue  # nothing was promised
        else:
            await log.write(own)
            await asyncio.sleep(0)
        _say(str(number))


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # whole, and at once: what is said must not be lost


if __name__ == "__main__":
    main()
