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
from groundwire.gateway.demo.screen import curl
from groundwire.gateway.demo.walk import DemoReply, Scene, compare, scenes, script
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


@pytest.mark.merge
def test_every_scene_is_walked_and_all_that_must_hold_holds(walked: dict[str, Any]) -> None:
    assert [each["name"] for each in walked["scenes"]] == list(NAMES)
    assert all(each["expectations"] for each in walked["scenes"])
    assert walked["ok"] is True


@pytest.mark.merge
def test_what_is_withheld_is_nowhere_in_the_response(walked: dict[str, Any]) -> None:
    for name in ("block", "sentence", "deferred-block", "record"):
        shown = json.dumps(scene(walked, name)["response"] | {"audit": None})
        # Drawn ids and measured times hold any digits now and then.
        drawn = r"[0-9a-f]{32}|[0-9a-f]{16}|chatcmpl-\w+|_ms\": [\d.]+"
        assert not re.search("1950|500|million", re.sub(drawn, "", shown))


@pytest.mark.merge
def test_what_a_person_reads_is_plain_where_there_is_no_terminal() -> None:
    done = demo("--only", "block", "--only", "deferred-block", "--pace", "1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "1/2  BLOCK, and an answer that they contradict  (block)\n" in done.stdout
    assert '$ curl $URL/v1/chat/completions -H "Authorization: Bearer $KEY" -d \'{' in done.stdout
    assert " s  HTTP 403, application/json\n" in done.stdout
    assert " s  finish_reason: content_filter\n" in done.stdout
    assert re.search(r"^2 of 2 scenes are as they must be, in [\d.]+ s\.$", done.stdout, re.M)


@pytest.mark.merge
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
    monkeypatch.setitem(script()["settings"], "dvara.yaml", "check: {action: header}\n")
    result = invoke("demo", "--only", "sources", "--only", "block", "--pace", "1000")
    assert result.exit_code == 1
    assert result.stderr == "These scenes are not as they must be: block.\n"
    assert "    NOT SO    status is 403\n" in result.stdout
    assert "1 of 2 scenes are as they must be" in result.stdout


@pytest.mark.parametrize("each", scenes(), ids=lambda each: each.name)
def test_no_scene_is_content_with_an_empty_response(each: Scene) -> None:
    nothing = DemoReply(status=200, headers={}, began_s=0, n_asked=1)
    assert not all(holds for _, holds in compare(each.expects, nothing))


def test_a_stream_that_delivers_one_word_too_much_fails() -> None:
    (each,) = (each for each in scenes() if each.name == "deferred-block")
    leak = {"choices": [{"delta": {"content": "The"}}]}
    reply = DemoReply(status=200, headers={}, began_s=0, events=[(0, leak)])
    assert ("text is ''", False) in compare(each.expects, reply)


def test_the_scenes_are_those_that_the_command_names() -> None:
    assert [each.name for each in scenes()] == list(NAMES)
    assert {each.setting for each in scenes()} == set(script()["settings"])


def test_a_request_is_shown_as_a_command_for_a_shell() -> None:
    (each,) = (each for each in scenes() if each.name == "block")
    body = curl(each, url="http://h", key="k").partition(" -d '")[2].removesuffix("'")
    assert json.loads(body) == each.body


@pytest.mark.parametrize("args", [["--pace", "0"], ["--pace", "nan"], ["--only", "no-such-scene"]])
def test_what_cannot_be_is_said(args: list[str]) -> None:
    result = invoke("demo", *args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.serve.PACKAGES", (*PACKAGES, "no_such_package"))
    assert "pip install 'groundwire[gateway]'" in invoke("demo").stderr
