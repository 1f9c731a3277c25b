"""Commands open no files and sockets but those that they need, as ``strace`` shows.

They may read the files that they are given, the package, and the interpreter with its libraries.
They may write to the folder that is named to them, and connect to the upstream that is named.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.gateway.chats import request as chat_request
from tests.gateway.client import fetch
from tests.gateway.wire import Script, ScriptedUpstream, completion, eventually

KEY = "gw_" + "k" * 43
SOURCE, ANSWER = "The tower is 330 metres tall.", "The tower is 500 metres tall."
#: Folders of the system, which any program reads: libraries, time zones, data about the machine.
SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev")

#: A system call in the log. If calls of other threads interrupt it, its result is on another line,
#: and is not read.
_CALL = re.compile(
    r"^\d+ +(?P<name>\w+)\((?P<arguments>.*?)"
    r"(?: <unfinished \.\.\.>|\) += (?P<result>-?\d+|\?).*)$"
)
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_OPENING = {"open", "openat", "openat2", "creat"}
_CHANGING = {"mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink"}
_CHANGING |= {"symlinkat", "unlink", "unlinkat", "rmdir", "truncate", "chmod", "fchmodat", "mknod"}
_CALLING = {"connect", "sendto", "sendmsg"}


def _can_trace() -> bool:
    strace = shutil.which("strace")
    command = [strace or "strace", "-f", "-qq", "-o", os.devnull, "true"]
    return strace is not None and subprocess.run(command, check=False).returncode == 0


pytestmark = [
    pytest.mark.merge,
    pytest.mark.skipif(not _can_trace(), reason="strace is not there, or may not trace processes"),
]


@dataclass(frozen=True)
class Room:
    """The folders of a command under test: an empty home, and its working folder."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @contextmanager
    def traced(self, *args: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command, and write its system calls to a file."""
        own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        own |= {"HOME": str(self.home), "TMPDIR": str(self.work), "PYTHONUTF8": "1"}
        calls = ["strace", "-f", "-qq", "-e", "trace=%file,%network", "-o", f"{self.folder}/calls"]
        process = subprocess.Popen(
            [*calls, sys.executable, "-B", "-m", "groundwire", *args],
            cwd=self.work,
            env=own | environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *args: str, told: str = "") -> str:
        """Run a command to its end, and return what it printed."""
        with self.traced(*args) as process:
            printed, said = process.communicate(told, timeout=180)
        assert process.returncode in (0, 1), said
        return printed

    def calls(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the name of each system call, its arguments, and whether it succeeded."""
        for line in (self.folder / "calls").read_text(errors="replace").splitlines():
            if found := _CALL.match(line):
                yield found["name"], found["arguments"], not (found["result"] or "").startswith("-")

    def read(self) -> set[Path]:
        """Return the files that were opened, except those of the interpreter and of the package."""
        found = {
            self.work / _PATH.findall(arguments)[0]
            for name, arguments, succeeded in self.calls()
            if name in _OPENING and succeeded
        }
        own = [*SYSTEM, sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)]
        return {path for path in found if not any(path.is_relative_to(each) for each in own)}

    def written(self) -> set[Path]:
        """Return the files that were made, changed or removed, or that the command tried to."""
        return {
            self.work / path
            for name, arguments, _ in self.calls()
            if name in _CHANGING
            or (name in _OPENING and re.search(r"O_(WRONLY|RDWR|CREAT)", arguments))
            for path in _PATH.findall(arguments)
        } - {Path(os.devnull), Path("/dev/tty")}

    def ports(self, names: Sequence[str]) -> set[int]:
        """Return the internet ports in system calls of these names."""
        return {
            int(port)
            for name, arguments, _ in self.calls()
            if name in names
            for port in _PORT.findall(arguments)
        }

    def require_untouched(self) -> None:
        """Fail if the home is not empty, or the command connected or listened to a port."""
        assert list(self.home.iterdir()) == []
        assert self.ports([*_CALLING, "bind"]) == set()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path)
    made.home.mkdir()
    made.work.mkdir()
    (made.work / "facts.txt").write_text(SOURCE, encoding="utf-8")
    return made


def test_a_check_reads_its_source_and_writes_nothing(room: Room) -> None:
    printed = room.run("check", "--source-file", "facts.txt", "--answer", ANSWER, "--json")
    assert json.loads(printed)["outcome"] == "hallucinated"
    assert room.read() - {room.work} == {room.work / "facts.txt"}
    assert room.written() == set()
    room.require_untouched()


def test_an_evaluation_reads_its_rows_and_writes_its_results(room: Room) -> None:
    row = {"id": "1", "sources": [SOURCE], "answer": ANSWER, "spans": [{"start": 13, "end": 23}]}
    (room.work / "rows.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    room.run("evaluate", "--data", "rows.jsonl", "--output", "results")
    ours = room.read() | room.written()
    assert all(path.is_relative_to(room.work) for path in ours)
    assert {path.relative_to(room.work).parts[0] for path in room.written()} == {"results"}
    room.require_untouched()


@pytest.mark.nightly
def test_the_tools_for_agents_write_nothing(room: Room) -> None:
    asked = {"sources": [{"id": "S0", "text": SOURCE}], "answer": ANSWER}
    own: dict[str, object] = {"protocolVersion": "2025-06-18", "capabilities": {}}
    messages: list[dict[str, object]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": own | {"clientInfo": {"name": "a", "version": "1"}},
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "check_answer", "arguments": asked}},
    ]
    with room.traced("mcp") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for each in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(60) == 0
    assert "hallucinated" in json.dumps(replies[1])
    assert room.read() <= {room.work}
    assert room.written() == set()
    room.require_untouched()


def test_the_gateway_writes_to_its_folder_and_talks_to_its_upstream(room: Room) -> None:
    data = room.work / "data"
    with ScriptedUpstream() as upstream:
        upstream.script(Script.json(completion("The Eiffel Tower was built in 1950.")))
        with room.traced(
            *("serve", "--upstream", upstream.url, "--port", "0", "--admin-port", "0"),
            GROUNDWIRE_GATEWAY_DATA_DIR=str(data),
            GROUNDWIRE_GATEWAY_API_KEY=KEY,
        ) as process:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            url = next(
                found[1] for line in lines if (found := re.match(r"Listening on (\S+)", line))
            )
            eventually(lambda: fetch(f"{url}/readyz").status == 200, within_s=120)
            own = {"Authorization": f"Bearer {KEY}"}
            reply = fetch(f"{url}/v1/chat/completions", data=chat_request(), headers=own)
            assert reply.status == 200
            child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            os.kill(int(child), signal.SIGTERM)
            for _ in lines:
                pass
            assert process.wait(60) == 0
        upstreams_port = urlsplit(upstream.url).port
    ours = room.read() | room.written()
    assert {path for path in ours if not path.is_relative_to(data)} <= {room.work}
    assert list(room.home.iterdir()) == []
    assert room.ports(sorted(_CALLING)) == {upstreams_port}
    assert room.ports(["bind"]) == {0}
