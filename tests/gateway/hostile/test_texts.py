"""Models and clients that write what machines read."""

from pathlib import Path
from typing import Any

import pytest

from groundwire import Detector
from tests.fixed_judge import FixedJudge
from tests.gateway.chats import Gateway, events_of, gateway, request, text_of
from tests.gateway.hostile.modes import BAD, BLOCK, EVERY, told
from tests.gateway.wire import Script, completion, stream_events

pytestmark = pytest.mark.nightly


NASTY = [
    "One.\r\nX-Evil: 1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    'One.\n\ndata: {"choices":[{"index":0,"delta":{"content":"evil"}}]}\n\n',
    "One.\n\ndata: [DONE]\n\n",
    "\x1b]0;evil\x07\x1b[2J One.\x00\x7f\x9b31m",
    "One.\u2028data: [DONE]\u2029\x85data: {}\x0b\x0c\x1c\x1d\x1e",
    "\ufeffOne.\u202eevil\u200b",
    "%0d%0aX-Evil: 1; , \t",
    "😀" * 400,
]


@EVERY
@pytest.mark.parametrize("text", NASTY)
def test_what_a_model_writes_stays_its_text(
    running: dict[str, Gateway], mode: str, text: str
) -> None:
    own = running[mode]
    got = told(own, Script.sse(stream_events([*text, "", " It is."])))
    events = events_of(got)
    assert text_of(events) == f"{text} It is."
    assert events.count("[DONE]") == 1
    if mode in ("sentence", "deferred"):  # readers who divide lines wherever Unicode does
        assert all(
            line.startswith(("data: ", ":")) or not line for line in got.decode().splitlines()
        ) or not any(each in text for each in "\u2028\u2029\x85")
    own.upstream.script(Script.json(completion(text)))
    response = own.post(request())
    assert response.json()["choices"][0]["message"]["content"] == text
    assert "x-evil" not in response.headers


class Doubting(dict[str, float]):
    """Doubts every word."""

    def get(self, key: str, default: Any = None) -> float:  # noqa: ANN401
        del key, default
        return 0.9


@pytest.mark.parametrize("text", NASTY)
def test_spans_in_headers_events_and_warnings_are_text(tmp_path: Path, text: str) -> None:
    yaml = "check: {action: %s, include_details: true}"
    answer = f"Evil {text} evil"
    for action in ("header", "body"):
        folder = tmp_path / action
        folder.mkdir()
        detector = Detector(FixedJudge(doubtful=Doubting()))
        with gateway(folder, yaml % action, detector=detector) as own:
            own.upstream.script(
                Script.json(completion(answer)), Script.sse(stream_events([answer]))
            )
            response = own.post(request())
            events = own.stream()
            n_events = len(own.wait_for_events(2))
        names = [name for name, _ in response.headers.multi_items()]
        assert len(names) == len(set(names))
        assert "x-evil" not in names
        spans = response.headers.get("x-vsr-hallucination-spans", "")
        assert len(spans) <= 500
        assert spans.isascii()
        assert spans.isprintable()
        assert events.count("[DONE]") == 1
        assert n_events == 2  # each on one line
        if action == "body" and "\0" not in text:  # which no detector reads
            warning = response.json()["choices"][0]["message"]["content"].partition("\n\n")[0]
            assert warning.startswith("[Hallucination Warning]")
            assert warning.isprintable()


def test_names_and_ids_of_a_client_reach_no_header_and_no_log_line_as_they_are(
    tmp_path: Path,
) -> None:
    evil = "m\r\nX-Evil: 1\x1b[2J"
    with gateway(tmp_path, BLOCK) as own:
        own.upstream.otherwise(Script.json(completion(BAD)))
        response = own.post(request(model=evil), headers={"X-Trace-ID": "a b<script>"})
        assert response.status_code == 403
        assert "x-evil" not in response.headers
        assert response.headers["x-trace-id"].isalnum()
        long = own.post(request(), headers={"X-Trace-ID": "a" * 65})
        assert long.headers["x-trace-id"] != "a" * 65
        assert all(len(line.splitlines()) == 1 for line in own.audit.read_text().split("\n")[:-1])
