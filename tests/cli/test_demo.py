"""``groundwire demo``: what it shows is what the gateway does."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from groundwire.cli.demo import NAMES
from groundwire.cli.settings import PACKAGES
from groundwire.engine.models import list_models
from groundwire.gateway.demo.traffic import TENANTS
from groundwire.gateway.demo.walk import curl, request_of, script
from tests.cli.conftest import invoke
from tests.gateway.client import fetch

PATIENCE_S = 120.0

pytestmark = pytest.mark.skipif(not list_models(), reason="the embedded models are not built")

#: By scene, words of the response as it is shown.
SHOWN = {
    "not-factual": ["HTTP 200", "and then the evening."],
    "unverified": ["x-vsr-unverified-factual-response: true"],
    "evidence": ["x-vsr-hallucination-spans: 1950; 500 meters", "x-vsr-max-severity: 4"],
    "stream-marks": ["groundwire.headers.x-vsr-hallucination-detected: true", "[DONE]"],
    "body": ["[Hallucination Warning] "],
    "sources": ["x-groundwire-outcome: grounded"],
    "block": ["HTTP 403", '"code": "hallucination_detected"'],
    "sentence": ["finish_reason: content_filter", "groundwire.code: hallucination_detected"],
    "unchecked": ["HTTP 403", '"code": "unchecked_endpoint"'],
    "record": ['audit     HALLUCINATION_DETECTED {"action": "block"'],
    "deferred": ["It has three levels for visitors.", "finish_reason: stop"],
    "deferred-block": ["finish_reason: content_filter"],
}


@pytest.mark.merge
def test_each_scene_shows_what_the_gateway_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("GROUNDWIRE_CHECK_ACTION", "none")  # the demo leaves the user's own alone
    result = invoke("demo", "--pace", "200")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    assert "curl" not in result.stdout
    page = Path(
        result.stdout.partition("\n")[0].removeprefix("An answer with its wrong words marked: ")
    )
    assert re.search('<mark class="[a-z]+" id="mark-1"[^>]*>[^<]*500', page.read_text("utf-8"))
    shown = dict(re.findall(r"^\d+/12  .*  \((.+)\)$\n((?:.+\n)*)", result.stdout, re.M))
    assert list(shown) == list(NAMES)
    for name, words in SHOWN.items():
        response = shown[name].split(" s  HTTP ", 1)[1]
        assert [each for each in words if each not in f"HTTP {response}"] == [], shown[name]
    for name in ("block", "sentence", "deferred-block"):
        response = re.sub(r"[0-9a-f]{32}|[\d.]+ s  ", "", shown[name].split(" s  HTTP ", 1)[1])
        assert not re.search("1950|500 meters|million", response)


@pytest.mark.nightly
@pytest.mark.merge
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_it_goes_on_serving_if_asked_to(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "groundwire", "demo", "--only", "block", "--keep"],
        env=os.environ | {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            export = next(line for line in lines if line.startswith("export "))
            found = re.fullmatch(r"export OPENAI_BASE_URL=(\S+) OPENAI_API_KEY=(\S+)\n", export)
            assert found is not None
            (block,) = (each for each in script()["scenes"] if each["name"] == "block")
            reply = fetch(
                f"{found[1]}/chat/completions",
                data=request_of(block)[1],
                headers={"Authorization": f"Bearer {found[2]}"},
            )
            assert reply.error["code"] == "hallucination_detected"
            console = next(line for line in lines if "/console" in line).split()[-1]
            end = time.monotonic() + PATIENCE_S
            while "had something unsupported" not in fetch(console, method="GET").text:
                assert time.monotonic() < end
                time.sleep(0.2)
            tenants = fetch(f"{console}/tenants", method="GET").text
            assert [each for each in TENANTS if f"/console/tenants/{each}" not in tenants] == []
            blocked = f"{console}?tenant={TENANTS[0]}&action=block"
            while "100% of" not in fetch(blocked, method="GET").text:
                assert time.monotonic() < end
                time.sleep(0.2)
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def test_the_scenes_are_those_that_the_command_names() -> None:
    assert [each["name"] for each in script()["scenes"]] == list(NAMES)
    assert {each["setting"] for each in script()["scenes"]} == set(script()["settings"])


def test_a_request_is_shown_as_a_command_for_a_shell() -> None:
    (each,) = (each for each in script()["scenes"] if each["name"] == "block")
    body = curl(each, url="http://h", key="k").partition(" -d '")[2].removesuffix("'")
    assert json.loads(body) == request_of(each)[1]


@pytest.mark.merge
def test_commands_are_shown_on_request() -> None:
    result = invoke("demo", "--only", "not-factual", "--curl")
    assert "$ curl $URL/v1/chat/completions" in result.stdout
    assert "$ groundwire serve --config halugate.yaml" in result.stdout
    assert "An answer" not in result.stdout


def test_a_scene_that_does_not_exist_is_refused() -> None:
    assert invoke("demo", "--only", "no-such-scene").exit_code == 2


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.settings.PACKAGES", (*PACKAGES, "no_such_package"))
    assert "pip install '.[gateway]'" in invoke("demo").stderr
