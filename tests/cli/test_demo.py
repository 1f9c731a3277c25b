"""``groundwire demo`` as a process: it checks what it shows, and so do these tests."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundwire.cli.demo import NAMES
from groundwire.cli.serve import PACKAGES
from groundwire.engine.models import list_models
from groundwire.gateway.demo import model
from groundwire.gateway.demo.asking import Arrival, DemoReply
from groundwire.gateway.demo.scenes import SCENES, SOURCES, SceneOutcome
from groundwire.gateway.demo.screen import curl
from groundwire.gateway.demo.settings import SETTINGS
from tests.cli.conftest import invoke
from tests.gateway.client import fetch

PATIENCE_S = 120.0

pytestmark = pytest.mark.skipif(not list_models(), reason="the embedded models are not built")


def environ() -> dict[str, str]:
    """An environment whose settings the demo has to leave alone."""
    wrong = {"GROUNDWIRE_CHECK_ACTION": "none", "GROUNDWIRE_GATEWAY_RELEASE": "deferred"}
    return os.environ | wrong | {"PYTHONUTF8": "1"}


def demo(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "groundwire", "demo", *args],
        env=environ(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.fixture(scope="module")
def walked() -> dict[str, Any]:
    """What a whole walk saw."""
    done = demo("--json", "--pace", "100")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def scene(walked: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (each for each in walked["scenes"] if each["name"] == name)
    assert isinstance(found, dict)
    return found


def test_every_scene_is_walked_and_all_that_must_hold_holds(walked: dict[str, Any]) -> None:
    assert [each["name"] for each in walked["scenes"]] == list(NAMES)
    assert all(each["expectations"] for each in walked["scenes"])
    assert walked["ok"] is True


def test_the_documented_example_has_the_documented_headers(walked: dict[str, Any]) -> None:
    headers = scene(walked, "evidence")["response"]["headers"]
    found = {name: value for name, value in headers.items() if name.startswith("x-vsr-")}
    assert found == {
        "x-vsr-fact-check-needed": "true",
        "x-vsr-hallucination-detected": "true",
        "x-vsr-hallucination-spans": "1950; 500 meters",
        "x-vsr-nli-contradictions": "2",
        "x-vsr-max-severity": "4",
        "x-vsr-response-warnings": "hallucination",
    }


def test_what_is_withheld_is_nowhere_in_the_response(walked: dict[str, Any]) -> None:
    for name in ("block", "sentence", "deferred-block", "record"):
        shown = json.dumps(scene(walked, name)["response"])
        # Drawn ids and measured times hold any digits now and then.
        drawn = r"[0-9a-f]{32}|[0-9a-f]{16}|chatcmpl-\w+|_ms\": [\d.]+"
        assert not re.search("1950|500|million", re.sub(drawn, "", shown))


def test_sentences_arrive_one_by_one_and_deferred_text_at_the_end(walked: dict[str, Any]) -> None:
    assert scene(walked, "sentence")["response"]["text"].strip() == model.ABOUT_TRUE
    events = scene(walked, "deferred")["response"]["events"]
    assert "".join(e["data"]["choices"][0]["delta"].get("content", "") for e in events[:-1]) == (
        model.WHAT
    )
    assert events[-1]["data"] is None


def test_a_finding_is_on_record_under_the_trace_id_of_its_response(walked: dict[str, Any]) -> None:
    seen = scene(walked, "record")
    (event,) = seen["audit"]
    assert event["trace_id"] == seen["response"]["headers"]["x-trace-id"]
    assert any(line.startswith("gateway_grounding_check_total{") for line in seen["metrics"])


def test_what_a_person_reads_is_plain_where_there_is_no_terminal() -> None:
    done = demo("--only", "block", "--only", "deferred-block", "--pace", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "1/2  BLOCK, and an answer that they contradict  (block)\n" in done.stdout
    assert '$ curl $URL/v1/chat/completions -H "Authorization: Bearer $KEY" -d \'{' in done.stdout
    assert " s  HTTP 403, application/json\n" in done.stdout
    assert " s  finish_reason: content_filter\n" in done.stdout
    assert re.search(r"^2 of 2 scenes are as they must be, in [\d.]+ s\.$", done.stdout, re.M)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_a_reader_that_stops_reading_is_no_failed_scene() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "groundwire", "demo", "--only", "block"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 141


@pytest.mark.merge
def test_colors_are_there_when_asked_for() -> None:
    assert "\x1b[" in invoke("demo", "--only", "not-factual", "--color", "always").stdout


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_goes_on_serving_if_asked_to(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "groundwire", "demo", "--only", "block", "--keep", "--json"],
        env=environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            report = json.loads("".join(_until(lines, "}\n")))
            (own,) = report["gateways"]
            body = report["scenes"][0]["request"]["body"]
            reply = fetch(
                f"{own['url']}/chat/completions",
                data=body,
                headers={"Authorization": f"Bearer {report['key']}"},
            )
            assert reply.error["code"] == "hallucination_detected"
            assert Path(own["audit"]).exists()
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 0
            assert not Path(own["audit"]).exists()
        finally:
            process.kill()


def _until(lines: Any, last: str) -> Any:  # noqa: ANN401 - an iterator of lines
    for line in lines:
        yield line
        if line == last:
            return


@pytest.mark.merge
def test_it_says_what_to_try_when_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.demo.wait_until_told", lambda: None)
    said = invoke("demo", "--only", "sentence", "--pace", "1000", "--keep").stdout
    assert re.search(r"^export OPENAI_BASE_URL=http://127\.0\.0\.1:\d+/v1 OPENAI_", said, re.M)
    assert re.search(r"^curl -N http://127\.0\.0\.1:\d+/v1/chat/completions -H ", said, re.M)


@pytest.mark.merge
def test_a_scene_that_is_not_as_it_must_be_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "dvara.yaml", "check: {action: header}\n")
    result = invoke("demo", "--only", "sources", "--only", "block", "--pace", "1000")
    assert result.exit_code == 1
    assert result.stderr == "These scenes are not as they must be: block.\n"
    assert "    NOT SO    the status is 403\n" in result.stdout
    assert "1 of 2 scenes are as they must be" in result.stdout


@pytest.mark.merge
def test_an_answer_that_the_models_find_nothing_in_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    true = "The Eiffel Tower is 330 meters tall."
    monkeypatch.setitem(model.ANSWERS, model.BUILT_QUESTION, true)
    result = invoke("demo", "--only", "evidence", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["ok"] is False


NOTHING = DemoReply(status=200, headers={}, began_s=0, ended_s=0, data=None, arrivals=())


@pytest.mark.parametrize("each", SCENES, ids=lambda each: each.name)
def test_no_scene_is_content_with_an_empty_response(each: Any) -> None:  # noqa: ANN401
    held = list(each.expects(SceneOutcome(reply=NOTHING, n_asked=1, is_live=False)))
    assert not all(holds for _, holds in held)


def test_a_stream_that_delivers_one_word_too_much_fails() -> None:
    (each,) = (each for each in SCENES if each.name == "deferred-block")
    leak = Arrival(at_s=0, data={"choices": [{"delta": {"content": "The"}}]})
    reply = DemoReply(status=200, headers={}, began_s=0, ended_s=0, data=None, arrivals=(leak,))
    held = dict(each.expects(SceneOutcome(reply=reply, n_asked=1, is_live=False)))
    assert held["no character is delivered"] is False


def test_the_scenes_are_those_that_the_command_names() -> None:
    assert [each.name for each in SCENES] == list(NAMES)
    assert {each.setting for each in SCENES} == set(SETTINGS)


def test_a_request_is_shown_as_a_command_for_a_shell() -> None:
    (each,) = (each for each in SCENES if each.name == "block")
    shown = curl(each.ask, url="http://h", key="k")
    body = shown.partition(" -d '")[2].removesuffix("'")
    assert json.loads(body) == each.ask.body
    assert json.loads(body)["metadata"]["grounding.sources"] == list(SOURCES)


@pytest.mark.parametrize("args", [["--pace", "0"], ["--pace", "nan"], ["--only", "no-such-scene"]])
def test_what_cannot_be_is_said(args: list[str]) -> None:
    result = invoke("demo", *args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.serve.PACKAGES", (*PACKAGES, "no_such_package"))
    assert "pip install 'groundwire[gateway]'" in invoke("demo").stderr
