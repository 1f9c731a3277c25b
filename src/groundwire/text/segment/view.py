"""What a decision may look at, while text still arrives."""

import re
from dataclasses import dataclass
from typing import NamedTuple


class UndecidedError(Exception):
    """The decision depends on text that has not arrived."""


class BoundaryDecision(
    NamedTuple
):  # one for every full stop and line break: cheaper than a dataclass
    """Whether the open piece ends.

    Attributes:
        ends: Whether it does.
        position: Where it ends, or from where it is read on.
    """

    ends: bool
    position: int


@dataclass(slots=True)
class View:
    """The text that is not decided yet, up to a horizon.

    Every decision sees the same characters however they arrived: those up to the horizon, or all
    there are if the text ends before. One that would look past what has arrived is put off.

    Attributes:
        text: All that has arrived and is not decided.
        end: One past the last character that may be looked at.
        may_grow: Whether more text can arrive before the horizon.
    """

    text: str = ""
    end: int = 0
    may_grow: bool = True

    def at(self, position: int) -> str:
        """The character there; empty at the end of the text.

        Raises:
            UndecidedError: If it has not arrived.
        """
        if position < self.end:
            return self.text[position]
        if self.may_grow:
            raise UndecidedError
        return ""

    def run(self, pattern: re.Pattern[str], position: int) -> int:
        """Where a run of characters ends, which may be where it begins.

        Raises:
            UndecidedError: If it may go on in text that has not arrived.
        """
        match = pattern.match(self.text, position, self.end)
        stop = position if match is None else match.end()
        if stop >= self.end and self.may_grow:
            raise UndecidedError
        return stop

    def could_become(self, begun: re.Pattern[str], position: int) -> bool:
        """Whether all that has arrived is the beginning of something."""
        return self.may_grow and bool(begun.fullmatch(self.text, position, self.end))
