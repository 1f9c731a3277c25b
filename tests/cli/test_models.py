"""``groundwire models``."""

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


def test_models_are_listed_with_what_one_has_to_know(run: CommandLine, models: Path) -> None:
    result = run("models")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "tiny 1  (reader, from a base)",
        "  size              1 file, 0.0 MB",
        "  licence           Apache-2.0",
    ]
    assert lines[3].startswith("  revision          ")
    assert lines[4] == "  operating points  precision 0.9, balanced 0.5, recall 0.2"
