"""``groundwire gate``."""

import json

from tests.cli.conftest import CommandLine


def test_each_text_gets_a_line(run: CommandLine) -> None:
    result = run("gate", "When was Einstein born?", "Write a poem about autumn")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first.startswith("needs check  ")
    assert first.endswith("  When was Einstein born?")
    assert second.startswith("no check     ")


def test_lines_for_machines(run: CommandLine) -> None:
    result = run("gate", "--json", "When was Einstein born?")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["prompt"] == "When was Einstein born?"
    assert found["needs_fact_check"] is True
    assert found["confidence"] == found["probability"] >= 0.6


def test_without_a_text_lines_of_standard_input_are_read(run: CommandLine) -> None:
    result = run("gate", stdin="When was Einstein born?\nHello!\n")
    assert [line[:11] for line in result.stdout.splitlines()] == ["needs check", "no check   "]


def test_a_prompt_stays_on_its_line_and_acts_on_no_terminal(run: CommandLine) -> None:
    (line,) = run("gate", "When\nwas \x1b[2J it?").stdout.splitlines()
    assert line.endswith("When was ␛[2J it?")


def test_a_folder_without_a_gate_is_a_failure(run: CommandLine) -> None:
    result = run("gate", "--model", "nowhere", "When?")
    assert result.exit_code == 2
    assert "groundwire train gate" in result.stderr
