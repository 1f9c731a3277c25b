"""``groundwire mcp`` as a process, over its standard input and output."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

pytest.importorskip("mcp_types", reason="needs the mcp extra")

from mcp import StdioServerParameters

from tests.mcp.agent import PATIENCE_S, SPANS, Agent, in_both_modes, talk, text_of

pytestmark = pytest.mark.merge

OWN = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDWIRE_")}
COMMAND = [sys.executable, "-m", "groundwire", "mcp"]

#: A server whose tools, and the libraries below them, write to standard output wherever they can.
NOISY = """
import ctypes, logging, os, subprocess, sys, warnings
from groundwire.cli import main
import groundwire.mcp.watched as watched
print("while it is imported")
own = watched.ReportingVerifier.judge
def judge(self, questions):
    print("by Python")
    sys.stdout.write("without a newline")
    sys.__stdout__.write("by the first stdout\\n")
    sys.__stdout__.flush()
    os.write(1, b"to the descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
    libc = ctypes.CDLL(None)
    libc.puts(b"by native code")
    libc.fflush(None)
    warnings.warn("a warning")
    logging.getLogger("library").warning("a log line")
    logging.getLogger("library").addHandler(logging.StreamHandler(sys.stdout))
    return own(self, questions)
watched.ReportingVerifier.judge = judge
main(["mcp"])
"""
NOISE = (
    *("by Python", "without a newline", "by the first stdout", "to the descriptor"),
    *("by a child", "by native code", "a warning", "a log line"),
)


def server(*args: str) -> StdioServerParameters:
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *args], env=OWN)


def message(id_: int, method: str, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call(id_: int, tool: str, **arguments: object) -> dict[str, Any]:
    return message(id_, "tools/call", name=tool, arguments=arguments, _meta={"progressToken": id_})


HELLO = [
    message(
        0,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


class Process:
    """The server, and the lines it writes."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            env=OWN | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, *lines: object) -> None:
        assert self.process.stdin is not None
        for line in lines:
            text = line if isinstance(line, str) else json.dumps(line)
            self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answers(self, until: int) -> list[dict[str, Any]]:
        """Everything it writes, each line as JSON, up to the answer to a request."""
        found: list[dict[str, Any]] = []
        while not found or found[-1].get("id") != until:
            found.append(json.loads(self.line()))
        return found

    def leave(self) -> tuple[str, str]:
        """Go away, as a client does; with the rest of what was written."""
        rest = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0
        return rest


@in_both_modes
def test_an_agent_starts_the_server_and_verifies_with_it(mode: str, tmp_path: Path) -> None:
    (tmp_path / "auth.md").write_text("Tokens last for 60 minutes.\n")

    async def conversation(agent: Agent) -> None:
        assert len((await agent.client.list_tools()).tools) == 9
        await agent.data("add_file_span", path="auth.md", start_line=1, end_line=1)
        answer = "Tokens last for 60 minutes. [S0] Auth reads JWT_ISSUER. [A]"
        data = await agent.data(
            "detect_hallucination", answer=answer, spans=SPANS[:1], use_held_spans=True
        )
        assert data["flagged"] is False
        assert data["span_origins"] == {"S0": "held_file", "A": "caller"}
        result = await agent.call(
            "check_answer", answer="The tower is 500 m tall.", sources=["The tower is 330 m tall."]
        )
        assert text_of(result).startswith("hallucinated")

    talk(server("--root", str(tmp_path)), conversation, mode=mode)


def test_nothing_but_the_protocol_is_on_standard_output() -> None:
    answer = "Tokens last for 60 minutes. [B]"
    with Process([sys.executable, "-c", NOISY]) as server:
        server.ask(*HELLO, call(1, "detect_hallucination", answer=answer, spans=SPANS))
        # That was before the command began, and is the test's own.
        assert server.line() == "while it is imported\n"
        answers = server.answers(until=1)
        rest, said = server.leave()
    assert all(each["jsonrpc"] == "2.0" for each in answers)
    assert answers[-1]["result"]["structuredContent"]["flagged"] is False
    assert rest == ""
    for line in NOISE:
        assert line in said


def test_what_is_no_message_ends_nothing() -> None:
    with Process(COMMAND) as server:
        server.ask(
            *HELLO,
            "this is no JSON",
            "{}",
            "[]",
            '{"jsonrpc": "2.0"}',
            call(1, "add_span", text="Caf\u00e9 \U0001f600 \u2028 it is."),
        )
        server.answers(until=1)
        server.ask(
            call(2, "get_span", sid="S0"),
            call(3, "add_span", text=5),
            {**call(4, "get_span"), "params": {"name": "get_span", "arguments": "S0"}},
        )
        by_id: dict[Any, dict[str, Any]] = {}
        while not {2, 3, 4} <= by_id.keys():
            answer = json.loads(server.line())
            by_id[answer["id"]] = answer
        rest, said = server.leave()
    span = by_id[2]["result"]["structuredContent"]["span"]
    assert span["text"] == "Caf\u00e9 \U0001f600 \u2028 it is."
    assert by_id[3]["result"]["isError"] is True
    assert by_id[4]["error"]["code"] == -32602
    assert rest == ""
    assert said.splitlines() == [
        "verifier  local: nothing leaves this machine",
        "evidence  held; no files",
        "Serving on standard input and output.",
    ]


def test_a_client_that_goes_away_in_the_middle_of_a_call_is_not_waited_for() -> None:
    spans = [{"sid": f"S{n}", "text": f"Stop {n} opened in {1000 + n}. " * 50} for n in range(99)]
    answer = " ".join(f"Stop {n} opened in {1000 + n}. [S{n}]" for n in range(99))
    with Process(COMMAND) as server:
        asked = call(1, "detect_hallucination", answer=answer, spans=spans, max_claims=99)
        server.ask(*HELLO, asked)
        server.answers(until=0)
        server.leave()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("told", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_it_ends_at_once_when_it_is_told_to(told: signal.Signals, status: int) -> None:
    with Process(COMMAND) as server:
        server.ask(*HELLO)
        server.answers(until=0)
        server.process.send_signal(told)
        assert server.process.wait(PATIENCE_S) == status
