"""``groundwire doctor``."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from groundwire.detection.any_detector import AnyDetector
from tests.cli.conftest import CommandLine
from tests.engine.test_models import write_model
from tests.fakes import FixedDetector


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a reader in place of that in the package."""
    monkeypatch.setattr("groundwire.engine.models._ROOT", tmp_path)
    monkeypatch.setenv("GROUNDWIRE_CACHE", str(tmp_path / "cache"))
    write_model(tmp_path, "reader")
    return tmp_path


def finding(result: Result, name: str) -> dict[str, Any]:
    findings = json.loads(result.stdout)["findings"]
    (found,) = [each for each in findings if each["name"] == name]
    assert isinstance(found, dict)
    return found


def test_where_the_main_job_works_doctor_says_so(run: CommandLine) -> None:
    result = run("doctor")
    assert result.exit_code == 0, result.stdout
    assert result.stdout.endswith("\nAnswers can be checked.\n")
    assert "  no  " not in result.stdout
    for part in ("Python 3", "numpy", "files intact", "English"):
        assert part in result.stdout


def test_the_self_check_really_checks(
    run: CommandLine, run_with: Callable[[AnyDetector], CommandLine]
) -> None:
    found = finding(run("doctor", "--json"), "self-check")
    assert found["ok"] is True
    assert found["detail"] == "hallucinated ('1950')"
    # A detector that finds nothing wrong does not work, though nothing failed.
    result = run_with(FixedDetector())("doctor", "--json")
    assert result.exit_code == 2
    assert finding(result, "self-check")["ok"] is False


def test_a_self_check_that_fails_is_a_finding_and_no_crash(
    run_with: Callable[[AnyDetector], CommandLine],
) -> None:
    result = run_with(FixedDetector(fails_on="1950"))("doctor")
    assert result.exit_code == 2
    assert "  no  self-check        DetectionError: The detector failed on '1950'." in result.stdout
    assert result.stdout.endswith("Answers cannot be checked; see the lines marked no.\n")


def test_a_damaged_model_is_named(run: CommandLine, models: Path) -> None:
    (models / "reader" / "weights.onnx").write_bytes(b"other")
    result = run("doctor", "--json")
    assert result.exit_code == 2
    assert "weights.onnx is not the file" in finding(result, "model reader")["detail"]


def test_a_missing_model_is_told(run: CommandLine, models: Path) -> None:
    (models / "reader" / "manifest.json").unlink()
    result = run("doctor")
    assert result.exit_code == 2
    assert "  no  model reader      not there\n      Install the packages again" in result.stdout


def test_a_broken_package_is_told_with_the_next_step(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = run("doctor")
    assert result.exit_code == 2
    assert "pip install --force-reinstall onnxruntime" in result.stdout


def test_extras_come_with_the_command_that_installs_them(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = [
        "numpy>=1",
        "click>=8; extra == 'here'",
        'no-such-package>=1; python_version > "3" and extra == "away"',
        "click; extra == 'away'",
        "pytest; extra == 'dev'",
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: requirements)
    result = run("doctor", "--json")
    assert result.exit_code == 0  # nothing that is optional is needed
    assert finding(result, "extra here")["detail"] == "installed"
    assert finding(result, "extra away")["detail"] == (
        "not installed (lacks no-such-package); to install it: pip install '.[away]'"
    )
    assert "extra dev" not in result.stdout
