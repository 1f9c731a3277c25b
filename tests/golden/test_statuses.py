"""The exit statuses of the commands are what they were."""

import pytest

from groundwire.cli import COMMANDS as NAMES
from tests.golden.golden import differences, read
from tests.golden.statuses import COMMANDS, run


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_ends_as_it_did(command: tuple[str, ...]) -> None:
    assert differences(read("statuses")[" ".join(command)], run(command)) == []


def test_every_command_that_ends_by_itself_is_among_them() -> None:
    assert set(NAMES) - {command[0] for command in COMMANDS} == {"demo", "playground"}
