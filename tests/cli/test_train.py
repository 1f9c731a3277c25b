"""``groundwire train`` as far as it needs no PyTorch: options, and what is wrong with them."""

import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from groundwire_training import cli
from groundwire_training.cli import described
from groundwire_training.recipe import EncoderRecipe, Lora, Recipe
from groundwire_training.steps import duration
from tests.cli.conftest import invoke
from tests.cli.test_main import python

LINE = '{"context": "The tower is red.", "answer": "It is blue.", "spans": []}\n'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text(LINE)
    return path


@pytest.mark.parametrize(
    ("command", "kinds"), [("reader", (Recipe, Lora)), ("encoder", (EncoderRecipe, Lora))]
)
def test_every_number_of_a_recipe_is_an_option_with_its_meaning(
    command: str, kinds: tuple[type, ...]
) -> None:
    result = invoke("train", command, "--help")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for kind in kinds:
        prefix = "lora-" if kind is Lora else ""
        meanings = described(kind)
        for field in fields(kind):
            assert f"--{prefix}{field.name.replace('_', '-')} " in text
            assert meanings[field.name].split(";")[0] in text


def test_help_needs_none_of_the_packages_that_training_needs() -> None:
    training = Path(cli.__file__).parents[1]  # pytest finds it there, where it is not installed
    code = (
        f"import sys; sys.path.append({str(training)!r})\n"
        "from groundwire.cli import main\n"
        "try:\n"
        "    main(['train', 'reader', '--help'])\n"
        "except SystemExit as done:\n"
        "    heavy = {'numpy', 'torch', 'transformers', 'peft'} & set(sys.modules)\n"
        "    print(done.code, heavy, file=sys.stderr)\n"
    )
    assert python(code).stderr == "0 set()\n"


@pytest.mark.parametrize(
    ("command", "what"), [("reader", "Training the reader"), ("encoder", "Training an encoder")]
)
def test_without_the_extra_the_message_names_the_command_that_installs_it(
    command: str, what: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    begin = ("--start", data) if command == "reader" else ("--base", "x/y")
    result = invoke("train", command, "--data", data, "--out", data.parent / "run", *begin)
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {what} needs the 'train' extra, which is not installed. "
        "Install it from a checkout of Groundwire: pip install '.[train]'\n"
    )
    assert not (data.parent / "run").exists()


def test_without_its_package_the_message_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "groundwire_training.cli", raising=False)
    monkeypatch.setitem(sys.modules, "groundwire_training", None)
    result = invoke("train", "reader")
    assert result.exit_code == 2
    assert "groundwire-training, which is not installed" in result.stderr
    assert "pip install '.[train]' ./training" in result.stderr


def test_the_reader_has_to_begin_somewhere(data: Path) -> None:
    result = invoke("train", "reader", "--data", data, "--out", data.parent / "run")
    assert result.exit_code == 2
    assert "Give --start FILE with the weights of a reader" in result.stderr
    result = invoke(
        *("train", "reader", "--data", data, "--out", data.parent / "run"),
        *("--start", data, "--base", data),
    )
    assert result.exit_code == 2
    assert "Give either --start or --base" in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--steps", "0"),
        ("--padded-share", "1.5"),
        ("--lora-dropout", "1"),
        ("--rate", "-1"),
        ("--seed", "-1"),
    ],
)
def test_a_number_outside_its_range_is_wrong_usage(data: Path, option: str, value: str) -> None:
    result = invoke(
        *("train", "reader", "--data", data, "--out", data.parent / "run"),
        *("--start", data, option, value),
    )
    assert result.exit_code == 2
    assert re.search(rf"Invalid value for '{option}'", result.stderr)


@pytest.mark.parametrize("weights", ["", "rare", "1,x", "1,-2", "0,1"])
def test_class_weights_are_words_or_positive_numbers(data: Path, weights: str) -> None:
    result = invoke(
        *("train", "encoder", "--data", data, "--out", data.parent / "run"),
        *("--base", "x/y", "--class-weights", weights),
    )
    assert result.exit_code == 2
    assert "must be none, balanced, or a positive number for each class" in result.stderr


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (12_000, "3 h 20 min")]
)
def test_times_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
