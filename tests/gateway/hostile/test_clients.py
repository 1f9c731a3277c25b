"""Clients that leave, stall, or send too much, and a machine that is too busy for them."""

import gzip
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from groundwire import Detector
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import KEY, Gateway, gateway, request
from tests.gateway.hostile.modes import BLOCK, EVERY, MODES, is_idle, said
from tests.gateway.wire import DONE, Gate, Piece, Script, completion, eventually

pytestmark = pytest.mark.nightly


@contextmanager
def connected(own: Gateway, *, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    host, _, port = own.url.removeprefix("http://").removesuffix("/v1").partition(":")
    with socket.socket() as client:
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(20)
        client.connect((host, int(port)))
        yield client


def head(body: bytes, **more: str) -> bytes:
    lines = {
        "Host": "gateway",
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    said = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"POST /v1/chat/completions HTTP/1.1\r\n{said}\r\n".encode()


@EVERY
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("stage", ["head", "body", "asked", "answered", "within"])
def test_a_client_may_leave_at_any_stage_and_nothing_stays(
    tmp_path: Path, mode: str, stage: str, *, stream: bool
) -> None:
    body = json.dumps(request(stream=stream)).encode()
    gate, later = Gate(), Gate()
    whole = json.dumps(completion("It is here. " * 9)).encode()
    first: bytes = said("It is here. And") if stream else whole[:-5]
    pieces: tuple[Piece, ...] = (gate, first, later, DONE if stream else whole[-5:])
    script = (
        Script.sse(pieces)
        if stream
        else Script.json(None, body=(first, later, whole[-5:]), claimed_length=len(whole))
    )
    if stage == "asked":
        script = script.but(before=(Gate(),))
    with gateway(tmp_path, MODES[mode]) as own:
        own.upstream.script(*([script] if stage not in ("head", "body") else []))
        with connected(own) as client:
            if stage == "head":
                client.sendall(head(body)[:40])
            elif stage == "body":
                client.sendall(head(body) + body[:-9])
            else:
                client.sendall(head(body) + body)
                own.upstream.wait_for(1)
            if stage == "within":
                gate.open()
                eventually(lambda: own.upstream.requests[0].n_sent > 0)
        eventually(lambda: is_idle(own))
        if stage not in ("head", "body"):
            assert own.upstream.requests[0].was_abandoned.wait(10)
        else:
            assert own.upstream.requests == ()
        if stage == "within" and stream and mode in ("sentence", "deferred"):
            (found,) = own.wait_for_events(1)
            assert found["payload"]["disposition"] == "cancelled"
        # It goes on to serve.
        own.upstream.script(Script.json(completion("It is here.")))
        assert own.post(request()).status_code == 200


@pytest.mark.parametrize("mode", ["sentence", "header", "log"])
def test_a_client_that_reads_nothing_makes_the_upstream_wait(tmp_path: Path, mode: str) -> None:
    body = json.dumps(request(stream=True)).encode()
    piece = said("It is here. " * 50)
    with gateway(tmp_path, MODES[mode]) as own:
        own.upstream.script(Script.sse([piece * 100] * 300))
        with connected(own, receive_buffer=4096) as client:
            client.sendall(head(body) + body)
            (seen,) = own.upstream.wait_for(1)
            before = -1

            def is_stuck() -> bool:
                nonlocal before
                was, before = before, seen.n_sent
                if was != before:
                    sleep(0.5)
                return was == before > 0

            eventually(is_stuck, within_s=60)
            assert seen.n_sent < len(piece) * 100 * 300
        assert seen.was_abandoned.wait(10)
        eventually(lambda: is_idle(own))


REQUESTS: dict[str, tuple[bytes, dict[str, str], int]] = {
    "a bomb of gzip": (gzip.compress(b" " * 2**26), {"Content-Encoding": "gzip"}, 415),
    "damaged gzip": (b"gzip?", {"Content-Encoding": "gzip"}, 415),
    "an unknown coding": (b"{}", {"Content-Encoding": "zstd"}, 415),
    "codings upon codings": (b"{}", {"Content-Encoding": ",".join(["gzip"] * 50)}, 415),
    "too much": (b" " * (33_554_432 + 1), {}, 413),
    "depth": (b'{"messages": ' + b"[" * 200_000, {}, 400),
    "depth in a field": (
        b'{"messages": [], "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        {},
        400,
    ),
    "a long number": (b'{"messages": [], "n": ' + b"9" * 10_000 + b"}", {}, 400),
    "half a character": (
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        {},
        400,
    ),
    "no JSON": (b"messages=1", {}, 400),
    "nothing": (b"", {}, 400),
    "a number": (b"1e999", {}, 400),
}


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_that_is_too_much_is_refused_and_told_why(
    running: dict[str, Gateway], what: str
) -> None:
    body, headers, status = REQUESTS[what]
    own = running["sentence"]
    own.upstream.otherwise(Script.json(completion("Yes.")))
    response = own.post(body, headers=headers)
    assert response.status_code == status, response.text
    assert response.json()["error"]["code"]
    eventually(lambda: is_idle(own))


def test_heads_that_are_too_large_are_refused(running: dict[str, Gateway]) -> None:
    own = running["log"]
    for more in ({"X_Long": "a" * 1_000_000}, {f"X_{n}": "a" * 50 for n in range(20_000)}):
        with connected(own) as client:
            try:
                client.sendall(head(b"", **more))
                answer = client.recv(65536)
            except ConnectionError:
                answer = b""
            assert answer == b"" or answer.split(b" ")[1] in (b"400", b"401", b"431", b"413")
    eventually(lambda: is_idle(own))


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", 400, "invalid_http"),  # TLS
        (b"GET /livez HTTP/1.1\r\nno header\r\n\r\n", 400, "invalid_http"),
        (b"GET /livez HTTP/1.1\r\nX-Long: " + b"a" * 70_000, 431, "head_too_large"),
    ],
)
def test_what_is_no_request_gets_an_error_like_all_others(
    running: dict[str, Gateway], sent: bytes, status: int, code: str
) -> None:
    with connected(running["log"]) as client:
        client.sendall(sent)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    lines, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert lines.startswith(b"HTTP/1.1 %d " % status)
    assert error["code"] == code
    assert error["next_step"]
    assert f"\r\nx-trace-id: {error['trace_id']}\r\n".encode() in lines


