"""The exit statuses of the commands, each with what leads to it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundwire.cli.detectors import Setup
from tests.cli.conftest import invoke
from tests.fakes import FixedDetector

#: Files that the commands read, in the folder where they run.
FILES = {
    "facts.txt": "Paris has 2.1 million inhabitants.",
    "answers.jsonl": '{"sources": ["Paris."], "answer": "Paris."}\n',
    "wrong.jsonl": '{"sources": ["Paris."], "answer": "1950."}\n',
    "broken.jsonl": "{\n",
    "labelled.jsonl": (
        '{"sources": ["Paris."], "answer": "Paris.", "label": 0}\n'
        '{"sources": ["Paris."], "answer": "1950.", "label": 1}\n'
    ),
    "half.jsonl": '{"sources": ["Paris."], "answer": "Paris.", "label": 0}\n{"answer": 1}\n',
    "good.yaml": "check: {action: block}\n",
    "bad.yaml": "check: {action: explode}\n",
    "empty.jsonl": "",
}
_EVALUATE = ("evaluate", "--data", "labelled.jsonl", "--output", "results.jsonl")
_MIGRATE = ("store", "migrate", "--store", "sqlite:///own.db")
#: Command lines, as one would type them; without quotes.
COMMANDS = (
    ("--help",),
    ("--version",),
    ("no-such-command",),
    ("check", "--source", "Paris.", "--answer", "Paris."),
    ("check", "--source", "Paris.", "--answer", "It was 1950."),
    ("check", "--source-file", "facts.txt", "--answer", "Paris.", "--json"),
    ("check", "--source-file", "missing.txt", "--answer", "Paris."),
    ("check", "--answer", "Paris."),
    ("check", "--source", "Paris."),
    ("check", "--source", "Paris.", "--answer", ""),
    ("check", "--source", "Paris.", "--answer", "BOOM"),
    ("check", "--source", "Paris.", "--answer", "Paris.", "--no-such-option"),
    ("check", "--batch", "answers.jsonl"),
    ("check", "--batch", "wrong.jsonl"),
    ("check", "--batch", "broken.jsonl"),
    ("check", "--batch", "missing.jsonl"),
    ("explain", "--source", "Paris.", "--answer", "It was 1950."),
    ("explain", "--source", "Paris.", "--answer", "Paris."),
    ("explain", "--source", "Paris."),
    ("verify", "--answer", "Paris is large. [S0]", "--span-text", "S0=Paris is large."),
    ("verify", "--answer", "Paris has 9 lakes. [S0]", "--span-text", "S0=Paris has 2 lakes."),
    ("verify", "--answer", "Paris is large. [S0]", "--verifier", "no-such-verifier"),
    ("evaluate", "--data", "labelled.jsonl"),
    _EVALUATE,
    ("evaluate", "--data", "half.jsonl"),
    ("evaluate", "--data", "empty.jsonl"),
    ("evaluate", "--data", "missing.jsonl"),
    ("report", "results.jsonl"),
    ("report", "missing.jsonl"),
    ("regress", "--data", "labelled.jsonl", "--max-rate", "0.9"),
    ("regress", "--data", "labelled.jsonl", "--max-rate", "0.1"),
    ("regress", "--data", "labelled.jsonl"),
    ("tune", "--data", "empty.jsonl", "--target-recall", "0.9"),
    ("bench", "no-such-benchmark"),
    ("measure", "generate", "--data", "missing.jsonl", "--model", "m", "--output", "a.jsonl"),
    ("measure", "no-such-step"),
    ("config", "check", "good.yaml"),
    ("config", "check", "bad.yaml"),
    ("config", "check", "missing.yaml"),
    ("config", "show", "good.yaml"),
    ("serve", "--config", "bad.yaml"),
    ("serve", "--no-such-option"),
    _MIGRATE,
    ("accounts", "list", "--store", "sqlite:///own.db"),
    ("accounts", "remove", "nobody", "--store", "sqlite:///own.db"),
    ("labels", "--store", "sqlite:///own.db"),
    ("store", "migrate", "--store", "no-such-kind://x"),
    ("keys", "create", "--admin", "--store", "sqlite:///own.db"),
    ("keys", "list", "--admin", "--store", "sqlite:///own.db"),
    ("keys", "list"),
    ("audit", "verify", "--file", "missing.jsonl"),
    ("audit", "verify", "--file", "empty.jsonl"),
    ("train", "no-such-model"),
    ("gate", "When was it built?"),
    ("mcp", "--no-such-option"),
    ("doctor",),
)
#: What has to be run before a command, in the same folder.
BEFORE = {
    ("report", "results.jsonl"): _EVALUATE,
    ("keys", "create", "--admin", "--store", "sqlite:///own.db"): _MIGRATE,
    ("keys", "list", "--admin", "--store", "sqlite:///own.db"): _MIGRATE,
    ("accounts", "list", "--store", "sqlite:///own.db"): _MIGRATE,
    ("accounts", "remove", "nobody", "--store", "sqlite:///own.db"): _MIGRATE,
}


def build() -> Iterator[tuple[str, object]]:
    """The golden file, anew."""
    yield "statuses", {" ".join(command): run(command) for command in COMMANDS}


@contextmanager
def _folder() -> Iterator[None]:
    """Be in a folder with :data:`FILES`."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as own:
        for name, text in FILES.items():
            Path(own, name).write_text(text, encoding="utf-8")
        os.chdir(own)
        try:
            yield
        finally:
            os.chdir(before)


def run(command: tuple[str, ...]) -> dict[str, object]:
    """What a command tells the shell, and where it writes, in a folder of its own."""
    detector = FixedDetector(unsupported=["1950"], fails_on="BOOM")
    setup = Setup(load=lambda choice: detector)
    with _folder():
        # Keys that somebody keeps at home would sign records.
        home = {"HOME": str(Path.cwd()), "XDG_CONFIG_HOME": ""}
        if command in BEFORE:
            invoke(*BEFORE[command], setup=setup, environ=home)
        result = invoke(*command, setup=setup, environ=home)
    return {
        "status": int(result.exit_code),
        "writes_output": bool(result.stdout),
        "writes_errors": bool(result.stderr),
    }
