"""The step of the GitHub Action, run by bash as a runner would, before a scripted GitHub."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.evaluation.made_results import Row, write
from tests.gateway.wire import Recorded, Script, ScriptedUpstream

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "action"
COMMANDS = ("bash", "curl", "jq", "xargs")
TOKEN = "ghs_" + "t" * 36
ISSUE = "/v1/repos/own/answers/issues/7/comments"
MARKER = "<!-- groundwire regress -->"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="this is no checkout")


def action() -> dict[str, Any]:
    return dict(YAML(typ="safe").load(FOLDER / "action.yml"))


@dataclass
class Comments:
    """The comments of a pull request, as GitHub's API has them, a hundred a page."""

    bodies: list[str] = field(default_factory=list)
    refuses: bool = False

    def __call__(self, request: Recorded) -> Script:
        if self.refuses:
            return Script.error(403, "Resource not accessible by integration")
        if request.method == "GET":
            page = int(re.findall(r"\bpage=(\d+)", request.query)[0])
            found = [{"id": n, "body": body} for n, body in enumerate(self.bodies)]
            return Script.json(found[100 * (page - 1) : 100 * page])
        body = request.json()["body"]
        if request.method == "PATCH":
            self.bodies[int(request.path.rsplit("/", 1)[1])] = body
        else:
            self.bodies.append(body)
        return Script.json({})


@dataclass
class Ran:
    """What the step left behind."""

    status: int
    log: str
    summary: str
    output: str


@pytest.fixture
def github() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as server:
        yield server


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with results of before, and of now, where one of five is no longer found."""
    for name, n_missed in (("before", 0), ("now", 1)):
        rows = [
            Row(score=0.9 * (n >= n_missed), hallucinated=n < 5, context=str(n)) for n in range(6)
        ]
        write(tmp_path / f"{name} it.jsonl", rows)
    return tmp_path


def step(
    folder: Path,
    arguments: str,
    github: ScriptedUpstream,
    *,
    token: str = "",
    number: int | None = 7,
) -> Ran:
    """Run the step in a folder with the environment that a runner gives it."""
    event = {} if number is None else {"pull_request": {"number": number}}
    (folder / "event.json").write_text(json.dumps(event))
    given = {"arguments": arguments, "github-token": token, "python": sys.executable}
    (run,) = action()["runs"]["steps"]
    inputs = {
        name: given[re.fullmatch(r"\$\{\{ inputs\.(\S+) \}\}", value)[1]]  # type: ignore[index]
        for name, value in run["env"].items()
    }
    files = {"GITHUB_STEP_SUMMARY": folder / "summary.md", "GITHUB_OUTPUT": folder / "output"}
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(FOLDER),
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": "own/answers",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "RUNNER_TEMP": str(folder),
        **{name: str(path) for name, path in files.items()},
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run["run"]],
        cwd=folder,
        env=environ | inputs,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    summary, output = (path.read_text() if path.exists() else "" for path in files.values())
    return Ran(done.returncode, done.stdout + done.stderr, summary, output)


def compared(allowed: int) -> str:
    return f"--baseline 'before it.jsonl' --results 'now it.jsonl'\n--max-drop recall={allowed}\n"


needs_commands = pytest.mark.skipif(
    not all(map(shutil.which, COMMANDS)), reason=f"needs the commands {', '.join(COMMANDS)}"
)


@needs_commands
@pytest.mark.merge
def test_a_drop_fails_the_step_and_stands_in_the_summary(
    results: Path, github: ScriptedUpstream
) -> None:
    ran = step(results, compared(19), github)
    assert (ran.status, ran.output) == (1, "status=1\n")
    assert "### groundwire regress: FAILED" in ran.summary
    assert "20.00 points worse, and 19 worse are allowed" in ran.summary
    assert "::error title=groundwire regress::recall is 80.0 %" in ran.log
    assert "::error" not in ran.summary
    assert github.requests == ()


@needs_commands
@pytest.mark.merge
def test_within_the_limits_the_step_passes(results: Path, github: ScriptedUpstream) -> None:
    ran = step(results, compared(20), github)
    assert (ran.status, ran.output) == (0, "status=0\n")
    assert "### groundwire regress: passed" in ran.summary


@needs_commands
@pytest.mark.merge
@pytest.mark.parametrize("arguments", ["--max-drop f1=1", "--no-such-option", "'no end"])
def test_what_could_not_be_compared_does_not_pass(
    results: Path, github: ScriptedUpstream, arguments: str
) -> None:
    ran = step(results, arguments, github)
    assert ran.status != 0
    assert "passed" not in ran.summary


@needs_commands
@pytest.mark.merge
def test_nothing_in_the_arguments_is_run_by_the_shell(
    results: Path, github: ScriptedUpstream
) -> None:
    ran = step(results, "--max-rate $(touch run) `touch run` ; touch run", github)
    assert ran.status == 2
    assert not (results / "run").exists()


@needs_commands
@pytest.mark.merge
def test_with_a_token_the_pull_request_has_one_comment(
    results: Path, github: ScriptedUpstream
) -> None:
    comments = Comments([f"Not mine: {MARKER}", *["Fine."] * 150])
    github.otherwise(comments)
    assert step(results, compared(19), github, token=TOKEN).status == 1
    assert step(results, compared(20), github, token=TOKEN).status == 0
    mine = comments.bodies[151:]
    assert len(mine) == 1
    assert mine[0].startswith(f"{MARKER}\n### groundwire regress: passed\n")
    asked = [(each.method, each.path) for each in github.requests]
    change = ("PATCH", "/v1/repos/own/answers/issues/comments/151")
    assert asked == [
        ("GET", ISSUE),
        ("GET", ISSUE),
        ("POST", ISSUE),
        ("GET", ISSUE),
        ("GET", ISSUE),
        change,
    ]
    assert {each.header("Authorization") for each in github.requests} == {f"Bearer {TOKEN}"}


@needs_commands
@pytest.mark.merge
def test_a_comment_that_is_refused_is_a_warning_and_changes_no_status(
    results: Path, github: ScriptedUpstream
) -> None:
    github.otherwise(Comments(refuses=True))
    ran = step(results, compared(20), github, token=TOKEN)
    assert ran.status == 0
    assert "::warning title=groundwire regress::The comment could not be written." in ran.log
    assert TOKEN not in ran.log


@needs_commands
@pytest.mark.merge
def test_a_push_has_no_comment(results: Path, github: ScriptedUpstream) -> None:
    assert step(results, compared(20), github, token=TOKEN, number=None).status == 0
    assert github.requests == ()


def test_the_page_names_every_input_and_output() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    section = page.split("\n## GitHub Action\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)
    assert named == [*action()["inputs"], *action()["outputs"]]
