"""Rules for fields of records and cells of tables that contradict a claim."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.subtype import is_verb
from groundwire.detection.comparison.words import Word, content_of, words_of
from groundwire.detection.rules.basis import MAX_PLACES, Basis, singular
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.text.vocabulary import words

_NEGATIVE = re.compile(
    r"\b(?:no|not|without|never|neither|nor|none|cannot|lack\w*|missing|unavailable|absent|except"
    r"|only|off|disabled|false)\b|n['’]t|\b(?:un|dis)[a-z]+",
    re.IGNORECASE,
)
_BE = frozenset(("is", "are", "was", "were", "comes", "come"))
_ENTRY_WORDS = 2
#: Words of values that only mean yes, no or nothing.
_SWITCHES = words("true false yes no null none empty")
_WHETHER = words("available offered provided included given welcome possible listed")


def cells(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find cells that a claim takes from the wrong row of a table.

    The claim or the question names one row, and the claim names a column, but states the cell that
    another row has in this column.
    """
    if not basis.rows:
        return
    said = _spaced(claim.text)
    named = _meant(basis.rows, said, _spaced(basis.question))
    if len(named) != 1:
        return
    row, own = named[0], frozenset(named[0].values())
    for column in _asked(claim, row, said):
        others = {other[column] for other in basis.rows if other is not row and column in other}
        for other in sorted(cell for cell in others - own if _says(said, cell)):
            if place := re.search(rf"(?<!\w){re.escape(other)}(?!\w)", claim.text, re.IGNORECASE):
                yield RuleFinding(place.start(), place.end(), ConflictKind.FIELD)


def entries(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find words with which a claim gives a field a value that the field does not have.

    Examples are "an automatic transmission" against ``transmission: manual``, and "the status is
    open" against ``status: closed``. A claim with a negative word, such as "not", is left out.
    """
    if _NEGATIVE.search(claim.text):
        return
    for line in lines:
        name, _, value = line.text.rpartition(": ")
        path, wanted = ComparedText(name).words, ComparedText(value)
        if not path or not _is_entry(wanted) or wanted.lowers & claim.lowers:
            continue
        for place, word in _said_of(claim, path[-1]):
            is_said = word.is_content and word.text.islower() and not is_verb(word)
            if is_said and word.lower not in _WHETHER and not basis.has(word):
                first, last = sorted((place, word))
                yield RuleFinding(first.start, last.end, ConflictKind.FIELD)


def _is_entry(value: ComparedText) -> bool:
    """Return whether a value is one or two words in lower case, other than "yes" and the like."""
    is_said = all(word.text.isalpha() and word.text.islower() for word in value.words)
    return is_said and 0 < len(value.words) <= _ENTRY_WORDS and not value.lowers & _SWITCHES


def _said_of(claim: ComparedText, name: Word) -> Iterator[tuple[Word, Word]]:
    """Yield pairs of a field's name in a claim and a word that the claim says about the field.

    The word is right before the name, or right after an "is" or the like that follows the name.
    """
    for index, word in enumerate(claim.words):
        if singular(word.lower) != singular(name.lower):
            continue
        if index:
            yield word, claim.words[index - 1]
        following = claim.words[index + 1 : index + 3]
        if len(following) > 1 and following[0].lower in _BE:
            yield word, following[1]


def _asked(claim: ComparedText, row: Mapping[str, str], said: str) -> list[str]:
    """Return the columns that a claim names without stating the cell of ``row`` in the column."""
    asked = (
        column
        for column, cell in row.items()
        if content_of(words_of(column)) & claim.content and _spaced(cell) not in said
    )
    return list(islice(asked, MAX_PLACES))


def _meant(rows: Sequence[Mapping[str, str]], said: str, asked: str) -> list[Mapping[str, str]]:
    """Return the rows that the claim or the question names.

    These are the rows whose first cell is in the claim. If there are none, they are the rows whose
    first cell is in the question, or else those whose second cell is in the claim. A cell that has
    only digits names no row.
    """
    for text, place in ((said, 0), (asked, 0), (said, 1)):
        cells = ((row, next(islice(row.values(), place, None))) for row in rows)
        named = [row for row, cell in cells if not cell.isdigit() and _says(text, cell)]
        if named:
            return named
    return []


def _says(said: str, cell: str) -> bool:
    """Return whether a text has the words of a cell, as a phrase; false for a cell without words.

    ``said`` is the text, from :func:`_spaced`.
    """
    words = _spaced(cell)
    return bool(words.strip()) and words in said


def _spaced(text: str) -> str:
    """Return the words of a text in lower case, with spaces before, between and after them."""
    return f" {' '.join(word.lower for word in words_of(text))} "
