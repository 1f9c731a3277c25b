"""Puts mistakes into answers by program: a supported part of an answer becomes a wrong one.

Each kind of mistake is one function in one module. It reads an answer and the answer's sources
(``Grounds``), and proposes edits if it can be sure that the new text is wrong. The new text is
marked to the character. Existing spans are kept, moved with the text, and never edited.

The kinds are ``numbers``, ``dates``, ``units``, ``entities`` (names), ``swaps``, ``negation``,
``opposites`` and ``foreign`` (a sentence about something else). ``draw`` has the table of kinds and
puts mistakes into answers, ``premises`` puts them into questions. ``edits``, ``grounds``, ``names``
(which finds names by their capital letters) and ``wording`` are used by all kinds.
"""

from groundwire_training.corrupt.draw import KINDS, corrupt, corrupt_any, draw_corrupted
from groundwire_training.corrupt.edits import Edit, applied
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.premises import false_premise

__all__ = [
    "KINDS",
    "Edit",
    "Grounds",
    "applied",
    "corrupt",
    "corrupt_any",
    "draw_corrupted",
    "false_premise",
]
