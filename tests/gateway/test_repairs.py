"""The action ``repair``: wrong words give way to the evidence's, or the answer is withheld."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire import Detector
from groundwire.engine.models import BASE_PACKAGE
from tests.gateway.chats import WRONG, Gateway, gateway, without_ids
from tests.gateway.dialects.spoken import (
    ALL,
    Chat,
    Messages,
    Responses,
    Spoken,
    data_of,
    named,
)
from tests.gateway.wire import Gate, Pause, Piece, Script, chunk, completion, event

pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
pytestmark = pytest.mark.merge

SOURCED = {"metadata": {"grounding.sources": ["The tower was opened in 1889. It is 330 m tall."]}}
BAD = ["The tower was", " opened in 19", "50. It is", " 330 m tall."]
REPAIRED = "The tower was opened in 1889. It is 330 m tall."
#: A wrong sentence that no words of the evidence make right, and that cannot go: it is alone.
UNREPAIRABLE = ["Ann wrote", f" of {WRONG} tin foxes."]
MODES = {
    "sentence": "check: {action: repair}",
    "deferred": "check: {action: repair}\ngateway: {release: deferred}",
    "settled": "check: {action: repair}\naudit: {durability: before_response}",
}
CHAT = Chat()
EACH = pytest.mark.parametrize("spoken", ALL, ids=lambda each: each.path)


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(
                gateway(tmp_path_factory.mktemp("gateway"), yaml, detector=Detector.load(threads=1))
            )
            for mode, yaml in MODES.items()
        }


def streamed(own: Gateway, spoken: Spoken, events: Sequence[Piece]) -> bytes:
    own.upstream.script(Script.sse(events))
    with own.asking(spoken.request(stream=True, **SOURCED), path=spoken.path) as answer:
        assert answer.status_code == 200
        return answer.read()


@EACH
def test_a_wrong_answer_is_repaired(running: dict[str, Gateway], spoken: Spoken) -> None:
    own = running["sentence"]
    own.upstream.script(Script.json(spoken.body("".join(BAD))))
    answer = own.post_to(spoken.path, spoken.request(**SOURCED))
    assert answer.json() == spoken.body(REPAIRED)
    assert answer.headers["x-groundwire-action"] == "repair"
    assert answer.headers["x-groundwire-outcome"] == "hallucinated"


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_a_wrong_stream_is_repaired(running: dict[str, Gateway], mode: str, spoken: Spoken) -> None:
    got = streamed(running[mode], spoken, spoken.events(BAD))
    marks = spoken.marks_of(got)
    assert marks is not None
    assert WRONG not in without_ids(got.decode())
    if isinstance(spoken, Responses):  # its last events repeat the whole text
        assert spoken.is_refused(data_of(got))
        assert marks["action"] == "block"
    else:
        assert spoken.text_of(got) == REPAIRED
        assert (marks["outcome"], marks["action"]) == ("hallucinated", "repair")


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_an_answer_that_cannot_be_repaired_is_withheld(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.body("".join(UNREPAIRABLE))))
    assert own.post_to(spoken.path, spoken.request(**SOURCED)).status_code == 403
    got = streamed(own, spoken, spoken.events(UNREPAIRABLE))
    assert spoken.is_refused(data_of(got))
    assert WRONG not in without_ids(got.decode())


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_a_right_answer_is_not_changed(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own = running[mode]
    own.upstream.script(Script.json(spoken.body(REPAIRED)))
    assert own.post_to(spoken.path, spoken.request(**SOURCED)).json() == spoken.body(REPAIRED)
    assert spoken.text_of(streamed(own, spoken, spoken.events([REPAIRED]))) == REPAIRED


def test_a_sentence_is_repaired_before_the_next_one_arrives(running: dict[str, Gateway]) -> None:
    own, gate = running["sentence"], Gate()
    events: list[Piece] = [*CHAT.events(BAD)]
    last = next(n for n, each in enumerate(events) if isinstance(each, bytes) and b"330" in each)
    events.insert(last, gate)
    own.upstream.script(Script.sse(events))
    with own.asking(CHAT.request(stream=True, **SOURCED)) as answer:
        incoming, seen = answer.iter_raw(), b""
        while b"opened in 1889" not in seen:
            seen += next(incoming)
        gate.open()
        assert CHAT.text_of(seen + b"".join(incoming)) == REPAIRED


@EACH
@pytest.mark.parametrize("mode", MODES)
def test_a_sentence_that_nothing_supports_is_taken_out(
    running: dict[str, Gateway], mode: str, spoken: Spoken
) -> None:
    own, lost = running[mode], " The architect Nora Bell won three prizes for her drawings in Oslo."
    right = ["The tower was opened in 1889.", " The tower is 330 m tall."]
    own.upstream.script(Script.json(spoken.body(f"{right[0]}{lost}{right[1]}")))
    assert own.post_to(spoken.path, spoken.request(**SOURCED)).json() == spoken.body("".join(right))
    got = streamed(own, spoken, spoken.events([right[0], lost[:30], lost[30:], right[1]]))
    if isinstance(spoken, Responses):  # its last events repeat the whole text
        assert spoken.is_refused(data_of(got))
    else:
        assert spoken.text_of(got) == "".join(right)
    assert "Oslo" not in without_ids(got.decode())


def test_one_answer_of_several_is_repaired(running: dict[str, Gateway]) -> None:
    own, body = running["sentence"], CHAT.body("".join(BAD))
    right = {**body["choices"][0], "index": 1, "logprobs": {"content": []}}
    right["message"] = {"role": "assistant", "content": "The tower is 330 m tall."}
    body["choices"] = [{**body["choices"][0], "logprobs": {"content": []}}, right]
    own.upstream.script(Script.json(body))
    first, second = own.post_to(CHAT.path, CHAT.request(**SOURCED)).json()["choices"]
    assert (first["message"]["content"], first["logprobs"]) == (REPAIRED, None)
    assert second == right


def test_log_probabilities_of_replaced_words_are_left_out(running: dict[str, Gateway]) -> None:
    def spelled(text: str) -> bytes:
        logprobs = {
            "content": [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}]
        }
        data = chunk({"content": text})
        data["choices"][0]["logprobs"] = logprobs
        return event(data)

    events = [*map(spelled, BAD), *CHAT.events([])]
    got = streamed(running["sentence"], CHAT, events)
    assert not any(each["choices"][0]["logprobs"] for each in data_of(got) if each)
    assert CHAT.text_of(got) == REPAIRED


def test_a_text_in_several_parts_is_withheld(running: dict[str, Gateway]) -> None:
    own, body = running["sentence"], Messages().body("")
    body["content"] = [{"type": "text", "text": piece} for piece in BAD]
    own.upstream.script(Script.json(body))
    answer = own.post_to("messages", Messages().request(**SOURCED))
    assert (answer.status_code, WRONG in without_ids(answer.text)) == (403, False)


def whole(own: Gateway, spoken: Spoken, body: dict[str, Any]) -> httpx.Response:
    own.upstream.script(Script.json(body))
    return own.post_to(spoken.path, spoken.request(**SOURCED))


def test_a_text_in_parts_beside_a_copy_of_it_is_withheld(running: dict[str, Gateway]) -> None:
    spoken = Responses()
    parts = [spoken.part("".join(BAD[:2])), spoken.part("".join(BAD[2:]))]
    body = {**spoken.response(spoken.item(*parts)), "output_text": "".join(BAD)}
    answer = whole(running["sentence"], spoken, body)
    assert (answer.status_code, WRONG in without_ids(answer.text)) == (403, False)


def test_two_answers_with_the_same_mistake_are_both_repaired(running: dict[str, Gateway]) -> None:
    answer = whole(running["sentence"], CHAT, completion("".join(BAD), n=2))
    said = [each["message"]["content"] for each in answer.json()["choices"]]
    assert said == [REPAIRED, REPAIRED]


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "save", "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    "pieces",
    [
        [call('["19'), call('50"]')],
        [{"reasoning_content": "It was opened in 19"}, {"reasoning_content": "50."}],
        [{"content": [{"type": "text", "text": "", "logprobs": [" 19", "50"]}]}],
    ],
    ids=["calls", "reasoning", "parts"],
)
@pytest.mark.parametrize("mode", MODES)
def test_an_answer_with_more_than_a_text_is_withheld(
    running: dict[str, Gateway], mode: str, pieces: list[dict[str, Any]]
) -> None:
    body = CHAT.body("".join(BAD))
    body["choices"][0]["message"] |= {"content": "".join(BAD)} | call('["1950"]')
    assert whole(running[mode], CHAT, body).status_code == 403
    *said, end, done = CHAT.events(BAD)
    more = [event(chunk(each)) for each in pieces]
    got = streamed(running[mode], CHAT, [*said, *more, end, done])
    assert CHAT.is_refused(data_of(got))


@pytest.mark.parametrize("mode", MODES)
def test_citations_after_the_text_withhold_the_rest(running: dict[str, Gateway], mode: str) -> None:
    *said, done = CHAT.events(BAD)
    cited = event({"id": "c", "choices": [], "citations": ["It was opened in 1950."]})
    got = streamed(running[mode], CHAT, [*said, cited, done])
    assert WRONG not in without_ids(got.decode())
    late = event(chunk({"reasoning_content": "opened in 1950"}))
    got = streamed(running[mode], CHAT, [*said, Pause(0.5), late, done])
    assert WRONG not in without_ids(got.decode())


def test_a_call_beside_a_repaired_message_is_withheld(running: dict[str, Gateway]) -> None:
    spoken = Messages()
    body = spoken.body("".join(BAD))
    used = {"type": "tool_use", "id": "t", "name": "save", "input": {"year": 1950}}
    assert whole(running["sentence"], spoken, body).json() == spoken.body(REPAIRED)
    body["content"].append(used)
    assert whole(running["sentence"], spoken, body).status_code == 403


def test_an_id_with_the_old_word_does_not_keep_an_answer_from_its_repair(
    running: dict[str, Gateway],
) -> None:
    body = {**CHAT.body("".join(BAD)), "id": "chatcmpl-1950", "model": "gpt-1950"}
    answer = whole(running["sentence"], CHAT, body).json()
    assert answer["choices"] == CHAT.body(REPAIRED)["choices"]


PADDING: list[dict[str, Any]] = [
    {"message": {"provider_specific_fields": {"refusal": None, "citations": []}}},
    {"choice": {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}},
    {"body": {"x_groq": {"id": "req_1"}, "service_tier": "default", "p": "abcd"}},
    {"message": {"reasoning_content": None, "tool_calls": [], "audio": None}},
]
HIDING: list[dict[str, Any]] = [
    {"body": {"output": None}, "message": {"reasoning_content": "It was 1950."}},
    {"body": {"x_groq": {"debug": {"output_tokens": ["opened", "in", "1950"]}}}},
    {"choice": {"content_filter_results": {"detected": {"text": "opened in 1950"}}}},
    {"choice": {"meta_info": {"year": 1950}}},
]


@pytest.mark.parametrize(
    ("more", "is_repaired"),
    [*((each, True) for each in PADDING), *((each, False) for each in HIDING)],
)
def test_fields_of_servers_that_hold_no_words_are_let_through(
    running: dict[str, Gateway], more: dict[str, dict[str, Any]], is_repaired: bool
) -> None:
    body = {**CHAT.body("".join(BAD)), **more.get("body", {})}
    choice = body["choices"][0]
    body["choices"] = [
        {**choice, **more.get("choice", {})}
        | {"message": {**choice["message"], **more.get("message", {})}}
    ]
    assert whole(running["sentence"], CHAT, body).status_code == (200 if is_repaired else 403)


@pytest.mark.parametrize("mode", MODES)
def test_words_in_the_last_event_of_a_message_withhold_it(
    running: dict[str, Gateway], mode: str
) -> None:
    *said, delta, stop = Messages().data(BAD)
    delta["delta"] |= {"stop_details": {"explanation": "It was opened in 1950."}}
    got = streamed(running[mode], Messages(), [named(each) for each in (*said, delta, stop)])
    assert WRONG not in without_ids(got.decode())


def test_of_a_refused_response_nothing_counts_as_repaired(tmp_path: Path) -> None:
    body = completion("".join(BAD), n=2)
    body["choices"][1] = {**body["choices"][1], "message": {"content": "".join(UNREPAIRABLE)}}
    with gateway(tmp_path, MODES["sentence"], detector=Detector.load(threads=1)) as own:
        assert whole(own, CHAT, body).status_code == 403
        events = own.wait_for_events(2)
    assert [each["payload"]["action"] for each in events] == ["block", "block"]
    assert not any("edits" in each["payload"] for each in events)


def test_repaired_text_is_on_record_although_the_stream_breaks_off(tmp_path: Path) -> None:
    said = CHAT.events(["".join(BAD), " It is", " red."])[:3]
    with gateway(tmp_path, MODES["sentence"], detector=Detector.load(threads=1)) as own:
        got = streamed(own, CHAT, [*said, Pause(1.5), b"data: {"])
        assert "1889" in got.decode()
        events = own.wait_for_events(2)
    (found,) = (each["payload"] for each in events if "edits" in each["payload"])
    assert [each["new"] for each in found["edits"]] == ["1889"]


@pytest.mark.parametrize("mode", MODES)
def test_log_probabilities_after_the_text_are_left_out(
    running: dict[str, Gateway], mode: str
) -> None:
    tokens = [{"token": each, "logprob": -0.1} for each in (" 19", "50")]
    data = chunk({}, finish="stop")
    data["choices"][0] |= {"logprobs": {"content": tokens}, "token_ids": [19, 50]}
    *said, _, done = CHAT.events(BAD)
    got = data_of(streamed(running[mode], CHAT, [*said, event(data), done]))
    last = got[-2]["choices"][0]
    assert (last["logprobs"], last["token_ids"]) == (None, [])


def test_only_findings_that_ask_for_it_are_repaired(tmp_path: Path) -> None:
    yaml = "check: {action: log, contradicted_action: repair}"
    said = "The tower was opened in 1950. It is 330 m tall. Ann wrote of seven tin foxes."
    with gateway(tmp_path, yaml, detector=Detector.load(threads=1)) as own:
        assert whole(own, CHAT, CHAT.body("".join(BAD))).json() == CHAT.body(REPAIRED)
        assert whole(own, CHAT, CHAT.body(said)).status_code == 403
        assert CHAT.is_refused(data_of(streamed(own, CHAT, CHAT.events(said.split(". ")))))


def test_new_words_are_redacted_as_in_their_source(tmp_path: Path) -> None:
    right = "Call the office of Ann Lee at +1 415 555 2671 before noon."
    request = CHAT.request(metadata={"grounding.sources": [f"{right} Her server is 10.20.30.40."]})
    yaml = "check: {action: repair}\naudit: {text: full, redact: phone}"
    with gateway(tmp_path, yaml, detector=Detector.load("reader-base", threads=1)) as own:
        own.upstream.script(Script.json(CHAT.body(right.replace("2671", "9999"))))
        assert own.post_to(CHAT.path, request).json() == CHAT.body(right)
        (event_,) = own.wait_for_events(1)
    (edit,) = event_["payload"]["edits"]
    assert (edit["old"], edit["new"]) == ("[REDACTED:phone]", "[REDACTED:phone]")


def test_a_refused_stream_has_the_changes_that_were_sent_on_record(tmp_path: Path) -> None:
    gates = Gate(), Gate()
    said = CHAT.events(["".join(BAD), " Ann wrote of seven tin foxes.", " It is red."])
    script: list[Piece] = [*said[:2], gates[0], said[2], gates[1], *said[3:]]
    yaml = "check: {action: repair}"
    with gateway(tmp_path, yaml, detector=Detector.load(threads=1)) as own:
        own.upstream.script(Script.sse(script))
        with own.asking(CHAT.request(stream=True, **SOURCED)) as answer:
            incoming, seen = answer.iter_raw(), b""
            while b"1889" not in seen:
                seen += next(incoming)
            for gate in gates:
                gate.open()
            seen += b"".join(incoming)
        events = own.wait_for_events(2)
    assert CHAT.is_refused(data_of(seen))
    (found,) = (each["payload"] for each in events if "edits" in each["payload"])
    assert (found["action"], [each["new"] for each in found["edits"]]) == ("block", ["1889"])


def test_the_audit_trail_has_the_changes(tmp_path: Path) -> None:
    text = "".join(BAD)
    found: dict[str, Any] = {}
    for kept in ("full", "hash"):
        (folder := tmp_path / kept).mkdir()
        yaml = f"check: {{action: repair}}\naudit: {{text: {kept}}}"
        with gateway(folder, yaml, detector=Detector.load(threads=1)) as own:
            own.upstream.script(Script.json(CHAT.body(text)))
            own.post_to(CHAT.path, CHAT.request(**SOURCED))
            (event_,) = own.wait_for_events(1)
        found[kept] = event_["payload"]
    assert found["full"]["action"] == "repair"
    (edit,) = found["full"]["edits"]
    assert edit == {"start": 24, "end": 28, "old": "1950", "new": "1889"}
    assert text[edit["start"] : edit["end"]] == edit["old"]
    assert [each["old"] for each in found["hash"]["edits"]] == [None]
    assert WRONG not in without_ids(json.dumps(found["hash"]))
