"""The command line as tests run it: in this process, with a fixed detector."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from click.testing import CliRunner, Result

from groundwire.cli import cli
from groundwire.cli.detectors import Choice, Judge, Setup
from tests.fakes import FixedDetector


@dataclass
class CommandLine:
    """Runs commands; :attr:`choice` is what the last one asked to be loaded."""

    judge: Judge
    choice: Choice | None = None

    def __call__(self, *args: object, stdin: str | bytes | None = None) -> Result:
        runner = CliRunner()
        setup = Setup(load=self._load)
        return runner.invoke(cli, list(map(str, args)), input=stdin, obj=setup)

    def _load(self, choice: Choice) -> Judge:
        self.choice = choice
        return self.judge


@pytest.fixture
def run() -> CommandLine:
    """Commands with a detector that flags ``9 million`` and contradicts ``1950``."""
    return CommandLine(
        FixedDetector(unsupported=["9 million"], contradicted=["1950"], fails_on="BOOM")
    )


@pytest.fixture
def run_with() -> Callable[[Judge], CommandLine]:
    """Commands with a detector of the test's own."""
    return CommandLine
