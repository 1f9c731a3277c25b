"""The command line as tests run it: in this process, with a fixed detector."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner, Result

from groundwire.cli import cli
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.detection.any_detector import AnyDetector
from tests.fakes import FixedDetector


def invoke(
    *args: object,
    stdin: str | bytes | None = None,
    setup: Setup | None = None,
    environ: Mapping[str, str] | None = None,
) -> Result:
    """Run a command, standard output and standard error apart."""
    # Click before 8.2 joins them unless told not to; later it knows no such option.
    old = "mix_stderr" in inspect.signature(CliRunner).parameters
    options: dict[str, Any] = {"mix_stderr": False} if old else {}
    return CliRunner(**options).invoke(
        cli, list(map(str, args)), input=stdin, obj=setup, env=environ
    )


@dataclass
class CommandLine:
    """Runs commands; :attr:`choice` is what the last one asked to be loaded."""

    detector: AnyDetector
    choice: DetectorChoice | None = None

    def __call__(self, *args: object, stdin: str | bytes | None = None) -> Result:
        return invoke(*args, stdin=stdin, setup=Setup(load=self._load))

    def _load(self, choice: DetectorChoice) -> AnyDetector:
        self.choice = choice
        return self.detector


@pytest.fixture
def run() -> CommandLine:
    """Commands with a detector that flags ``9 million`` and contradicts ``1950``."""
    return CommandLine(
        FixedDetector(unsupported=["9 million"], contradicted=["1950"], fails_on="BOOM")
    )


@pytest.fixture
def run_with() -> Callable[[AnyDetector], CommandLine]:
    """Commands with a detector of the test's own."""
    return CommandLine
