"""What the pages show of the start of ``groundwire serve`` is what it prints."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.test_serve import gateway, wait_for

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/gateway.md")
_START = re.compile(
    r"```console\n(?:\$ [^\n]*\n)*?\$ (?:\.venv/bin/)?groundwire serve (?P<options>[^\n]*)\n"
    r"```\n.*?"
    r"<!-- start -->\n```text\n(?P<shown>.*?)```",
    re.DOTALL,
)

pytestmark = [
    pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="this is no checkout"),
    pytest.mark.skipif(sys.platform != "linux", reason="the application folder is another"),
]


@pytest.mark.merge
@pytest.mark.parametrize("page", PAGES)
def test_a_start_prints_what_is_shown(page: str, tmp_path: Path) -> None:
    found = _START.search((ROOT / page).read_text(encoding="utf-8"))
    assert found is not None
    with gateway(
        *shlex.split(found["options"]),
        "--port=0",
        is_terminal=True,
        HOME=str(tmp_path),
        XDG_CONFIG_HOME=str(tmp_path / ".config"),
        OPENAI_API_KEY="sk-0",
    ) as started:
        url, admin_url = started.url(), started.admin_url()
        # What is said of keys comes last where the database is slow to open.
        wait_for(lambda: started.said.count("\n") >= found["shown"].count("\n"))
        printed = started.said.replace(url, "http://127.0.0.1:8080").replace(str(tmp_path), "~")
    printed = printed.replace(admin_url, "http://127.0.0.1:8090")
    printed = re.sub(r"(gwa?_)\S{43}", r"\1...", printed)
    assert sorted(printed.split("\n")) == sorted(found["shown"].split("\n"))
