"""What happens when something fails: the tables of docs/gateway.md, cell by cell."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire import Detector
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import WRONG, Gateway, events_of, fixed, gateway, request
from tests.gateway.settled import GIVES_UP_S, watched
from tests.gateway.wire import (
    DONE,
    End,
    Gate,
    Script,
    chunk,
    completion,
    event,
    eventually,
    stream_events,
)

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
#: The actions of each column of the tables, and how text leaves.
COLUMNS = (
    ("`log`, `flag`", ("log", "flag"), ("sentence",)),
    ("`header`, `body`", ("header", "body"), ("sentence",)),
    ("`block`", ("block",), ("sentence", "deferred")),
)
GOOD = "It was built in 1887. "
BAD = f"It was built in {WRONG}."
SAID = [event(chunk({"role": "assistant", "content": ""})), event(chunk({"content": GOOD}))]
END = [event(chunk({}, finish="stop")), DONE]

pytestmark = [
    pytest.mark.merge,
    pytest.mark.skipif(not PAGE.is_file(), reason="this is no checkout"),
]


class FailingJudge(FixedJudge):
    """A judge that fails on every claim."""

    def open(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise RuntimeError(WRONG)


class StuckJudge(FixedJudge):
    """A judge that waits until it is let go."""

    go_on = threading.Event()

    def open(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401
        self.go_on.wait(20)
        return super().open(*args, **settings)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What fails: the upstream, by its script, the check, or the audit log.

    Attributes:
        log: Whether the audit log ``breaks`` with the record of the response, or ``is broken``.
    """

    script: Script
    settings: Mapping[str, str] = field(default_factory=dict)
    judge: Callable[[], Detector] = fixed
    log: str = ""


def whole(**changes: Any) -> Script:  # noqa: ANN401
    return Script.json(completion(GOOD), **changes)


def half(**changes: Any) -> Script:  # noqa: ANN401
    raw = json.dumps(completion(GOOD)).encode()
    return Script.json(None, body=(raw[:100],), claimed_length=len(raw), **changes)


def stream(*events: bytes | Gate, **changes: Any) -> Script:  # noqa: ANN401
    return Script.sse([*SAID, *events], **changes)


def failing() -> Detector:
    return Detector(FailingJudge(doubtful={}))


def stuck() -> Detector:
    return Detector(StuckJudge(doubtful={}))


BEFORE = {"audit.durability": "before_response"}
REFUSE = {"audit.on_failure": "refuse"}
IDLE = {"upstream.idle_timeout_s": "0.2"}
STUCK = {"gateway.check_timeout_s": "0.2"}
GZIP = (("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"))

#: By the first cell of a row.
WHOLE = {
    "The upstream answers with an error": Fault(script=Script.error(500)),
    "It cannot be reached": Fault(script=Script(raw=b"", end=End.RESET)),
    "It sends what is no HTTP": Fault(script=Script(raw=b"220 SMTP\r\n\r\n", end=End.CLOSE)),
    "It answers with a redirect": Fault(script=Script(status=307)),
    "It says nothing for `upstream.response_timeout_s`": Fault(
        script=Script(hangs_at_once=True), settings={"upstream.response_timeout_s": "0.2"}
    ),
    "Its answer breaks off": Fault(script=half(end=End.RESET)),
    "Its answer stops for `upstream.idle_timeout_s`": Fault(
        script=half(end=End.HANG), settings=IDLE
    ),
    "Its answer cannot be read": Fault(script=Script.json({"choices": 1})),
    "Its answer has more than `gateway.max_response_bytes`": Fault(
        script=whole(), settings={"gateway.max_response_bytes": "100"}
    ),
    "It answers 200 with an error": Fault(script=Script.json({"error": {"message": "overloaded"}})),
    "The check fails": Fault(script=whole(), judge=failing),
    "It takes longer than `gateway.check_timeout_s`": Fault(
        script=whole(), settings=STUCK, judge=stuck
    ),
    "The audit log cannot be written": Fault(script=whole(), log="is broken"),
    "The audit log cannot be written, and `audit.on_failure` is `refuse`": Fault(
        script=whole(), settings=REFUSE, log="is broken"
    ),
    "A finding cannot be recorded, under `before_response`": Fault(
        script=Script.json(completion(BAD)), settings=BEFORE, log="breaks"
    ),
    "A finding cannot be recorded, under `before_response` and `refuse`": Fault(
        script=Script.json(completion(BAD)), settings=BEFORE | REFUSE, log="breaks"
    ),
}
STREAMED = {
    "The stream breaks off": Fault(script=stream(end=End.RESET)),
    "It stops for `upstream.idle_timeout_s`": Fault(script=stream(Gate()), settings=IDLE),
    "It ends without an end": Fault(script=stream()),
    "It says that it failed": Fault(script=stream(event({"error": {"message": "overloaded"}}))),
    "An event cannot be read": Fault(script=stream(b"data: {\n\n", *END)),
    "Its compression cannot be read": Fault(script=stream(*END, headers=GZIP)),
    "It has more than `gateway.max_held_chars`": Fault(
        script=stream(*END), settings={"gateway.max_held_chars": "10"}
    ),
    "The check fails": Fault(script=Script.sse(stream_events([GOOD])), judge=failing),
    "It takes longer than `gateway.check_timeout_s`": Fault(
        script=Script.sse(stream_events([GOOD])), settings=STUCK, judge=stuck
    ),
    "The audit log cannot be written": Fault(
        script=Script.sse(stream_events([GOOD])), log="is broken"
    ),
    "The audit log cannot be written, and `audit.on_failure` is `refuse`": Fault(
        script=Script.sse(stream_events([GOOD])), settings=REFUSE, log="is broken"
    ),
    "A finding cannot be recorded, under `before_response`": Fault(
        script=Script.sse(stream_events([BAD])), settings=BEFORE, log="breaks"
    ),
    "A finding cannot be recorded, under `before_response` and `refuse`": Fault(
        script=Script.sse(stream_events([BAD])), settings=BEFORE | REFUSE, log="breaks"
    ),
}


