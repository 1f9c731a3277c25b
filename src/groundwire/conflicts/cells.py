"""Fields and cells that say otherwise."""

import re
from collections.abc import Iterator, Mapping

from groundwire.conflicts.basis import Basis
from groundwire.conflicts.conflict import ConflictKind
from groundwire.conflicts.found import Found
from groundwire.explain.held import Text
from groundwire.explain.words import Word, content_of, words_of

_NEGATIVE = re.compile(
    r"\b(?:no|not|without|never|neither|nor|none|cannot|lack\w*|missing|unavailable|absent|except"
    r"|only|off|disabled)\b|n['’]t|\b(?:un|dis)[a-z]+",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;:!?]|\b(?:and|but|while)\b", re.IGNORECASE)
_BE = frozenset(("is", "are", "was", "were", "comes", "come"))
#: A row is named by one of its first cells.
_NAMING = 2


def fields(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """What a claim says there is, and a field says there is not."""
    if _NEGATIVE.search(claim.text):
        return
    said = {form for word in claim.words for form in (word.lower, word.lower.rstrip("s"))}
    for switch in dict.fromkeys(basis.switches):
        wanted = {word.rstrip("s") for word in switch.words}
        if switch.is_on or not wanted <= said:
            continue
        named = [word for word in claim.words if word.lower.rstrip("s") in wanted]
        yield Found(named[0].start, _end_of(claim, named[-1]), ConflictKind.FIELD)


def cells(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """A cell of another row, where the claim names a row and its column."""
    said = _spaced(claim.text)
    named = [row for row in basis.rows if any(_names(said, cell) for cell in _first(row))]
    if len(named) != 1:
        return
    row = named[0]
    for column, cell in row.items():
        if not content_of(words_of(column)) & claim.content or _spaced(cell) in said:
            continue
        others = {other[column] for other in basis.rows if other is not row and column in other}
        for other in sorted(others - set(row.values())):
            if _spaced(other).strip() and _spaced(other) in said:
                place = re.search(rf"(?<!\w){re.escape(other)}(?!\w)", claim.text, re.IGNORECASE)
                if place:
                    yield Found(place.start(), place.end(), ConflictKind.FIELD)


def _end_of(claim: Text, word: Word) -> int:
    """Where what is said of a thing ends: "two-factor sign-in is on"."""
    index = claim.words.index(word)
    is_subject = any(w.lower in _BE for w in claim.words[index + 1 : index + 4])
    cut = _CLAUSE_END.search(claim.text, word.end)
    last = claim.words[-1].end if cut is None else cut.start()
    return max(last, word.end) if is_subject else word.end


def _first(row: Mapping[str, str]) -> list[str]:
    return [cell for cell in list(row.values())[:_NAMING] if not cell.isdigit()]


def _names(said: str, cell: str) -> bool:
    words = _spaced(cell)
    return bool(words.strip()) and words in said


def _spaced(text: str) -> str:
    """The words of a text in lower case, a space around each."""
    return f" {' '.join(word.lower for word in words_of(text))} "
