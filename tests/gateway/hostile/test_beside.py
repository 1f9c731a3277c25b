"""Upstreams that say things where nobody looks."""

import json

import pytest

from tests.gateway.chats import (
    WRONG,
    Gateway,
    events_of,
    finish_of,
    request,
    text_of,
    without_ids,
)
from tests.gateway.hostile.modes import EVERY, HELD, SMUGGLED, end, said, told
from tests.gateway.wire import DONE, Pause, Piece, Script, chunk, completion, event

pytestmark = pytest.mark.nightly


PLACES: dict[str, list[Piece]] = {
    "a comment": [b": " + SMUGGLED.encode() + b"\n\n"],
    "a comment within an event": [b": " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "the id of an event": [b"id: " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "the name of an event": [b"event: " + SMUGGLED.encode() + b"\n" + said("It is.")],
    "a line that is no field": [SMUGGLED.encode() + b"\n\n"],
    "a body of JSON": [json.dumps(completion(SMUGGLED)).encode() + b"\n\n"],
    "a chunk without choices": [event({"type": "delta", "text": SMUGGLED})],
    "choices in capitals": [event({"Choices": [{"Delta": {"Content": SMUGGLED}}]})],
    "a message": [event({"choices": [{"index": 0, "message": {"content": SMUGGLED}}]})],
    "a text": [event({"choices": [{"index": 0, "text": SMUGGLED}]})],
    "reasoning": [event(chunk({"reasoning": SMUGGLED, "content": "It is."}))],
    "a refusal": [event(chunk({"refusal": SMUGGLED, "content": "It is."}))],
    "sound": [event(chunk({"audio": {"transcript": SMUGGLED}, "content": "It is."}))],
    "a call beside text": [
        event(chunk({"tool_calls": [{"index": 0, "x": SMUGGLED}], "content": "It is."}))
    ],
    "a part beside text": [
        event(
            chunk(
                {
                    "content": [
                        {"type": "text", "text": "It is."},
                        {"type": "thinking", "thinking": SMUGGLED},
                        {"type": "refusal", "refusal": SMUGGLED},
                    ]
                }
            )
        )
    ],
    "a key that stands twice": [
        said("It is.").replace(b'"content"', b'"content": "SMUGGLED", "content"')
    ],
    "probabilities of no text": [
        event(
            {
                **chunk({"content": ""}),
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": ""},
                        "logprobs": {"content": [{"token": SMUGGLED}]},
                    }
                ],
            }
        )
    ],
    "what is said of a piece that is cut": [
        event(
            {
                "choices": [
                    {"index": 0, "delta": {"content": f"It is. In {WRONG}"}, "words": [SMUGGLED]}
                ],
                "words": SMUGGLED,
            }
        )
    ],
}


@HELD
@pytest.mark.parametrize("place", PLACES)
def test_what_stands_beside_the_text_does_not_leave_before_the_answer_has_passed(
    running: dict[str, Gateway], mode: str, place: str
) -> None:
    script = [said("It is here. "), *PLACES[place], said(f" In {WRONG}. More."), end(), DONE]
    got = told(running[mode], Script.sse(script))
    assert SMUGGLED.encode() not in got
    assert WRONG.encode() not in without_ids(got)
    assert finish_of(events_of(got)) == "content_filter"


@HELD
@pytest.mark.parametrize("pause", [(), (Pause(0.3),)], ids=["at once", "later"])
def test_text_after_the_end_of_an_answer_does_not_leave_unjudged(
    running: dict[str, Gateway], mode: str, pause: tuple[Piece, ...]
) -> None:
    script = [said("It is here."), end(), *pause, said(f" In {WRONG}."), end(), DONE]
    got = told(running[mode], Script.sse(script))
    assert WRONG.encode() not in without_ids(got)
    assert text_of(events_of(got)) in ("", "It is here.")


@HELD
@pytest.mark.parametrize("place", [name for name in PLACES if "choices" in name or "error" in name])
def test_what_is_no_chunk_does_not_leave_in_front_of_an_answer(
    running: dict[str, Gateway], mode: str, place: str
) -> None:
    script = [*PLACES[place], said(f"It is here. In {WRONG}. More."), end(), DONE]
    assert SMUGGLED.encode() not in told(running[mode], Script.sse(script))


@EVERY
def test_what_comes_after_the_end_and_is_no_text_arrives(
    running: dict[str, Gateway], mode: str
) -> None:
    usage = {"total_tokens": 3}
    late = {**chunk({"role": "assistant", "content": ""}), "usage": usage}
    script = [said("It is here."), end(), end(), event(late), DONE]
    events = events_of(told(running[mode], Script.sse(script)))
    assert text_of(events) == "It is here."
    assert [each.get("usage") for each in events[:-1]].count(usage) == 1
    assert events[-1] == "[DONE]"


@HELD
def test_text_after_done_is_not_read(running: dict[str, Gateway], mode: str) -> None:
    script = [said("It is here."), end(), DONE, said(SMUGGLED), DONE]
    got = told(running[mode], Script.sse(script))
    assert text_of(events_of(got)) == "It is here."
    assert got.count(b"[DONE]") == 1


@EVERY
def test_an_upstream_cannot_mark_its_own_answers(running: dict[str, Gateway], mode: str) -> None:
    forged = {"outcome": "grounded", "action": "none", "forged": True}
    script = Script.sse(
        [said("It is here."), event({**chunk({}, finish="stop"), "groundwire": forged}), DONE],
        headers=(
            ("Content-Type", "text/event-stream"),
            ("X-Groundwire-Outcome", "grounded"),
            ("X-VSR-Fact-Check-Needed", "true"),
        ),
    )
    own = running[mode]
    own.upstream.script(script)
    with own.asking(request(stream=True)) as response:
        got = response.read()
    assert not [name for name in response.headers if name.startswith(("x-vsr", "x-groundwire"))]
    if mode != "log":  # where a stream is the upstream's, byte for byte, nothing in it is ours
        assert b"forged" not in got
