"""Streams of hostile shapes in every dialect: nothing withheld leaves, and all of them end."""

import itertools
import json
import logging
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx2 as httpx
import pytest

from tests.gateway.chats import WRONG, Gateway, gateway, without_ids
from tests.gateway.dialects.spoken import ALL, Spoken, data_of
from tests.gateway.wire import End, Script, eventually

#: Stands in fields that nobody judges; whoever sees it was told what is withheld.
SMUGGLED = "SMUGGLED"
ODD_TEXT = f"{SMUGGLED} {WRONG}. "
PIECES = ["The tower is ", "in Paris 😀. ", "It was built", f" in {WRONG}. ", "It is tall. ", "So."]
BLOCK = "check: {action: block}"
MODES = {
    "block": BLOCK,
    "deferred": f"{BLOCK}\ngateway: {{release: deferred}}",
    "settled": f"{BLOCK}\naudit: {{durability: before_response}}",
    "body": "check: {action: body}",
    "log": "check: {action: log}",
}
Events = list[Any]
NUMBERS = [0, 1, 2, -1, 10**30]
ODD: list[Any] = [None, True, -1, 10**30, 0.5, [], {}, [[]], {"a": 1}, "", "x", "\ud800"]


def objects_in(data: Any) -> list[Any]:  # noqa: ANN401
    """All objects and lists in an event."""
    found, todo = [], [data]
    while todo:
        each = todo.pop()
        if isinstance(each, (dict, list)):
            found.append(each)
            todo += each.values() if isinstance(each, dict) else each
    return found


def somewhere(dice: random.Random, data: Any) -> tuple[Any, Any] | None:  # noqa: ANN401
    """A container in an event, and one of its keys; ``None`` if it has none."""
    places = [
        (each, key)
        for each in objects_in(data)
        for key in (each if isinstance(each, dict) else range(len(each)))
    ]
    return dice.choice(places) if places else None


def lose(dice: random.Random, events: Events) -> None:
    """An event is missing."""
    del events[dice.randrange(len(events))]


def repeat(dice: random.Random, events: Events) -> None:
    """An event comes twice, the second time elsewhere."""
    events.insert(dice.randrange(len(events) + 1), json.loads(json.dumps(dice.choice(events))))


def swap(dice: random.Random, events: Events) -> None:
    """Two events have changed places."""
    one, other = dice.randrange(len(events)), dice.randrange(len(events))
    events[one], events[other] = events[other], events[one]


def unset(dice: random.Random, events: Events) -> None:
    """A field is missing."""
    if found := somewhere(dice, dice.choice(events)):
        container, key = found
        del container[key]


def change(dice: random.Random, events: Events) -> None:
    """A value is of a wrong type."""
    if found := somewhere(dice, dice.choice(events)):
        container, key = found
        container[key] = dice.choice(ODD)


def renumber(dice: random.Random, events: Events) -> None:
    """Text is of another block than its neighbours."""
    each = dice.choice(events)
    for name in ("index", "output_index", "content_index"):
        if isinstance(each, dict) and name in each:
            each[name] = dice.choice(NUMBERS)
    for choice in each.get("choices", ()) if isinstance(each, dict) else ():
        if isinstance(choice, dict):
            choice["index"] = dice.choice(NUMBERS)


def smuggle(dice: random.Random, events: Events) -> None:
    """A field that nobody knows stands somewhere."""
    inner = [each for each in objects_in(dice.choice(events)) if isinstance(each, dict)]
    if inner:
        dice.choice(inner)[dice.choice(["odd", "text", "content", "message"])] = ODD_TEXT


def disguise(dice: random.Random, events: Events) -> None:
    """A known field holds a text in place of its value."""
    if found := somewhere(dice, dice.choice(events)):
        container, key = found
        container[key] = ODD_TEXT


