"""``POST /v1/check/batch``: many answers, in order, none failing the others."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from groundwire import Pipeline
from groundwire.detection.example import Source
from groundwire.gateway.native import batch
from groundwire.policy.policy import Overrides
from tests.fixed_judge import FixedJudge, FixedReading
from tests.gateway.client import PATIENCE_S, Reply, fetch
from tests.gateway.native_app import fixed_pipeline, native, without_times

pytestmark = pytest.mark.merge

JSON = "application/json"
SLOW_S = 0.01


@dataclass(frozen=True, kw_only=True)
class Gated(FixedJudge):
    """A judge that waits where the question says so."""

    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    release: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> FixedReading:
        self.asked.append(question or "")
        self.begun.release()
        if question == "wait":
            assert self.release.wait(PATIENCE_S)
        if question == "slow":
            time.sleep(SLOW_S)
        if question == "BOOM":
            raise RuntimeError("s3cret")
        return super().open(sources, question, threshold=threshold, tenant=tenant)


@pytest.fixture
def judge() -> Gated:
    return Gated(doubtful={"wrong": 0.9})


@pytest.fixture
def pipeline(judge: Gated) -> Iterator[Pipeline]:
    with fixed_pipeline(judge=judge, tenants={"small": Overrides(max_sources=1)}) as pipeline:
        yield pipeline
        judge.release.set()


@pytest.fixture
def base(pipeline: Pipeline) -> Iterator[str]:
    with native(pipeline, "detector: {threads: 2}") as url:
        yield url


def row(answer: str = "Fine.", **more: object) -> dict[str, Any]:
    return {"sources": ["Fine or wrong."], "answer": answer, **more}


def send(base: str, body: bytes, kind: str = JSON, **headers: str) -> Reply:
    headers = {"Content-Type": kind} | headers
    return fetch(f"{base}/v1/check/batch", method="POST", headers=headers, body=body)


def examples(*rows: object) -> bytes:
    return json.dumps({"examples": rows}).encode()


def results(reply: Reply) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reply.json()["results"]
    return found


# What comes back.


def test_results_are_those_of_single_checks_in_the_order_of_the_rows(base: str) -> None:
    rows = [row("Fine." if n % 3 else "wrong", id=n) for n in range(30)]
    reply = fetch(f"{base}/v1/check/batch", data={"examples": rows})
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    found = reply.json()
    single = [
        fetch(f"{base}/v1/check", data={k: v for k, v in each.items() if k != "id"}).json()
        for each in rows
    ]
    expected = [{"row": n + 1, "id": n, **each} for n, each in enumerate(single)]
    assert without_times(found["results"]) == without_times(expected)
    summary = {"rows": 30, "errors": 0, "outcomes": {"hallucinated": 10, "grounded": 20}}
    assert found["summary"] == summary


def test_a_row_that_cannot_be_checked_does_not_fail_the_others(base: str) -> None:
    reply = send(
        base,
        examples(
            row(),
            [],
            "x",
            None,
            {"answer": "x"},
            row(""),
            row("\ud800"),
            row(sources=1),
            row(id=[1], answer="x"),
            row(operating_point="x" * 100),
            row(question="BOOM"),
            row("wrong"),
        ),
    )
    assert reply.status == 200
    found = results(reply)
    assert [each["row"] for each in found] == list(range(1, 13))
    assert ["outcome" in each for each in found] == [True, *[False] * 10, True]
    for each in found[1:11]:
        assert {"type", "code", "message"} <= set(each["error"])
        assert len(json.dumps(each)) < 1_000
    assert found[10]["error"]["type"] == "server_error"
    assert "s3cret" not in reply.text


def test_rows_have_the_other_names_of_sources_and_conversations(base: str) -> None:
    chat = {"messages": [{"role": "user", "content": "x"}]}
    said = {"choices": [{"message": {"content": "It is wrong."}}]}
    found = results(
        send(
            base,
            examples(
                {"context": "Paris.", "answer": "wrong"},
                {"source": ["a", "It is fine."], "answer": "Fine."},
                {"id": "chat", "request": chat, "response": said},
            ),
        )
    )
    assert [each["outcome"] for each in found] == ["hallucinated", "grounded", "unverified"]
    assert found[2]["id"] == "chat"
    assert found[2]["answers"][0]["index"] == 0


def test_operating_points_of_all_and_of_one_row(base: str) -> None:
    rows = [row("wrong"), row("wrong", operating_point="balanced")]
    data = {"examples": rows, "operating_point": 0.99}
    found = fetch(f"{base}/v1/check/batch", data=data).json()["results"]
    assert [each["outcome"] for each in found] == ["grounded", "hallucinated"]


@pytest.mark.parametrize("point", ["nothing", 2, [1]])
def test_an_operating_point_that_is_none_is_refused_once(base: str, point: object) -> None:
    data = {"examples": [row()], "operating_point": point}
    reply = fetch(f"{base}/v1/check/batch", data=data)
    assert (reply.status, reply.error["param"]) == (400, "operating_point")


def test_limits_are_those_of_the_tenant(base: str) -> None:
    body = examples({"sources": ["It is fine.", "b"], "answer": "Fine."})
    (found,) = results(send(base, body, **{"X-Test-Tenant": "small"}))
    assert found["coverage"]["reasons"] == {"dropped_over_cap": 1}


# What is refused as a whole.


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"examples": []}', JSON, 400, "no_rows"),
        (b"{}", JSON, 422, "invalid_body"),
        (b'{"examples": {}}', JSON, 422, "invalid_body"),
        (b"[]", JSON, 422, "invalid_body"),
        (b"{", JSON, 400, "invalid_json"),
        (b"{}", "text/plain", 415, "unsupported_media_type"),
        (b"{}", "application/x-ndjson", 415, "unsupported_media_type"),
        (b"{}", "application/json; charset=latin-1", 415, "unsupported_media_type"),
    ],
)
def test_what_is_no_batch_is_refused(
    base: str, body: bytes, kind: str, status: int, code: str
) -> None:
    reply = send(base, body, kind)
    assert (reply.status, reply.error["code"]) == (status, code)
    assert reply.error["next_step"]


def test_too_many_rows_are_refused_before_any_is_checked(base: str, judge: Gated) -> None:
    reply = send(base, examples(*[{}] * (batch.MAX_ROWS + 1)))
    assert (reply.status, reply.error["code"]) == (413, "too_many_rows")
    assert "10,001" in reply.error["message"]
    assert judge.asked == []


# How it runs.


class Raw:
    """A client that reads a stream as it comes, and can hang up."""

    def __init__(self, base: str, body: bytes) -> None:
        parts = urlsplit(base)
        self.socket = socket.create_connection((parts.hostname, parts.port), PATIENCE_S)
        head = f"POST /v1/check/batch HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        self.seen = b""

    def read_until(self, wanted: bytes) -> None:
        while wanted not in self.seen:
            piece = self.socket.recv(65_536)
            assert piece, self.seen
            self.seen += piece

    def close(self) -> None:
        self.socket.close()


def test_a_result_is_sent_while_later_rows_are_still_being_checked(base: str, judge: Gated) -> None:
    client = Raw(base, examples(row(id="first"), row(id="second", question="wait")))
    client.read_until(b'"id": "first"')
    assert b"second" not in client.seen
    judge.release.set()
    client.read_until(b'"id": "second"')
    client.close()


def test_no_more_rows_are_under_way_than_there_are_threads(base: str, judge: Gated) -> None:
    client = Raw(base, examples(*[row(question="wait") for _ in range(20)]))
    for _ in range(2):
        assert judge.begun.acquire(timeout=PATIENCE_S)
    assert not judge.begun.acquire(timeout=0.2)
    assert len(judge.asked) == 2
    # Who asks for one answer does not wait for them.
    assert fetch(f"{base}/v1/check", data=row()).status == 200
    judge.release.set()
    client.read_until(b'"row": 20,')
    client.close()


def test_hanging_up_ends_the_work(base: str, judge: Gated) -> None:
    n_rows = 1_000
    client = Raw(base, examples(row(id="first"), *[row(question="slow")] * n_rows))
    client.read_until(b'"id": "first"')
    client.close()
    before = -1
    while (now := len(judge.asked)) > before:  # until nothing more is begun
        before = now
        time.sleep(10 * SLOW_S)
    assert now < n_rows
