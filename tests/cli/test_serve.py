"""``groundwire serve`` as a process: its start, its keys, its end."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire.cli.serve import PACKAGES, describe
from groundwire.config import parse
from groundwire.gateway.keys import Keyring, Start
from tests.cli.conftest import invoke
from tests.gateway.audited import events_in
from tests.gateway.chats import request as chat_request
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Gate, Pause, Piece, Script, ScriptedUpstream, chunk, event

PATIENCE_S = 60.0
LISTENS = re.compile(r"^Listening on (http://\S+) ", re.MULTILINE)
KEY = re.compile(r"\bgw_[\w-]{43}\b")

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


class Gateway:
    """A gateway in a process of its own; :attr:`said` is what it wrote on standard error."""

    def __init__(self, *args: str, **environ: str) -> None:
        own = {k: v for k, v in os.environ.items() if not k.startswith("GROUNDWIRE_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "groundwire", "serve", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=own | environ | {"PYTHONUTF8": "1"},
        )
        self.said, self.printed = "", ""
        self._readers = [threading.Thread(target=read) for read in (self._read, self._read_out)]
        for each in self._readers:
            each.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said += line

    def _read_out(self) -> None:
        assert self._process.stdout is not None
        self.printed = self._process.stdout.read()

    def url(self) -> str:
        """Where it listens, once it does."""
        wait_for(lambda: bool(LISTENS.search(self.said)) or self._process.poll() is not None)
        found = LISTENS.search(self.said)
        assert found is not None, self.said
        return found[1]

    def tell(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self) -> int:
        """Its exit status, once it has ended."""
        status = self._process.wait(PATIENCE_S)
        for each in self._readers:
            each.join(PATIENCE_S)
        return status

    def kill(self) -> None:
        """End it for sure."""
        self._process.kill()
        self.end()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def gateway(*args: str, **environ: str) -> Iterator[Gateway]:
    started = Gateway(*args, **environ)
    try:
        yield started
    finally:
        started.kill()


class Upstream(BaseHTTPRequestHandler):
    """Lists no models; at once, or once it may."""

    may_answer = threading.Event()
    n_asked = 0
    seen: Sequence[str | None] = ()

    def do_GET(self) -> None:
        cls = type(self)
        cls.seen = (self.headers["Authorization"], self.headers["X-Groundwire-Key"])
        cls.n_asked += 1
        cls.may_answer.wait(PATIENCE_S)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b'{"data": []}')

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def upstream() -> Iterator[str]:
    """Where a server is that answers."""
    Upstream.may_answer.set()
    Upstream.n_asked, Upstream.seen = 0, ()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    Upstream.may_answer.set()
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE_S)


def authorized(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@posix
def test_the_first_start_prints_a_key_once_and_the_next_takes_it(
    upstream: str, tmp_path: Path
) -> None:
    args = ("--upstream", upstream, "--port", "0")
    environ = {"GROUNDWIRE_GATEWAY_DATA_DIR": str(tmp_path), "UPSTREAM_KEY": "sk-1"}
    with gateway(*args, "--upstream-key-env", "UPSTREAM_KEY", **environ) as first:
        url = first.url()
        (key,) = KEY.findall(first.said)
        assert fetch(f"{url}/v1/models", headers=authorized(key)).status == 200
        assert Upstream.seen == ("Bearer sk-1", None)
        assert fetch(f"{url}/v1/models").status == 401
        first.tell(signal.SIGTERM)
        assert first.end() == 0
        assert first.printed == ""
        assert "sk-1" not in first.said
    with gateway(*args, **environ) as second:
        url = second.url()
        assert "keys      the one of an earlier start, whose hash is in " in second.said
        assert not KEY.search(second.said)
        assert fetch(f"{url}/v1/models", headers=authorized(key)).status == 200
        second.tell(signal.SIGINT)
        assert second.end() == 0


@posix
def test_requests_in_flight_end_before_it_does(upstream: str, tmp_path: Path) -> None:
    Upstream.may_answer.clear()
    replies: list[Reply] = []
    with gateway(
        *("--upstream", upstream, "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        GROUNDWIRE_GATEWAY_API_KEY="gw_0000000000000000",
    ) as started:
        url, own = started.url(), authorized("gw_0000000000000000")
        assert "keys      of the configuration: default (1)" in started.said
        thread = threading.Thread(
            target=lambda: replies.append(fetch(f"{url}/v1/models", headers=own))
        )
        thread.start()
        wait_for(lambda: Upstream.n_asked == 1)
        started.tell(signal.SIGTERM)
        wait_for(lambda: "Stopping" in started.said)
        Upstream.may_answer.set()
        assert started.end() == 0
        thread.join(PATIENCE_S)
    assert [(each.status, each.body) for each in replies] == [(200, b'{"data": []}')]


@posix
def test_requests_that_are_late_are_cut_off_and_recorded(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("check: {action: block}\ngateway: {shutdown_s: 0.2}\n")
    body = {**chat_request(), "stream": True}
    with ScriptedUpstream() as upstream:
        word: list[Piece] = [Pause(0.002), event(chunk({"content": "It was. "}))]
        upstream.script(Script.sse([*word * 5_000, Gate()]))
        with gateway(
            *("--config", str(tmp_path / "c.yaml"), "--upstream", upstream.url, "--port", "0"),
            GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
            GROUNDWIRE_GATEWAY_API_KEY="gw_0000000000000000",
        ) as started:
            url, own = f"{started.url()}/v1/chat/completions", authorized("gw_0000000000000000")
            with httpx.stream("POST", url, json=body, headers=own, timeout=PATIENCE_S) as response:
                started.tell(signal.SIGTERM)
                with pytest.raises(httpx.RemoteProtocolError):
                    response.read()
            assert started.end() == 0
        assert "A stream failed" not in started.said
    (recorded,) = events_in(tmp_path / "audit.jsonl")
    payload = recorded["payload"]
    assert payload["disposition"] == "cancelled"
    assert not {"code", "scan_failed", "truncated"} & set(payload)


@posix
def test_options_win_over_variables_and_those_over_the_file(upstream: str, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "check.action: header\ngateway: {release: deferred, port: 1}\n"
        "upstreams: [{name: other, url: 'http://127.0.0.1:9/v1'}]\n",
        encoding="utf-8",
    )
    with gateway(
        *("--config", str(file), "--upstream", upstream, "--port", "0", "--local-demo"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        GROUNDWIRE_CHECK_ACTION="block",
    ) as started:
        url = started.url()
        assert f"upstream  default: {upstream}, all models\n" in started.said
        assert "checks    on, action block, released at the end, detector reader\n" in started.said
        assert "keys      none is needed" in started.said
        assert fetch(f"{url}/v1/models", headers=authorized("sk-9")).status == 200
        assert Upstream.seen == ("Bearer sk-9", None)
        assert fetch(f"{url}/v1/models", host="evil.example").status == 403


@posix
def test_a_model_that_is_not_there_ends_it_with_2(upstream: str, tmp_path: Path) -> None:
    with gateway(
        *("--upstream", upstream, "--port", "0", "--local-demo"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        GROUNDWIRE_DETECTOR_NAME="no-such-model",
    ) as started:
        assert started.end() == 2
        assert "error: There is no model 'no-such-model'." in started.said
        assert "Traceback" not in started.said


def refused(*args: str, **environ: str) -> str:
    result = invoke("serve", *args, environ=environ)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def test_without_an_upstream_it_says_how_to_name_one() -> None:
    assert "groundwire serve --upstream https://api.openai.com/v1" in refused()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--upstream", "api.openai.com"], "upstream.url = 'api.openai.com' is not possible."),
        (["--upstream", "http://a", "--port", "x"], "gateway.port = 'x' is not possible."),
        (["--upstream", "http://a", "--action", "blok"], "did you mean 'block'?"),
        (["--upstream", "http://a", "--release", "late"], "one of sentence, deferred"),
        (["--upstream", "http://a", "--upstream-key-env", "NO_SUCH"], "'NO_SUCH' is not set"),
        (["--upstream-key-env", "HOME"], "There is no upstream"),
        (["--upstream", "http://a", "--local-demo", "--host", "0.0.0.0"], "on this machine only"),
        (["--upstream", "http://a", "--host", "256.1.1.1"], "is no address of this machine"),
    ],
)
def test_what_cannot_be_is_said(args: list[str], problem: str, tmp_path: Path) -> None:
    said = " ".join(refused(*args, GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path)).split())
    assert problem in said
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_said_and_no_key_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(
            *("--upstream", "http://127.0.0.1:9/v1", "--port", str(port)),
            GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        )
    assert said == (
        f"error: Another program listens on port {port} of 127.0.0.1. End it, or choose another "
        "port: --port N, or --port 0 for any free one.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_stored_key_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{", encoding="utf-8")
    said = refused(
        *("--upstream", "http://127.0.0.1:9/v1", "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
    )
    assert "keys.json: the stored key cannot be read" in said


def test_the_key_of_a_file_is_not_sent_to_the_upstream_of_an_option(tmp_path: Path) -> None:
    from groundwire.cli.serve import with_options
    from groundwire.config import parse

    text = "upstream: {url: 'https://a/v1', api_key: sk-1}"
    config = with_options(parse(text, name="c.yaml"), {"upstream.url": "http://b/v1"})
    assert [(each.url, each.api_key) for each in config.upstreams] == [("http://b/v1", None)]
    same = with_options(parse(text, name="c.yaml"), {"upstream.url": "https://a/v1"})
    assert same.upstreams[0].api_key is not None


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.serve.PACKAGES", (*PACKAGES, "no_such_package"))
    assert refused("--upstream", "http://a") == (
        "error: The gateway needs the 'gateway' extra, which is not installed. "
        "Install it: pip install 'groundwire[gateway]'\n"
    )


def test_the_start_names_decisions_for_they_win_over_the_action() -> None:
    plugin = "{type: hallucination, configuration: {enabled: %s, hallucination_action: block}}"
    config = parse(
        "upstream: {url: 'http://127.0.0.1:9/v1'}\ndecisions:\n"
        f"  - {{name: facts, plugins: [{plugin % 'true'}]}}\n"
        f"  - {{name: poems, plugins: [{plugin % 'false'}]}}\n  - {{name: rest}}\n",
        name="groundwire.yaml",
    )
    start = Start(keyring=Keyring.of(config))
    lines = list(describe(config, start, address="http://127.0.0.1:1", is_local_demo=True))
    assert "          but for decisions: facts (block), poems (off)" in lines
