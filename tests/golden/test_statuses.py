"""The exit statuses of the commands are what they were."""

from collections.abc import Iterator

import pytest

from groundwire.cli import COMMANDS as NAMES
from tests.golden.golden import differences, read
from tests.golden.statuses import COMMANDS, folder, run


@pytest.fixture(scope="module", autouse=True)
def _folder() -> Iterator[None]:
    """One for all commands, in their order: some read what those before them have written."""
    with folder():
        yield


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_ends_as_it_did(command: tuple[str, ...]) -> None:
    assert differences(read("statuses")[" ".join(command)], run(command)) == []


def test_every_command_but_the_demo_is_among_them() -> None:
    assert set(NAMES) - {command[0] for command in COMMANDS} == {"demo"}
