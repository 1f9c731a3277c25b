"""The commands of docs/http-api.md print what the page shows."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire import Pipeline
from groundwire.config import parse
from tests.gateway.native_app import native
from tests.gateway.page import documents, require_within

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"
SHOWN = "http://127.0.0.1:8080"
_BLOCKS = re.compile(r"```bash\n(?P<command>.*?)```\n\n```json\n(?P<result>.*?)```", re.DOTALL)

pytestmark = [
    pytest.mark.merge,
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