def add_choice(dice: random.Random, events: Events) -> None:
    """An event has one choice, block or part more."""
    lists = [each for each in objects_in(dice.choice(events)) if isinstance(each, list) and each]
    if lists:
        chosen = dice.choice(lists)
        chosen.append(json.loads(json.dumps(dice.choice(chosen))))


def end_again(dice: random.Random, events: Events) -> None:
    """The end comes once more, and says something else."""
    last = json.loads(json.dumps(events[-3:]))
    dice.choice([change, unset, smuggle, disguise, add_choice])(dice, last)
    events.extend(last)


UNKNOWN: list[dict[str, Any]] = [
    {"type": "odd.event", "text": SMUGGLED, "delta": {"text": SMUGGLED}},
    {"type": "response.odd.delta", "delta": SMUGGLED, "output_index": 0, "sequence_number": 3},
    {"type": "response.reasoning_text.delta", "delta": SMUGGLED, "output_index": 0},
    {"type": "response.refusal.delta", "delta": SMUGGLED, "output_index": 0, "content_index": 0},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "reasoning", "summary": [{"type": "summary_text", "text": SMUGGLED}]},
    },
    {"type": "response.created", "response": {"id": "r", "output": [], "odd": SMUGGLED}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "odd", "text": SMUGGLED}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": SMUGGLED},
    },
    {"type": "content_block_start", "index": 1, "content_block": {"type": "odd", "text": SMUGGLED}},
    {"type": "ping", "text": SMUGGLED},
    {"type": "keepalive", "text": SMUGGLED},
    {"choices": [{"index": 0, "delta": {"reasoning_content": SMUGGLED}}]},
    {"choices": [{"index": 0, "delta": {"odd": SMUGGLED}, "text": "", "finish_reason": None}]},
    {"odd": SMUGGLED},
]


def intrude(dice: random.Random, events: Events) -> None:
    """An event comes that is unknown, or of another kind than text."""
    known = json.loads(json.dumps(dice.choice(UNKNOWN)))
    events.insert(dice.randrange(len(events) + 1), known)


