"""The commands of docs/http-api.md print what the page shows."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundwire import Pipeline
from groundwire.config import parse
from tests.gateway.native_app import native

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"
SHOWN = "http://127.0.0.1:8080"
_BLOCKS = re.compile(r"```bash\n(?P<command>.*?)```\n\n```json\n(?P<result>.*?)```", re.DOTALL)

pytestmark = [
    pytest.mark.skipif(not PAGE.is_file(), reason="this is no checkout"),
    pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed"),
    pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed"),
]


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    config = parse("detector: {threads: 2}", name="groundwire.yaml")
    with Pipeline.load(config) as pipeline, native(pipeline) as url:
        yield url


def blocks() -> list[tuple[str, str]]:
    return _BLOCKS.findall(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else []


def documents(text: str) -> list[Any]:
    """One JSON document, or JSON Lines."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def require_within(shown: object, printed: object, place: str = "") -> None:
    """What is shown is printed: objects may have more keys, lists are complete."""
    if isinstance(shown, dict):
        assert isinstance(printed, dict), place
        for key, value in shown.items():
            assert key in printed, f"{place}.{key}"
            require_within(value, printed[key], f"{place}.{key}")
    elif isinstance(shown, list):
        assert isinstance(printed, list), place
        assert len(shown) == len(printed), place
        for i, (one, other) in enumerate(zip(shown, printed, strict=True)):
            require_within(one, other, f"{place}[{i}]")
    else:
        assert shown == printed, place


@pytest.mark.parametrize(("command", "result"), blocks(), ids=range(len(blocks())))
def test_a_command_prints_what_is_shown(base: str, command: str, result: str) -> None:
    assert SHOWN in command
    done = subprocess.run(
        ["bash", "-c", command.replace(SHOWN, base).replace("curl ", "curl -sS ", 1)],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"GROUNDWIRE_KEY": "gw_test", "PATH": "/usr/bin:/bin", "NO_PROXY": "*"},
        timeout=60,
    )
    require_within(documents(result), documents(done.stdout))


def test_all_commands_are_tried() -> None:
    assert len(blocks()) == PAGE.read_text(encoding="utf-8").count("```bash") >= 7
