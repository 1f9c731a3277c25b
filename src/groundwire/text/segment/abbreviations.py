"""What the word before a full stop says about it: abbreviations, initials, ordinal numbers."""

import re
from enum import Enum, auto

from groundwire.text.segment.characters import ALNUM

#: Longest word that can be an abbreviation.
MAX_WORD_CHARS = 24
_LAST_TOKEN = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# In these tables a word with a capital is spelled so; one without may be capitalised.
#: A full stop after them never ends a sentence: a name or an example follows.
_NEVER_LAST = _words(
    "Dr Drs Mr Mrs Ms Mx Prof Rev Hon Gen Col Capt Cmdr Lt Sgt Maj Sen Rep Gov Pres Supt St Ste Mt "
    "Messrs Mme Mlle Mgr Hr Fr Dña Dipl Ing e.g i.e eg ie cf vs viz approx resp incl excl esp "
    "z.b d.h u.a o.ä bzw ggf vgl sog inkl evtl p.ej p.ex"
)
#: They are abbreviations only before a number: "No. 5", but "The answer is No. Then".
_BEFORE_NUMBER = _words(
    "No Nos Nr nr p pp Fig Figs fig figs Eq Eqs eq eqs Ch ch chap Sec sec Art art Vol vol para "
    "paras ver v s S Abs abs Tab tab ca c op bd kap pág págs núm n"
)
#: They may end a sentence: the next word decides.
_PERHAPS_LAST = _words(
    "Inc Ltd Co Corp Bros Jr Sr Sra Srta Esq etc al Ave Blvd Rd Dept Univ Assn est Ph.D M.Sc B.Sc "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun "
    "janv févr avr juil déc usw ff Cie Ltda"
)
#: Names that end in "!".
_SHOUTED = frozenset({"Yahoo", "Jeopardy", "Yum"})
#: Words that start sentences more often than they follow an abbreviation.
_STARTERS = _words(
    "A According After All Also Although An And Another Any As At Because Before Besides Between "
    "Both But By Consequently Despite Does During Each Even Every Finally First For From Further "
    "Furthermore He Hence Her Here His How However I If In Indeed Instead It Its Last Later Like "
    "Many Meanwhile More Moreover Most My Neither Nevertheless Next No Nobody None Nor Not Nothing "
    "Now Of On Once One Only Or Other Others Our Overall People Second She Similarly Since So Some "
    "Such That The Their Then There Therefore These They This Those Though Through Thus To Today "
    "Together Two Under Unlike Until Upon We Were What When Where Whether Which While Who Why With "
    "Without Yes Yet You Your "
    "Aber Auch Bei Das Dem Den Der Die Dies Diese Dieser Ein Eine Er Es Im Sie Wir Und "
    "Ce Ces Cette Dans Elle Elles En Il Ils Je La Le Les Mais Nous On Un Une "
    "El Ella Ellas Ellos Esta Este Esto Los Las Pero Se Su Una Y"
)
_GERMAN_MONTHS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
)


class Stop(Enum):
    """Whether a full stop ends its sentence, as far as the word before it says."""

    FULL = auto()
    NEVER = auto()
    UNLESS_NUMBER = auto()
    UNLESS_MONTH = auto()
    UNLESS_INITIAL = auto()
    IF_STARTER = auto()


def stop_kind(text: str, start: int, position: int, run_end: int) -> Stop:
    """What the text from ``start`` on makes of the full stops in ``[position, run_end)``."""
    first = max(start, position - MAX_WORD_CHARS - 1)
    before = text[first:position]
    mark = text[position:run_end]
    if mark == ".":
        return _stop_after(before, is_whole=first == start)
    if mark == "!" and _last_token(before) in _SHOUTED:
        return Stop.IF_STARTER
    return Stop.FULL


def ends_before(kind: Stop, word: str, *, is_initial: bool) -> bool:
    """Whether a full stop ends its sentence before a word that begins with no small letter.

    Args:
        kind: What the word before the full stop says.
        word: The word after it.
        is_initial: Whether that is one letter with a full stop of its own.
    """
    match kind:
        case Stop.FULL:
            return True
        case Stop.NEVER:
            return False
        case Stop.UNLESS_NUMBER:
            return not (word[0].isdigit() or set(word) <= set("IVXLC"))
        case Stop.UNLESS_MONTH:
            return word not in _GERMAN_MONTHS
        case Stop.UNLESS_INITIAL:
            return not is_initial
        case Stop.IF_STARTER:
            return word in _STARTERS and not is_initial


def _stop_after(before: str, *, is_whole: bool) -> Stop:
    """What the word at the end of ``before`` makes of the full stop that follows it.

    Args:
        before: The last characters of the sentence so far.
        is_whole: Whether they are all of the sentence.
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
            return Stop.NEVER  # "A. The first option"
        return Stop.UNLESS_INITIAL if token == "I" else Stop.IF_STARTER
    spellings = {token, token.lower()}
    if spellings & _NEVER_LAST:
        return Stop.NEVER
    if spellings & _BEFORE_NUMBER:
        return Stop.UNLESS_NUMBER
    if len(token) == 1 and token.isalpha():
        return Stop.UNLESS_INITIAL  # "z. B." is one word; "solve for x." is not
    letters = token.split(".")
    is_dotted = len(letters) > 1 and all(len(part) == 1 and part.isalpha() for part in letters)
    return Stop.IF_STARTER if is_dotted or spellings & _PERHAPS_LAST else Stop.FULL


def _stop_after_number(number: str, rest: str, *, is_first: bool) -> Stop:
    # "Steps: 1. Mix. 2. Bake." numbers its parts.
    if (is_first and len(number) <= 3) or (number == "1" and rest.rstrip().endswith(":")):
        return Stop.NEVER
    return Stop.UNLESS_MONTH if len(number) <= 2 else Stop.FULL


def _is_unit(token: str, rest: str) -> bool:
    """Whether a single letter is a unit, as in ``350 °F`` and ``12 m``, and no initial."""
    if len(token) > 1:
        return False
    before = rest.rstrip()[-1:]
    return before in ("°", "˚", "º") or (
        before.isdigit() and (token.islower() or token in "FCKVWAJ")
    )


def _last_token(before: str) -> str:
    match = _LAST_TOKEN.search(before)
    return match.group() if match else ""