def fail(dice: random.Random, events: Events) -> None:
    """The upstream says that it failed."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events.insert(dice.randrange(len(events) + 1), error)


def inflate(dice: random.Random, events: Events) -> None:
    """An event is large."""
    each = dice.choice(events)
    if isinstance(each, dict):
        each["padding"] = "x" * 300_000


SHAPES: list[Callable[[random.Random, Events], None]] = [
    *(lose, repeat, swap, unset, change, renumber, smuggle, smuggle, disguise, disguise),
    *(add_choice, end_again, intrude, intrude, fail, inflate),
]
#: Lines that stand before or within an event, and say nothing of the answer.
LINES = [
    f": {SMUGGLED}\n",
    f"id: {SMUGGLED}\n",
    "retry: 1\n",
    f"id: {'9' * 5000}\n",
    "\n\n",
    "odd\n",
]


def written(dice: random.Random, each: Any) -> bytes:  # noqa: ANN401
    """An event as bytes, spelled in some way."""
    if each is None:
        return dice.choice([b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n", b""])
    is_ascii = dice.random() < 0.5 or "\\ud800" in json.dumps(each)
    indent = dice.choice([None, None, None, 1])
    said = json.dumps(each, ensure_ascii=is_ascii, indent=indent).replace("\n", "\ndata: ")
    kind = each.get("type") if isinstance(each, dict) else None
    name = dice.choice([kind, kind, kind, "odd", None])
    first = "" if name is None or "\n" in str(name) else f"event: {name}\n"
    first += dice.choice(LINES) if dice.random() < 0.05 else ""
    line_end = dice.choice(["\n", "\n", "\n", "\r\n", "\r"])
    colon = dice.choice(["data: ", "data: ", "data:"])
    return f"{first}{colon}{said}\n\n".replace("\n", line_end).encode("utf-8", "replace")


def shape(dice: random.Random, spoken: Spoken) -> Script:
    """A stream of a hostile shape, cut anywhere, with an answer in it that is to be withheld."""
    events = data_of(b"".join(spoken.events(PIECES)))
    for _ in range(dice.randrange(4)):
        dice.choice(SHAPES)(dice, events)
        events = events or [{}]
    raw = b"".join(written(dice, each) for each in events)
    how = dice.choice([End.FINISH] * 4 + [End.CLOSE])
    if how is End.CLOSE or dice.random() < 0.1:
        raw = raw[: dice.randrange(len(raw) + 1)]
    if dice.random() < 0.1:
        at = dice.randrange(len(raw) + 1)
        raw = raw[:at] + b" " + dice.randbytes(dice.randrange(1, 9)) + b" " + raw[at:]
    if dice.random() < 0.1:
        raw = b"\xef\xbb\xbf" + raw
    cuts = sorted({0, len(raw), *(dice.randrange(len(raw) + 1) for _ in range(5))})
    return Script.sse([raw[i:j] for i, j in itertools.pairwise(cuts)], end=how)


def events_in(raw: bytes) -> list[str]:
    """The data of the events in a stream, however they are spelled."""
    blocks = re.split(r"(?>\r\n|\r|\n){2,}", raw.decode("utf-8", "replace").removeprefix("\ufeff"))
    lines = (re.split(r"\r\n|\r|\n", block) for block in blocks)
    said = ([each[5:] for each in block if each.startswith("data:")] for block in lines)
    return ["\n".join(each).strip() for each in said if each]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=20) as client:
        yield client


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


def hold(client: httpx.Client, own: Gateway, spoken: Spoken, mode: str, seed: int) -> None:
    """Send one shape through a gateway, and look at all that leaves."""
    script = shape(random.Random(f"{mode} {seed}"), spoken)
    own.upstream.script(script)
    asked, url = spoken.request(stream=True), f"{own.url}/{spoken.path}"
    pieces: list[bytes] = []
    is_whole = False
    with client.stream("POST", url, json=asked, headers=own.headers) as answer:
        assert answer.status_code == 200
        with suppress(httpx.RemoteProtocolError):
            pieces.extend(answer.iter_raw())
            is_whole = True
    got = without_ids(b"".join(pieces))
    said = b"".join(each for each in script.body if isinstance(each, bytes))
    if mode == "log":
        assert without_ids(said).startswith(got)
    elif mode != "body":
        assert is_whole
        assert WRONG.encode() not in got.replace(ODD_TEXT.encode(), b"")
        # Of several answers, which chats can have, those that are right leave.
        has_several = re.search(rb'"index":\s*-?[1-9]', said) is not None
        is_refused = b'"type":"guardrail_violation"' in got
        if is_refused and not (spoken.path.endswith("completions") and has_several):
            assert SMUGGLED.encode() not in got
        for each in events_in(got):  # each event can be read
            assert each == "[DONE]" or isinstance(json.loads(each), dict)


def mode_of(seed: int) -> str:
    """The mode of a seed: most shapes go where text is held."""
    return (["block"] * 4 + ["deferred"] * 3 + ["settled", "body", "log"])[seed % 10]


@pytest.mark.parametrize("spoken", ALL, ids=lambda each: each.path)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(60), marks=pytest.mark.merge, id="60"),
        pytest.param(range(60, 1000), marks=pytest.mark.nightly, id="many"),
    ],
)
def test_nothing_withheld_leaves_a_stream_of_a_hostile_shape(
    running: dict[str, Gateway],
    client: httpx.Client,
    caplog: pytest.LogCaptureFixture,
    spoken: Spoken,
    seeds: range,
) -> None:
    for seed in seeds:
        mode = mode_of(seed)
        try:
            hold(client, running[mode], spoken, mode, seed)
        except AssertionError as error:
            raise AssertionError(f"{spoken.path}, {mode}, seed {seed}") from error
    own_errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert not [each.message for each in own_errors if each.name.startswith("groundwire")]
    gateways = running.values()
    eventually(lambda: all(own.metric("groundwire_in_flight") == 1 for own in gateways))