def tables() -> list[dict[str, list[str]]]:
    """The two tables of the page: first cell → the others."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    section = text.partition("## When something fails")[2].partition("\n## ")[0]
    found: list[dict[str, list[str]]] = []
    for line in section.splitlines():
        if not line.startswith("| "):
            continue
        first, *others = [cell.strip() for cell in line[1:-1].split("|")]
        if first in ("Fault", "---"):
            found += [{}] if first == "Fault" else []
            continue
        found[-1][first] = others
    return found


def outcome(own: Gateway, body: Mapping[str, Any]) -> str:
    """What a client gets, in the words of the page."""
    pieces: list[bytes] = []
    try:
        with own.asking(body) as response:
            pieces.extend(response.iter_raw())
    except httpx.RemoteProtocolError:
        return "breaks off"
    raw = b"".join(pieces)
    if response.status_code == 200:
        return of_stream(raw) if body.get("stream") else "passes"
    code = json.loads(raw)["error"]["code"]
    return "passes" if code is None else f"{response.status_code} `{code}`"


def of_stream(raw: bytes) -> str:
    """What a client gets of a stream that comes to an end of its own."""
    try:
        events = events_of(raw)
    except ValueError:
        return "passes"  # what cannot be read has come through
    refusals = [each["groundwire"] for each in events if "code" in (each_of(each))]
    return f"refused: `{refusals[-1]['code']}`" if refusals else "passes"


def each_of(event: object) -> Mapping[str, Any]:
    """What we say in an event."""
    return event.get("groundwire", {}) if isinstance(event, dict) else {}


def on_record(own: Gateway) -> str:
    """The outcome that the audit log has, if it has any."""
    return ", ".join(
        sorted({each["payload"].get("outcome", each["type"]) for each in own.events()})
    )


def settings(fault: Fault, action: str, release: str) -> str:
    pairs = {**fault.settings, "check.action": action, "gateway.release": release}
    return "\n".join(f"{name}: {value}" for name, value in pairs.items())


CASES = [
    pytest.param(
        *(number, name, column, action, release),
        id=f"{name}-{action}-{release}",
        # They share a column with log and header.
        marks=pytest.mark.nightly if action in ("flag", "body") else (),
    )
    for number, faults in enumerate((WHOLE, STREAMED))
    for name in faults
    for column, (_, actions, releases) in enumerate(COLUMNS)
    for action in actions
    for release in releases
]


@contextmanager
def failing_gateway(
    folder: Path, fault: Fault, yaml: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Gateway]:
    """A gateway whose check or audit log fails, if that is the fault."""
    StuckJudge.go_on.clear()
    if not fault.log:
        with gateway(folder, yaml, detector=fault.judge()) as own:
            yield own
        return
    with watched(folder, yaml, monkeypatch, patience_s=GIVES_UP_S) as (own, sink):
        sink.is_broken = True
        if fault.log == "is broken":
            own.post_to("check", {"sources": ["x"], "answer": BAD})
            eventually(lambda: own.metric("groundwire_audit_failures_total") > 0)
        yield own


@pytest.mark.parametrize(("number", "name", "column", "action", "release"), CASES)
def test_a_fault_ends_as_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    number: int,
    name: str,
    column: int,
    action: str,
    release: str,
) -> None:
    fault = (WHOLE, STREAMED)[number][name]
    expected = tables()[number][name]
    with failing_gateway(tmp_path, fault, settings(fault, action, release), monkeypatch) as own:
        try:
            own.upstream.script(fault.script)
            got = outcome(own, request(stream=bool(number)))
            if action == "log" and expected[-1]:
                own.wait_for_events(1)  # the response did not wait for its check
        finally:
            StuckJudge.go_on.set()
    assert got == expected[column]
    if action == "log":
        assert on_record(own) == expected[-1]


@pytest.mark.parametrize(
    ("number", "name"),
    [(number, name) for number, faults in enumerate((WHOLE, STREAMED)) for name in faults],
)
def test_under_before_response_log_ends_as_header_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, name: str
) -> None:
    fault = (WHOLE, STREAMED)[number][name]
    fault = replace(fault, settings={**fault.settings, **BEFORE})
    with failing_gateway(tmp_path, fault, settings(fault, "log", "sentence"), monkeypatch) as own:
        try:
            own.upstream.script(fault.script)
            got = outcome(own, request(stream=bool(number)))
        finally:
            StuckJudge.go_on.set()
    assert got == tables()[number][name][1]


def test_the_page_has_all_faults() -> None:
    assert [set(table) for table in tables()] == [set(WHOLE), set(STREAMED)]


@pytest.mark.parametrize("end", [End.RESET, End.CLOSE])
def test_a_mistake_of_ours_while_a_stream_breaks_off_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: End
) -> None:
    def fail(_: object) -> str:
        raise ValueError

    monkeypatch.setattr("groundwire.gateway.chat.guarded_stream.warning_text", fail)
    with gateway(tmp_path, "check: {action: header}", detector=fixed()) as own:
        own.upstream.script(Script.sse(SAID, end=end))
        with own.asking(request(stream=True)) as response:
            last = events_of(response.read())[-2]
    assert last["choices"][0]["finish_reason"] == "content_filter"
    assert last["groundwire"]["code"] == "stream_error"
