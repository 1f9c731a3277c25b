"""Writes the generated parts of the documentation; run it from a checkout after a change.

``python docs/generate.py`` rewrites the parts between ``<!-- generated: ... -->`` and
``<!-- end -->`` in README.md and docs/cli.md. ``--check`` compares them instead, and says what
differs, but for what differs between machines: line breaks of the help texts, probabilities, and
words marked on one side whose probability is close to the threshold.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from groundwire.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/cli.md")

_PART = re.compile(
    r"(?P<before><!-- generated: (?P<name>[^>]+) -->\n```text\n)(?P<text>.*?)"
    r"(?P<after>```\n<!-- end -->)",
    re.DOTALL,
)
_MAIN_JOB = re.compile(r"^\$ .*/groundwire (check .*)$", re.MULTILINE)
_SPAN = re.compile(r"^(\w+) +(\d+)-(\d+)  probability ([01]\.\d\d) .*\n", re.MULTILINE)
_THRESHOLD = re.compile(r"(?<=\(threshold )[\d.]+(?=\))")
_VARIES = re.compile(r"[⟦⟧]|(?<=^detector  reader )[0-9a-f]{12}", re.MULTILINE)
#: A word piece this far over the threshold on one machine is over it on all.
_MARGIN = 0.15


def main_job() -> str:
    """What README's first command prints in the end."""
    command = _MAIN_JOB.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if command is None:
        raise SystemExit("README.md has no line with the main job.")
    done = subprocess.run(
        [sys.executable, "-m", "groundwire", *shlex.split(command[1])],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1", "NO_COLOR": "1"},
    )
    if done.returncode != 1:
        raise SystemExit(f"The main job ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def help_of(command: str) -> str:
    """The help of a command, named as on the command line: ``groundwire models verify``."""
    program, *names = command.split()
    result = CliRunner().invoke(cli, [*names, "--help"], prog_name=program, terminal_width=90)
    if result.exit_code:
        raise SystemExit(f"There is no command {command!r}: {result.output}")
    return result.stdout


def generate(match: re.Match[str]) -> str:
    """One part, anew."""
    name = match["name"]
    text = main_job() if name == "main job" else help_of(name)
    return match["before"] + text + match["after"]


def is_same(old: str, new: str) -> bool:
    """Whether two versions of a page say the same."""
    fixed = [_VARIES.sub("", _THRESHOLD.sub("", _SPAN.sub("", text))) for text in (old, new)]
    return fixed[0].split() == fixed[1].split() and agrees(old, new) and agrees(new, old)


def agrees(text: str, other: str) -> bool:
    """Whether what one page clearly marks is marked on the other, with the same label."""
    threshold = _THRESHOLD.search(text)
    lowest = float(threshold[0]) + _MARGIN if threshold else 0
    marked = [(label, int(a), int(b)) for label, a, b, _ in _SPAN.findall(other)]
    return all(
        any(label == also and int(start) < b and a < int(end) for also, a, b in marked)
        for label, start, end, probability in _SPAN.findall(text)
        if float(probability) >= lowest
    )


def main() -> None:
    """Rewrite all pages, or compare them."""
    stale = []
    for page in PAGES:
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = _PART.sub(generate, old)
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
        elif not is_same(old, new):
            stale.append(page)
    if stale:
        raise SystemExit(f"Out of date: {', '.join(stale)}. Run: python docs/generate.py")


if __name__ == "__main__":
    main()
