"""The part of an arriving text that a decision of the segmenter may read."""

import re
from dataclasses import dataclass
from typing import NamedTuple


class UndecidedError(Exception):
    """The decision depends on text that has not arrived."""


class BoundaryDecision(NamedTuple):
    """A decision on whether the claim that is being read ends.

    Attributes:
        ends: Whether the claim ends.
        position: Offset at which the claim ends, or from which reading goes on.
    """

    ends: bool
    position: int


@dataclass(slots=True)
class View:
    """The text that is not divided yet, with a horizon up to which a decision may read it.

    Attributes:
        text: All text that has arrived and is not divided yet.
        end: Offset after the last character that may be read.
        may_grow: Whether more text can arrive before the horizon.
        known: Ids by which sources can be cited in round brackets.
    """

    text: str = ""
    end: int = 0
    may_grow: bool = True
    known: frozenset[str] = frozenset()

    def at(self, position: int) -> str:
        """Return the character at ``position``; empty at the end of the text or at the horizon.

        Raises:
            UndecidedError: If the character has not arrived.
        """
        if position < self.end:
            return self.text[position]
        if self.may_grow:
            raise UndecidedError
        return ""

    def run(self, pattern: re.Pattern[str], position: int) -> int:
        """Return the end of the match of a pattern at ``position``; no match counts as empty.

        Raises:
            UndecidedError: If the match may go on in text that has not arrived.
        """
        match = pattern.match(self.text, position, self.end)
        stop = position if match is None else match.end()
        if stop >= self.end and self.may_grow:
            raise UndecidedError
        return stop

    def wait_if_begun(self, begun: re.Pattern[str], position: int) -> None:
        """Wait for more text if the text from ``position`` on may yet grow into a match.

        Args:
            begun: Pattern for the beginnings of a match.
            position: Offset at which the match would begin.

        Raises:
            UndecidedError: If more text may arrive, and all text from ``position`` on is the
                beginning of a match.
        """
        if self.may_grow and begun.fullmatch(self.text, position, self.end):
            raise UndecidedError
