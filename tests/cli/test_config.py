import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import invoke
from tests.config.documented import REFERENCE, SNIPPET


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("halugate.yaml")
    path.write_text(REFERENCE, encoding="utf-8")
    return path


def run(*args: object, stdin: str | None = None, **environ: str) -> Result:
    return invoke("config", *args, stdin=stdin, environ=environ)


def test_check_says_that_a_file_can_be_used(file: Path) -> None:
    result = run("check", file)
    assert result.exit_code == 0
    assert result.stdout == "halugate.yaml can be used. It has the names of halugate.\n"


def test_check_tells_everything_that_is_wrong_and_exits_with_2(file: Path) -> None:
    file.write_text("check: {action: blok}\ngates: {}\n", encoding="utf-8")
    result = run("check", file, GROUNDWIRE_GATE_THRESHOLD="2")
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: halugate.yaml:1: check.action = 'blok' is not possible;")
    assert lines[1].startswith("error: halugate.yaml:2: there is no 'gates' in a configuration;")
    assert lines[2].startswith("error: GROUNDWIRE_GATE_THRESHOLD: ")
    assert len(lines) == 3


def test_check_reads_standard_input_and_warns() -> None:
    text = "hallucination_mitigation: {hallucination_model: {context_window_size: 50}}"
    result = run("check", "-", stdin=text)
    assert result.exit_code == 0
    assert result.stdout.startswith("standard input can be used.")
    assert result.stderr == (
        "warning: standard input:1: hallucination_mitigation.hallucination_model."
        "context_window_size has no effect here.\n"
    )


def test_check_of_a_file_that_is_not_there_is_wrong_usage() -> None:
    assert run("check", "missing.yaml").exit_code == 2


def test_show_gives_native_names_with_their_origin(file: Path) -> None:
    result = run("show", file, GROUNDWIRE_CHECK_ACTION="flag")
    assert result.exit_code == 0
    lines = [line.split("  # ") for line in result.stdout.splitlines()]
    assert ['  action: "flag"', "GROUNDWIRE_CHECK_ACTION"] in [
        [text.rstrip(), *origin] for text, *origin in lines
    ]
    assert "hallucination_model.threshold)" in result.stdout
    assert result.stdout.startswith("check:\n")


def test_what_show_prints_can_be_checked_and_means_the_same(file: Path) -> None:
    file.write_text(SNIPPET, encoding="utf-8")
    native = Path("native.yaml")
    native.write_text(run("show", file).stdout, encoding="utf-8")
    again = json.loads(run("show", native, "--json").stdout)
    first = json.loads(run("show", file, "--json").stdout)
    assert again["decisions"] == first["decisions"]
    assert {name: each["value"] for name, each in again["settings"].items()} == {
        name: each["value"] for name, each in first["settings"].items()
    }
    assert (first["formats"], again["formats"]) == (["halugate"], ["groundwire"])


def test_show_without_a_file_is_the_environment() -> None:
    shown = json.loads(run("show", "--json", GROUNDWIRE_GATE_THRESHOLD="0.5").stdout)
    assert shown["settings"]["gate.threshold"]["source"] == "GROUNDWIRE_GATE_THRESHOLD"
    assert shown["settings"]["check.enabled"]["source"] == "default"


def test_a_secret_is_shown_as_stars() -> None:
    environ = {"OPENAI_API_KEY": "sk-secret", "GROUNDWIRE_VERIFY_VERIFIER": "openai"}
    shown = run("show", **environ).stdout
    assert re.search(r"^  # api_key: \*{3} +# OPENAI_API_KEY$", shown, re.MULTILINE)
    assert "sk-secret" not in run("show", "--json", **environ).output