def test_a_request_does_not_wait_for_ever_for_a_thread(tmp_path: Path) -> None:
    class Stuck(FixedJudge):
        def open(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            eventually(lambda: bool(freed), within_s=20)
            return super().open(*args, **kwargs)

    freed: list[bool] = []
    yaml = f"{BLOCK}\ngateway: {{check_timeout_s: 0.1}}\ndetector: {{threads: 1}}"
    try:
        with gateway(tmp_path, yaml, detector=Detector(Stuck(doubtful={}))) as own:
            own.upstream.otherwise(Script.json(completion("It is here.")))
            codes = [own.post(request()).json()["error"]["code"] for _ in range(4)]
            freed.append(True)
            eventually(lambda: all(each.was_answered.is_set() or each.was_abandoned.is_set()
                                   for each in own.upstream.requests))  # fmt: skip
    finally:
        freed.append(True)
    assert set(codes) == {"check_failed"}


def test_a_reply_that_nobody_takes_is_closed(tmp_path: Path) -> None:
    """The request turns out to be none while its upstream already answers."""
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.otherwise(Script.sse([said("Yes."), Gate()]))
        for _ in range(5):
            response = own.post(b'{"messages": [{"role": "user", "content": "\\ud800"}]}')
            assert response.status_code == 400
        assert all(each.was_abandoned.wait(10) for each in own.upstream.requests)
