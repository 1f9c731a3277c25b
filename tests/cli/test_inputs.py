"""Texts from files, and what results call them."""

import pickle
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from groundwire.cli import cli
from groundwire.cli.inputs import FiniteRange, unique_names
from groundwire.text.files.reading import NotUtf8Error, decode
from tests.cli.conftest import CommandLine


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/a.txt", "x/b.txt"], ["a.txt", "b.txt"]),
        (["x/a.txt", "y/a.txt", "b.txt"], ["x/a.txt", "y/a.txt", "b.txt"]),
        (["x/S0"], ["x/S0"]),
        (["-"], ["stdin"]),
    ],
)
def test_a_source_file_goes_by_the_shortest_name_that_is_its_own(
    paths: list[str], names: list[str]
) -> None:
    assert unique_names([Path(path) for path in paths], taken=["S0"]) == names


@pytest.mark.parametrize("number", ["nan", "-nan", "inf"])
def test_a_number_is_finite(number: str) -> None:
    with pytest.raises(click.BadParameter, match="is no finite number"):
        FiniteRange(0).convert(number, None, None)


def test_no_option_lets_nan_through() -> None:
    loose = [
        f"{command.name} {option.opts[0]}"
        for command in commands(cli)
        for option in command.params
        if isinstance(option.type, click.FloatRange) and not isinstance(option.type, FiniteRange)
    ]
    assert loose == []


def commands(group: click.Group) -> Iterator[click.Command]:
    """Those of a group, and of the groups in it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_the_offset_of_a_wrong_byte_counts_the_byte_order_mark() -> None:
    with pytest.raises(NotUtf8Error, match=r"f is not UTF-8 text: .* \(0xff\) at byte 4"):
        decode(b"\xef\xbb\xbfa\xff", "f")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_what_converts_utf_16_is_not_what_converts_other_texts(encoding: str) -> None:
    with pytest.raises(NotUtf8Error, match=r"of UTF-16 at byte 0.*iconv -f UTF-16 -t"):
        decode("\ufeffa".encode(encoding), "f")
    with pytest.raises(NotUtf8Error, match="iconv -f WINDOWS-1252 -t") as caught:
        decode(b"caf\xe9", "f")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_byte_order_mark_inside_a_text_stays() -> None:
    assert decode(b"a\xef\xbb\xbf", "f") == "a\ufeff"


@pytest.mark.parametrize("option", ["--source", "--answer", "--question"])
@pytest.mark.parametrize("prefix", ["", "@"])
def test_name_of_a_file_is_no_text(
    run: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, prefix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facts of 2024.txt").write_text("The fee is 5 euros.")
    options = {"--source": "A fee.", "--answer": "The fee is 5 euros."}
    options[option] = f"{prefix}facts of 2024.txt"
    result = run("check", *chain.from_iterable(options.items()))
    assert result.exit_code == 2
    assert f"{option}-file 'facts of 2024.txt'" in result.stderr
