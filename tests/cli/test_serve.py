"""``groundwire serve`` as a process: its start, its keys, its end."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire.cli.serve import describe, with_upstream
from groundwire.cli.settings import PACKAGES
from groundwire.config import parse
from groundwire.control.store import Store
from groundwire.policy.policy import Action
from tests.cli.conftest import invoke
from tests.gateway.admin.plane import recorded as recorded_in
from tests.gateway.chats import request as chat_request
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Gate, Pause, Piece, Script, ScriptedUpstream, chunk, event

pytestmark = pytest.mark.merge

PATIENCE_S = 60.0
LISTENS = re.compile(r"^Listening on (http://\S+) ", re.MULTILINE)
ADMINS = re.compile(r"^The admin plane listens on (http://\S+)\.$", re.MULTILINE)
KEY = re.compile(r"\bgw_[\w-]{43}\b")
ADMIN_KEY = re.compile(r"\bgwa_[\w-]{43}\b")

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


class Gateway:
    """A gateway in a process of its own; :attr:`said` is what it wrote on standard error.

    That is a terminal if ``is_terminal``.
    """

    def __init__(self, *args: str, is_terminal: bool = False, **environ: str) -> None:
        ours, theirs = os.openpty() if is_terminal else os.pipe()
        own = {k: v for k, v in os.environ.items() if not k.startswith("GROUNDWIRE_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "groundwire", "serve", *args],
            stdout=subprocess.PIPE,
            stderr=theirs,
            encoding="utf-8",
            env=own | {"GROUNDWIRE_ADMIN_PORT": "0", "PYTHONUTF8": "1"} | environ,
        )
        os.close(theirs)
        self._errors = os.fdopen(ours, "rb", buffering=0)
        self.said, self.printed = "", ""
        self._readers = [threading.Thread(target=read) for read in (self._read, self._read_out)]
        for each in self._readers:
            each.start()

    def _read(self) -> None:
        with suppress(OSError):  # so a terminal ends
            while piece := self._errors.read(65_536):
                self.said += piece.decode().replace("\r\n", "\n")

    def _read_out(self) -> None:
        assert self._process.stdout is not None
        self.printed = self._process.stdout.read()

    def url(self) -> str:
        """Where it listens, once it does."""
        wait_for(lambda: bool(LISTENS.search(self.said)) or self._process.poll() is not None)
        found = LISTENS.search(self.said)
        assert found is not None, self.said
        return found[1]

    def admin_url(self) -> str:
        """Where its admin plane listens, once it does."""
        self.url()
        found = ADMINS.search(self.said)
        assert found is not None, self.said
        return found[1]

    def says(self, text: str) -> bool:
        """Whether it has said something, or says it soon: a database that is slow to open makes
        what is known of keys come after the line that it listens."""  # noqa: D205, D209
        wait_for(lambda: text in self.said or self._process.poll() is not None)
        return text in self.said

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
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def gateway(*args: str, is_terminal: bool = False, **environ: str) -> Iterator[Gateway]:
    started = Gateway(*args, is_terminal=is_terminal, **environ)
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


def recorded(folder: Path) -> list[dict[str, Any]]:
    """What the database of a folder has of the audit trail."""
    return recorded_in(f"sqlite:///{folder / 'groundwire.db'}")


def authorized(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@posix
def test_the_first_start_prints_a_key_of_each_kind_once_and_the_next_takes_them(
    upstream: str, tmp_path: Path
) -> None:
    args = ("--upstream", upstream, "--port", "0")
    environ: dict[str, Any] = {
        "GROUNDWIRE_GATEWAY_DATA_DIR": str(tmp_path),
        "UPSTREAM_KEY": "sk-1",
    }
    with gateway(*args, "--upstream-key-env", "UPSTREAM_KEY", is_terminal=True, **environ) as first:
        url, admin_url = first.url(), first.admin_url()
        assert first.says("groundwire keys create --admin makes another, should it be lost.\n")
        assert "keys      a new one, of tenant default\n" in first.said
        (key,), (admin,) = KEY.findall(first.said), ADMIN_KEY.findall(first.said)
        assert fetch(f"{url}/v1/models", headers=authorized(key)).status == 200
        assert Upstream.seen == ("Bearer sk-1", None)
        assert fetch(f"{url}/v1/models").status == 401
        assert fetch(f"{url}/v1/models", headers=authorized(admin)).status == 401
        me = fetch(f"{admin_url}/v1/admin/me", headers=authorized(admin))
        assert me.json()["role"] == "admin"
        assert fetch(f"{admin_url}/v1/admin/me", headers=authorized(key)).status == 403
        first.tell(signal.SIGTERM)
        assert first.end() == 0
        assert first.printed == ""
        assert "sk-1" not in first.said
    assert [each["type"] for each in recorded(tmp_path)] == [
        *(
            "CHAIN_STARTED",
            "TENANT_CREATED",
            "KEY_CREATED",
            "KEY_CREATED",
            "ADMIN_LOGIN",
            "ADMIN_LOGIN_FAILED",
        ),
        "CHAIN_ENDED",
    ]
    with gateway(*args, **environ) as second:
        url, admin_url = second.url(), second.admin_url()
        assert second.says("admin     the keys in the store\n")
        assert "keys      those in the store\n" in second.said
        assert not KEY.search(second.said)
        assert not ADMIN_KEY.search(second.said)
        assert fetch(f"{url}/v1/models", headers=authorized(key)).status == 200
        assert fetch(f"{admin_url}/v1/admin/me", headers=authorized(admin)).status == 200
        second.tell(signal.SIGINT)
        assert second.end() == 0


@pytest.mark.nightly
@posix
def test_without_a_terminal_new_keys_are_in_a_file_and_in_no_log(
    upstream: str, tmp_path: Path
) -> None:
    file = tmp_path / "first-keys.txt"
    with gateway(
        *("--upstream", upstream, "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        GROUNDWIRE_LOG_FORMAT="json",
    ) as started:
        assert started.says(f"The new keys are in {file}, which its owner alone can read.")
        wait_for(lambda: "Listening on" in started.said)
        text = file.read_text(encoding="utf-8")
        (key,), (admin,) = KEY.findall(text), ADMIN_KEY.findall(text)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        url = re.search(r"Listening on (http://[\d.:]+) ", started.said)
        assert url is not None
        assert fetch(f"{url[1]}/v1/models", headers=authorized(key)).status == 200
        wait_for(lambda: "groundwire.access" in started.said)
    records = [json.loads(line) for line in started.said.splitlines()]
    assert {each["logger"] for each in records} == {"groundwire.serve", "groundwire.access"}
    assert key not in started.said
    assert admin not in started.said


@pytest.mark.nightly
@posix
def test_a_policy_that_withholds_right_answers_too_is_warned_about(
    upstream: str, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("dvara.llm-gateway.guardrail.grounding: {enabled: true, action: BLOCK}\n")
    with gateway(
        *("--config", str(file), "--upstream", upstream, "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
    ) as started:
        url = started.url()
        (said,) = [line for line in started.said.splitlines() if line.startswith("warning: ")]
        wait_for(lambda: fetch(f"{url}/readyz").status == 200)
        (told,) = fetch(f"{url}/readyz").json()["warnings"]
    assert f"{file}:1 (" in said
    assert said.endswith(told["message"])
    checked = invoke("config", "check", str(file))
    assert checked.stderr == f"{said}\n"


@posix
def test_without_an_admin_plane_there_is_no_port_and_no_key_for_it(
    upstream: str, tmp_path: Path
) -> None:
    store = tmp_path / "elsewhere" / "my.db"
    with gateway(
        *("--upstream", upstream, "--port", "0", "--no-admin", "--store", f"sqlite:///{store}"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
    ) as started:
        started.url()
        assert started.says("admin     off\n")
        assert f"store     sqlite:///{store}\n" in started.said
        assert "admin plane" not in started.said
        assert not ADMIN_KEY.search(started.said)
    assert store.is_file()


@pytest.mark.nightly
@posix
def test_the_password_of_a_database_is_not_shown(upstream: str, tmp_path: Path) -> None:
    with gateway(
        *("--upstream", upstream, "--port", "0", "--store", "postgresql://me:s3cret@127.0.0.1:9/x"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
    ) as started:
        url = started.url()
        assert "store     postgresql://me:***@127.0.0.1:9/x\n" in started.said
        ready = fetch(f"{url}/readyz")
        assert (ready.status, ready.json()["store"]["status"]) == (503, "unavailable")
        started.tell(signal.SIGTERM)
        assert started.end() == 0
    assert "s3cret" not in started.said


@pytest.mark.nightly
@posix
def test_others_who_may_reach_the_admin_plane_are_told_of(upstream: str, tmp_path: Path) -> None:
    with gateway(
        *("--upstream", upstream, "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        GROUNDWIRE_ADMIN_HOST="0.0.0.0",
    ) as started:
        started.url()
        assert "warning: other machines may reach the admin plane at 0.0.0.0." in started.said


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
        assert started.says("keys      of the configuration: default (1); and those in the store\n")
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


@pytest.mark.nightly
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
    payload = recorded(tmp_path)[-2]["payload"]
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
        assert (
            "checks    on, action block, released at the end, detector reader at balanced\n"
            in started.said
        )
        assert "keys      none is needed" in started.said
        admin_url = started.admin_url()
        assert fetch(f"{admin_url}/v1/admin/tenants").status == 200
        assert fetch(f"{admin_url}/v1/admin/tenants", host="evil.example").status == 403
        assert fetch(f"{url}/v1/models", headers=authorized("sk-9")).status == 200
        assert Upstream.seen == ("Bearer sk-9", None)
        assert fetch(f"{url}/v1/models", host="evil.example").status == 403


@pytest.mark.nightly
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


@posix
def test_without_an_upstream_it_checks_and_refuses_chats(tmp_path: Path) -> None:
    with gateway(
        *("--port", "0", "--local-demo"), GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path)
    ) as started:
        url = started.url()
        assert "upstream  none: checks are served" in started.said
        body = {"answer": "It is 300 m tall.", "sources": ["It is 330 m tall."]}
        checked = httpx.post(f"{url}/v1/check", json=body, timeout=PATIENCE_S)
        assert checked.json()["outcome"] == "hallucinated"
        chat = httpx.post(f"{url}/v1/chat/completions", json=chat_request(), timeout=PATIENCE_S)
        assert (chat.status_code, chat.json()["error"]["code"]) == (503, "no_upstream")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--upstream", "api.openai.com"], "upstream.url = 'api.openai.com' is not possible."),
        (["--upstream", "http://a", "--port", "x"], "gateway.port = 'x' is not possible."),
        (["--upstream", "http://a", "--action", "blok"], "did you mean 'block'?"),
        (["--upstream", "http://a", "--release", "late"], "one of sentence, deferred"),
        (["--upstream", "http://a", "--upstream-key-env", "NO_SUCH"], "'NO_SUCH' is not set"),
        (["--upstream-key-env", "HOME"], "--upstream-key-env goes with --upstream"),
        (["--upstream", "http://a", "--local-demo", "--host", "0.0.0.0"], "on this machine only"),
        (["--upstream", "http://a", "--host", "256.1.1.1"], "is no address of this machine"),
        (["--upstream", "http://a", "--admin-port", "x"], "admin.port = 'x' is not possible."),
        (["--upstream", "http://a", "--store", "mysql://a/b"], "store.url = *** is not"),
    ],
)
def test_what_cannot_be_is_said(args: list[str], problem: str, tmp_path: Path) -> None:
    said = " ".join(refused(*args, GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path)).split())
    assert problem in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--port", "--admin-port"])
def test_a_port_that_is_taken_is_said_and_no_key_is_made(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(
            *("--upstream", "http://127.0.0.1:9/v1", "--port", "0", "--admin-port", "0"),
            *(option, str(port)),
            GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
        )
    assert said == (
        f"error: Another program listens on port {port} of 127.0.0.1. End it, or choose another "
        f"port: {option} N, or {option} 0 for any free one.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_trail_that_only_other_keys_have_signed_stops_the_start(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'groundwire.db'}"
    (tmp_path / "audit.key").write_text("0123456789abcdef" * 4)
    asyncio.run(opened_once(url))
    own = {"GROUNDWIRE_GATEWAY_DATA_DIR": str(tmp_path)}
    assert invoke("keys", "create", "--admin", environ=own).exit_code == 0
    said = refused(
        *("--upstream", "http://127.0.0.1:9/v1", "--port", "0", "--admin-port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path / "replica"),
        GROUNDWIRE_STORE_URL=url,
    )
    assert "none of the keys here (audit.key) has signed any of the 1 chains" in said
    assert "GROUNDWIRE_AUDIT_KEY" in said
    assert [each["type"] for each in recorded(tmp_path)] == [
        *("CHAIN_STARTED", "KEY_CREATED", "CHAIN_ENDED")
    ]


async def opened_once(url: str) -> None:
    async with Store(url):
        pass


def test_the_key_of_a_file_is_not_sent_to_the_upstream_of_an_option(tmp_path: Path) -> None:
    text = "upstream: {url: 'https://a/v1', api_key: sk-1}"
    config = with_upstream(parse(text, name="c.yaml"), {"upstream.url": "http://b/v1"})
    assert [(each.url, each.api_key) for each in config.upstreams] == [("http://b/v1", None)]
    same = with_upstream(parse(text, name="c.yaml"), {"upstream.url": "https://a/v1"})
    assert same.upstreams[0].api_key is not None


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.settings.PACKAGES", (*PACKAGES, "no_such_package"))
    assert refused("--upstream", "http://a") == (
        "error: The gateway needs the 'gateway' extra, which is not installed. "
        "Install it from a checkout of Groundwire: pip install '.[gateway]'\n"
    )


def test_an_operating_point_wins_over_the_threshold_of_similarities() -> None:
    config = parse("detector: {name: similarity}\nsimilarity: {threshold: 0.7}", name="c.yaml")
    changed = with_upstream(config, {"detector.operating_point": 0.05})
    assert changed.similarity.threshold == 0.05
    assert changed.detector.operating_point == "balanced"


def test_a_preset_is_won_over_by_other_options() -> None:
    config = parse("check: {action: flag}", name="c.yaml")
    strict = with_upstream(config, {"check.preset": "strict"}).check
    assert {strict.action, strict.unverified_action, strict.partial_action} == {Action.BLOCK}
    milder = with_upstream(config, {"check.preset": "strict", "check.action": Action.BODY}).check
    assert (milder.action, milder.unverified_action) == (Action.BODY, Action.BLOCK)


def test_the_start_names_decisions_for_they_win_over_the_action() -> None:
    plugin = "{type: hallucination, configuration: {enabled: %s, hallucination_action: block}}"
    config = parse(
        "upstream: {url: 'http://127.0.0.1:9/v1'}\ndecisions:\n"
        f"  - {{name: facts, plugins: [{plugin % 'true'}]}}\n"
        f"  - {{name: poems, plugins: [{plugin % 'false'}]}}\n  - {{name: rest}}\n",
        name="groundwire.yaml",
    )
    lines = list(describe(config, is_local_demo=True))
    assert "          but for decisions: facts (block), poems (off)" in lines
