"""Decides by the word before a full stop whether the full stop may end a sentence."""

import re
from enum import Enum, auto
from pathlib import Path

from groundwire.text.segment.characters import ALNUM
from groundwire.text.word_lists import read_word_sets

#: Highest number of characters of a word that can be an abbreviation.
MAX_WORD_CHARS = 24
_LAST_TOKEN = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")
#: Matches a name before "v.", as in the names of cases: "Roe v. Wade".
_PARTY = re.compile(r"[A-Z][\w'’-]*[.,]? \Z")

_LISTS = read_word_sets(Path(__file__).with_suffix(".txt"))
#: Names that end in "!".
_SHOUTED = frozenset({"Yahoo", "Jeopardy", "Yum"})


class Stop(Enum):
    """The condition under which a full stop ends its sentence, chosen by the word before the stop.

    The conditions are for a next word that does not begin in lower case. With ``FULL`` the sentence
    ends, with ``NEVER`` it goes on. With ``UNLESS_NUMBER``, ``UNLESS_MONTH`` and ``UNLESS_INITIAL``
    it ends unless the next word is, respectively, a number (in digits or Roman), a German month or
    an initial. With ``IF_STARTER`` it ends only if the next word often starts a sentence and is not
    an initial.
    """

    FULL = auto()
    NEVER = auto()
    UNLESS_NUMBER = auto()
    UNLESS_MONTH = auto()
    UNLESS_INITIAL = auto()
    IF_STARTER = auto()


def stop_kind(text: str, start: int, position: int, run_end: int) -> Stop:
    """Return the condition under which the marks in ``[position, run_end)`` end a sentence.

    The marks are full stops, question marks and the like. The sentence begins at ``start``.
    """
    first = max(start, position - MAX_WORD_CHARS - 1)
    before = text[first:position]
    mark = text[position:run_end]
    if mark == ".":
        return _stop_after(before, is_whole=first == start)
    if mark == "!" and _last_token(before) in _SHOUTED:
        return Stop.IF_STARTER
    return Stop.FULL


def ends_before(kind: Stop, word: str, *, is_initial: bool) -> bool:
    """Return whether a full stop ends its sentence, by its condition and the word after it.

    Args:
        kind: The condition; not ``FULL`` or ``NEVER``, which do not depend on the word after.
        word: The word after the full stop. It does not begin with a lower-case letter.
        is_initial: Whether the word after the full stop is one letter with its own full stop.
    """
    if kind is Stop.UNLESS_NUMBER:
        return not (word[0].isdigit() or set(word) <= set("IVXLC"))
    if kind is Stop.UNLESS_MONTH:
        return word not in _LISTS["german_months"]
    return not is_initial and (kind is Stop.UNLESS_INITIAL or word in _LISTS["starters"])


def _stop_after(before: str, *, is_whole: bool) -> Stop:
    """Return the condition under which a full stop after ``before`` ends its sentence.

    ``is_whole`` says whether ``before`` is the whole sentence up to the full stop.
    """
    token = _last_token(before)
    rest = before[: len(before) - len(token)]
    if not token or not (is_whole or rest):
        return Stop.FULL  # no word, or a word longer than any abbreviation
    is_first = is_whole and not ALNUM.search(rest)
    if token.isdecimal():
        return _stop_after_number(token, rest, is_first=is_first)
    if _is_unit(token, rest):
        return Stop.FULL
    if len(token) == 1 and token.isupper():
        if is_first:
            return Stop.NEVER  # the letter of an option: "A. The first option"
        return Stop.UNLESS_INITIAL if token == "I" else Stop.IF_STARTER
    spellings = {token, token.lower()}
    if spellings & _LISTS["never_last"] or (token == "v" and _PARTY.search(rest)):
        return Stop.NEVER
    if spellings & _LISTS["before_number"]:
        return Stop.UNLESS_NUMBER
    if len(token) == 1 and token.isalpha():
        return Stop.UNLESS_INITIAL  # the sentence goes on at "z. B.", and may end at "for x."
    letters = token.split(".")
    is_dotted = len(letters) > 1 and all(len(part) == 1 and part.isalpha() for part in letters)
    return Stop.IF_STARTER if is_dotted or spellings & _LISTS["perhaps_last"] else Stop.FULL


def _stop_after_number(number: str, rest: str, *, is_first: bool) -> Stop:
    # In "1. Mix." and "Steps: 1. Mix." the number is an enumerator.
    if (is_first and len(number) <= 3) or (number == "1" and rest.rstrip().endswith(":")):
        return Stop.NEVER
    return Stop.UNLESS_MONTH if len(number) <= 2 else Stop.FULL


def _is_unit(token: str, rest: str) -> bool:
    """Return whether a letter is a unit, as in ``350 °F`` and ``12 m``, and not an initial."""
    if len(token) > 1:
        return False
    before = rest.rstrip()[-1:]
    return before in ("°", "˚", "º") or (
        before.isdigit() and (token.islower() or token in "FCKVWAJ")
    )


def _last_token(before: str) -> str:
    match = _LAST_TOKEN.search(before)
    return match.group() if match else ""
