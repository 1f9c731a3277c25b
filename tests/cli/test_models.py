"""``groundwire models``."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.engine.test_models import write_model


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models in place of that in the package."""
    monkeypatch.setattr("groundwire.engine.models._ROOT", tmp_path)
    write_model(tmp_path, "tiny")
    return tmp_path


@pytest.mark.parametrize("args", [["models"], ["models", "list"]])
def test_models_are_listed_with_what_one_has_to_know(
    run: CommandLine, models: Path, args: list[str]
) -> None:
    result = run(*args)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "tiny 1  (reader, from a base)",
        "  size              1 file, 0.0 MB",
        "  licence           Apache-2.0",
    ]
    assert lines[3].startswith("  revision          ")
    assert lines[4] == "  operating points  precision 0.9, balanced 0.5, recall 0.2"


@pytest.mark.parametrize("args", [["models", "--json"], ["models", "list", "--json"]])
def test_models_are_listed_for_machines(run: CommandLine, models: Path, args: list[str]) -> None:
    (model,) = json.loads(run(*args).stdout)
    assert model["name"] == "tiny"
    assert model["bytes"] == 7
    assert model["operating_points"]["recall"] == 0.2
    assert Path(model["folder"]) == models / "tiny"


def test_intact_models_are_verified(run: CommandLine, models: Path) -> None:
    result = run("models", "verify")
    assert result.exit_code == 0
    assert result.stdout == "tiny: 1 file, 0.0 MB as the manifest says\n"


def test_a_damaged_file_is_named_and_the_others_are_still_verified(
    run: CommandLine, models: Path
) -> None:
    write_model(models, "a")
    weights = models / "a" / "weights.onnx"
    weights.write_bytes(b"other")
    result = run("models", "verify")
    assert result.exit_code == 2
    assert f"error: a: {weights} is not the file its manifest describes" in result.stderr
    assert result.stdout.startswith("tiny: ")


def test_findings_of_verify_are_written_for_machines(run: CommandLine, models: Path) -> None:
    (models / "tiny" / "weights.onnx").unlink()
    result = run("models", "verify", "--json")
    assert result.exit_code == 2
    (finding,) = json.loads(result.stdout)
    assert (finding["name"], finding["ok"]) == ("tiny", False)
    assert "weights.onnx" in finding["problem"]


def test_one_model_can_be_verified_by_name(run: CommandLine, models: Path) -> None:
    write_model(models, "a")
    assert run("models", "verify", "a").stdout.startswith("a: ")
    result = run("models", "verify", "b")
    assert result.exit_code == 2
    assert "no model 'b'. Embedded models: a, tiny." in result.stderr


def test_no_model_at_all_is_a_failure(run: CommandLine, models: Path) -> None:
    (models / "tiny" / "manifest.json").unlink()
    result = run("models", "verify")
    assert result.exit_code == 2
    assert "no model is installed; install the package again" in result.stderr
