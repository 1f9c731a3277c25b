"""Runs the commands that pages show, and returns what they print now.

``docs/generate.py`` calls this module for parts with the name ``output``, which are console blocks
with ``groundwire`` commands. The commands run in the folder that the page's own Python example
makes, or in an empty one. Parts with the name ``slow output`` take minutes, so they only run with
``--slow``; otherwise only the model that they name is compared. If a command reads
``labelled.jsonl``, that file is made from the cases of ``tests/cases`` that are not blind.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from doctest import DocTestParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from groundwire.engine.models import BASE_PACKAGE, READER_BASE, find_model

sys.path.append(str(Path(__file__).parents[1]))
from tests.cases import case

LABELLED = "labelled.jsonl"

_COMMAND = re.compile(r"^\$ groundwire ((?:.*\\\n)*.*)\n", re.MULTILINE)
_FOLDER = re.compile(r"^```python\n(>>> .*?\n>>> folder = .*?)^```", re.MULTILINE | re.DOTALL)
_REVISION = re.compile(r"(?P<name>reader(?:-base|-small)?)(?P<sign>[ @])(?P<revision>[0-9a-f]{12})")
_NUMBER = re.compile(r"[\d.]+")


def run(arguments: list[str], folder: Path | None = None) -> str:
    """Run ``groundwire``, and return what it prints to standard output; needs reader-base."""
    if find_spec(BASE_PACKAGE) is None:
        raise SystemExit("Install reader-base first: pip install ./models/reader-base")
    done = subprocess.run(
        [sys.executable, "-m", "groundwire", *arguments],
        capture_output=True,
        check=False,
        cwd=folder,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1", "NO_COLOR": "1"},
    )
    if not done.stdout:
        raise SystemExit(f"groundwire {shlex.join(arguments)} printed nothing: {done.stderr}")
    return done.stdout


def of_the_shipped(block: str) -> str:
    """Return a block without running it, with the revision of the shipped reader put in."""
    return _REVISION.sub(
        lambda found: f"{READER_BASE}{found['sign']}{find_model(READER_BASE).revision}", block
    )


def again(block: str, page: str) -> str:
    """Run the commands of a console block again, and return the block with their new output.

    Args:
        block: The block, without the fence that closes it.
        page: The text of the page that has the block.
    """
    parts = []
    with tempfile.TemporaryDirectory() as empty:
        folder = _folder_of(page) or Path(empty)
        for command in _COMMAND.finditer(block):
            line, _, file = command[1].replace("\\\n", "").partition(" > ")
            if LABELLED in line:
                _write_labelled(folder / LABELLED)
            printed = run(shlex.split(line), folder)
            if file:
                (folder / file).write_text(printed, encoding="utf-8")
            parts.append(command[0] + ("" if file else printed))
    return f"```console\n{''.join(parts)}"


def without_numbers(text: str) -> str:
    """Return an output without numbers, which differ between machines, but with revisions."""
    kept = [f"{found['name']}{found['revision']}" for found in _REVISION.finditer(text)]
    return _NUMBER.sub("", _REVISION.sub("", text)) + " ".join(kept)


def _write_labelled(path: Path) -> None:
    cases = [*case.must_pass(), *case.further(), *case.unseen()]
    rows = [
        {
            "sources": each.sources,
            "question": each.question,
            "answer": each.answer,
            "spans": [
                (each.answer.index(part), each.answer.index(part) + len(part))
                for part in each.marked
            ],
        }
        for each in cases
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _folder_of(page: str) -> Path | None:
    """Run the page's example that makes files, if it has one, and return their folder."""
    example = _FOLDER.search(page)
    if example is None:
        return None
    names: dict[str, Any] = {}
    for each in DocTestParser().get_examples(example[1]):
        exec(each.source, names)
    made: Path = names["folder"]
    return made
