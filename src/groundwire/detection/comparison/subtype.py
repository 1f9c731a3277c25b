"""Finds the kind of difference between a span and the evidence."""

import re

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.differences import differing_quantities, is_year
from groundwire.detection.comparison.finding import Subtype
from groundwire.detection.comparison.words import Word, around, has_negation, is_negation
from groundwire.text.quantities import Quantity, QuantityKind
from groundwire.text.vocabulary import (
    CALENDAR,
    FIRM,
    HEDGES,
    IRREGULAR_PASTS,
    LOOSE_OPPOSITES,
    OPPOSITES,
    VERBS,
    opposites_of,
)

_OPPOSITES = opposites_of(OPPOSITES + LOOSE_OPPOSITES)
_VERBS = IRREGULAR_PASTS | {verb for pair in VERBS for verb in pair}
_VERB_END = re.compile(r"(?:ed|ing)$")


def subtype_of(held: Held) -> Subtype:
    """Find the kind of difference between a span and the evidence: the first of these that holds.

    1. A quantity in the span that no line states: a date, time or year (``date_time``), a number
       with a unit (``quantity_unit``), another number (``number``); then a day of the week or a
       month that no line has (``date_time``).
    2. A difference in negation, such as a "not" in only one of claim and evidence (``negation``).
    3. A difference in certainty, such as a "may" in only one of claim and evidence
       (``certainty``).
    4. A name in the span with a word that no line has (``entity``).
    5. Opposite words; or all content words of the span are in the evidence, so that probably
       their relation is wrong; or another verb between the same words (``relation``).
    6. ``other``.
    """
    if differing := differing_quantities(held, of_claim=False):
        return _kind(differing[0], held.claim.text)
    if differing_calendar(held):
        return Subtype.DATE_TIME
    if _is_negation(held):
        return Subtype.NEGATION
    if _is_certainty(held):
        return Subtype.CERTAINTY
    if differing_names(held):
        return Subtype.ENTITY
    return Subtype.RELATION if _is_relation(held) else Subtype.OTHER


def differing_calendar(held: Held) -> list[Word]:
    """Return the capitalised days of the week and months of the span that no line has."""
    known = {word.lower for line in held.lines for word in line.words}
    return [
        word
        for word in held.span_words
        if word.lower in CALENDAR and word.text[0].isupper() and word.lower not in known
    ]


def differing_names(held: Held) -> list[Word]:
    """Return the claim's names with at least one word that is in the span, but in no line."""
    names = held.claim.names
    first = held.span_words[:1]
    if len(held.span_words) == 1 and first[0].start == 0 and first[0].text[0].isupper():
        names = [
            *first,
            *names,
        ]  # a capitalised first word of the claim, marked alone, is likely a name
    unknown = [word for word in held.unknown if word.text[0].isupper()]
    return [n for n in names if any(n.start <= w.start and w.end <= n.end for w in unknown)]


def opposites_in(held: Held) -> list[tuple[ComparedText, Word]]:
    """Return the opposites of words in the span that relevant lines have, each with its line.

    A word of the span is not compared with a line that has the same word.
    """
    inside = {word.lower for word in held.span_words}
    return [
        (line, word)
        for line in held.relevant
        for word in line.words
        if (inside & _OPPOSITES.get(word.lower, frozenset())) - line.lowers
    ]


def _kind(quantity: Quantity, text: str) -> Subtype:
    if quantity.kind is not QuantityKind.NUMBER or is_year(quantity, text):
        return Subtype.DATE_TIME
    return Subtype.NUMBER if quantity.unit is None else Subtype.QUANTITY_UNIT


def _is_negation(held: Held) -> bool:
    otherwise = held.negated_otherwise
    if held.span_content & otherwise:
        return True
    if not has_negation(held.span_words):
        return False
    # Even without a word that only one side negates, a "not" in the span is the difference if the
    # evidence has no "not", and has at least half of the span's content words.
    known = held.span_content & held.line_content
    return bool(otherwise) or (held.is_negated_alone and 2 * len(known) >= len(held.span_content))


def _is_certainty(held: Held) -> bool:
    lines = frozenset().union(*(line.lowers for line in held.relevant))
    inside = {word.lower for word in held.span_words if word.text != "May"}
    firm, hedges = (inside & FIRM) - lines, (inside & HEDGES) - lines
    if firm and (lines & HEDGES or inside <= FIRM):
        return True
    telling = held.span_content - {word.stem for word in held.span_words if word.lower in HEDGES}
    if hedges and not lines & HEDGES:
        return telling <= held.line_content
    hedged = frozenset().union(*(line.hedged for line in held.relevant))
    return not held.claim.lowers & HEDGES and bool(telling) and telling <= hedged


def _is_relation(held: Held) -> bool:
    if (held.span_content and not held.unknown) or opposites_in(held):
        return True
    before, after = around(held.claim.telling, held.start, held.end, 1)
    if not held.unknown or not all(map(is_verb, held.unknown)) or not (before and after):
        return False
    beside = {word.stem for word in (*before, *after)}
    return any(beside <= line.content for line in held.lines)


def is_verb(word: Word) -> bool:
    """Return whether a lower-case word may be a verb, by word lists or by the word's ending."""
    lower = word.lower
    if is_negation(lower) or not word.text[0].islower():
        return False
    return lower in _VERBS or _VERB_END.search(lower) is not None
