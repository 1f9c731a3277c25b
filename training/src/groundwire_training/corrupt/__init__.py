"""Mistakes made by program: a supported stretch of an answer becomes a wrong one.

A kind of mistake is one function in one module: it looks at an answer and at what the sources say
(``Grounds``), and proposes edits where it can be sure that its text would be wrong. What an edit
writes is marked to the character; spans that were there are kept, moved, and never touched.

The kinds: ``numbers``, ``dates``, ``units``, ``entities`` (names), ``swaps``, ``negation``,
``opposites`` and ``foreign`` (a sentence about something else). ``draw`` has the table of them and
puts their mistakes into answers, ``premises`` into questions. They share ``edits``, ``grounds``,
``names`` (found by their capital letters) and ``wording``.
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
