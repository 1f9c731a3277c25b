"""The part of an arriving text that a decision of the segmenter may look at."""

import re
from dataclasses import dataclass
from typing import NamedTuple


class UndecidedError(Exception):
    """The decision depends on text that has not arrived."""


class BoundaryDecision(
    NamedTuple
):  # one for every full stop and line break: cheaper than a dataclass
    """A decision whether the open piece ends.

    Attributes:
        ends: Whether it ends.
        position: Its end, or the position at which reading continues.
    """

    ends: bool
    position: int


@dataclass(slots=True)
class View:
    """The text that is not divided yet, up to a horizon.

    A decision sees the same characters however they arrived: those up to the horizon, or all if the
    text ends before it. A decision that would need characters that have not arrived waits.

    Attributes:
        text: All text that has arrived and is not divided yet.
        end: One past the last character that may be looked at.
        may_grow: Whether more text can arrive before the horizon.
        known: Ids of sources, which are citations in round brackets too.
    """

    text: str = ""
    end: int = 0
    may_grow: bool = True
    known: frozenset[str] = frozenset()

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
        """The end of a run of characters, which may be empty.

        Raises:
            UndecidedError: If it may go on in text that has not arrived.
        """
        match = pattern.match(self.text, position, self.end)
        stop = position if match is None else match.end()
        if stop >= self.end and self.may_grow:
            raise UndecidedError
        return stop

    def could_become(self, begun: re.Pattern[str], position: int) -> bool:
        """Whether all text from here on may be the beginning of a match."""
        return self.may_grow and bool(begun.fullmatch(self.text, position, self.end))
