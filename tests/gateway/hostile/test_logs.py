"""What is in no log and no error."""

import itertools
import logging
from pathlib import Path

import pytest

from groundwire import Detector
from tests.fixed_judge import RecordingJudge
from tests.gateway.chats import KEY, WRONG, gateway, request, without_ids
from tests.gateway.hostile.modes import MODES, said
from tests.gateway.wire import DONE, End, Script, completion, stream_events

pytestmark = pytest.mark.nightly


def test_nothing_of_prompts_answers_sources_and_keys_is_in_logs_or_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    marks = {"PROMPTMARK", "ANSWERMARK", "SOURCEMARK", "TOOLMARK", "upstreamkeymark", KEY}
    judge = RecordingJudge(doubtful={WRONG: 0.9})
    failing = RecordingJudge(doubtful={}, fails=True)
    body = request(
        messages=[
            {"role": "user", "content": "PROMPTMARK?"},
            {"role": "tool", "tool_call_id": "1", "content": "TOOLMARK"},
        ],
        metadata={"grounding.sources": ["SOURCEMARK it is.", 3, "\ud800SOURCEMARK"]},
    )
    plain = {**body, "metadata": {"grounding.sources": ["SOURCEMARK it is."]}}
    answer = f"ANSWERMARK is here. It was {WRONG}."
    scripts = [
        Script.json(completion(answer)),
        Script.json(None, body=(b'{"choices": "ANSWERMARK',)),
        Script.json(completion("ANSWERMARK \ud800")),
        Script.error(500, "ANSWERMARK"),
        Script.sse(stream_events([answer])),
        Script.sse([said("ANSWERMARK"), b"data: {ANSWERMARK\n\n", DONE]),
        Script.sse([said("ANSWERMARK")], end=End.RESET),
        Script.sse([said("ANSWERMARK")], encoding="gzip", end=End.CLOSE),
        Script.sse([said("ANSWERMARK")], headers=(("Content-Type", "text/event-stream"),
                                                  ("Content-Encoding", "gzip"))),
        Script(raw=b"ANSWERMARK\r\n\r\n"),
        Script.json(None, claimed_length=99, body=(b"ANSWERMARK",), end=End.CLOSE),
    ]  # fmt: skip
    told: list[str] = []
    for mode, own_judge in itertools.product(("sentence", "log", "header"), (judge, failing)):
        folder = tmp_path / f"{mode}-{own_judge.fails}"
        folder.mkdir()
        yaml = f"{MODES[mode]}\nupstream: {{api_key: upstreamkeymark}}"
        with gateway(folder, yaml, detector=Detector(own_judge)) as own:
            for script, given in itertools.product(scripts, (plain, body)):
                own.upstream.script(script)
                try:
                    response = own.post({**given, "stream": b"data" in bytes_of(script)})
                except Exception:  # noqa: BLE001 - a relayed stream that broke off
                    continue
                if response.status_code >= 400 and response.status_code != 500:
                    told.append(response.text)
            told.append(own.post(b'{"PROMPTMARK').text)
            told.append(own.post(b'{"messages": "PROMPTMARK"}').text)
            wrong = {"Authorization": f"Bearer {KEY}PROMPTMARK"}
            told.append(own.post(plain, headers=wrong).text)
    captured = capfd.readouterr()
    ours = (each for each in caplog.records if not each.name.startswith(("httpx", "httpcore")))
    logged = "\n".join(f"{each.getMessage()} {each.exc_text or ''}" for each in ours)
    everything = logged + captured.out + captured.err + "".join(told)
    assert logged
    assert not [mark for mark in marks if mark in everything]
    assert WRONG not in without_ids(everything)


def bytes_of(script: Script) -> bytes:
    return b"".join(each for each in script.body if isinstance(each, bytes))
