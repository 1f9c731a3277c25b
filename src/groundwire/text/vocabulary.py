"""Lists of English words of one class each, such as months, negations and pairs of opposites.

``vocabulary.txt`` has the words, and describes the lists.
"""

from collections.abc import Iterable
from pathlib import Path

from groundwire.text.word_lists import read_lists

_LISTS = read_lists(Path(__file__).with_suffix(".txt"))


def words(text: str) -> frozenset[str]:
    """Return the set of the words of a text; white space separates words."""
    return frozenset(text.split())


def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.partition("/") for pair in _LISTS[name].split())
    return tuple((one, other) for one, _, other in pairs)


def opposites_of(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return a map from each word in pairs of opposites to the opposites of the word."""
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OFFICES = words(_LISTS["offices"])
PEOPLES = words(_LISTS["peoples"])
OPENERS = words(_LISTS["openers"])
WEEKDAYS = words(_LISTS["weekdays"])
MONTHS = words(_LISTS["months"])
CALENDAR = WEEKDAYS | MONTHS
OPPOSITES = _pairs("opposites")
LOOSE_OPPOSITES = _pairs("loose_opposites")
VERBS = _pairs("verbs")
IRREGULAR_PASTS = words(_LISTS["irregular_pasts"])
PASTS = _pairs("pasts")
NEGATIONS = words(_LISTS["negations"])
NOT_NEGATED = words(_LISTS["not_negated"])
HEDGES = words(_LISTS["hedges"])
FIRM = words(_LISTS["firm"])
PREPOSITIONS = words(_LISTS["prepositions"])
FUNCTION_WORDS = PREPOSITIONS | words(_LISTS["function_words"])
MEASURES = tuple(words(line) for line in _LISTS["measures"].splitlines())
