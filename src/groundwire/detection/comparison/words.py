"""Finds the words of a text with their places: content words, neighbours, names, negations."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from groundwire.text.vocabulary import (
    CALENDAR,
    FUNCTION_WORDS,
    MEASURES,
    NEGATIONS,
    NOT_NEGATED,
    PREPOSITIONS,
)

_WORD = re.compile(r"(?:\w[\u0300-\u036f]*)+(?:['’](?:\w[\u0300-\u036f]*)+)*")
_POSSESSIVE = ("'s", "’s", "'S", "’S")
_CLAUSE_END = re.compile(r"[.,;:!?()—]|\bbut\b")
_NO_CONTENT = FUNCTION_WORDS | NEGATIONS
_MEASURE = {word: f"{min(group)}~" for group in MEASURES for word in group}
#: Text that may stand between two words of one name: "Tower-Bridge", "University of Oxford".
_WITHIN_NAME = re.compile(r"(?:[ -]|\.? | (?:of|de|la|le|du|von|van|der|den|di|da|al|bin) )")
#: Length of a stem: the stem of a word is its first letters, so that related words such as
#: "printed" and "printing" have the same stem.
_STEM_CHARS = 5
#: A "not" or a "may" applies to at most this many content words after it.
_SCOPE = 3
_SCOPE_WORDS = 12  # limit on the words read after a "not" or "may", function words included
_BEFORE_CHARS = 20
#: Ends of words such as "isn't".
_NOT = ("n't", "n’t")


class Word(NamedTuple):
    """A word, or a name of several words, with its place in a text.

    An "'s" at the end of a word is left out.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character.
        text: The word as it is written.
        lower: The word in lower case, as word lists have it.
    """

    start: int
    end: int
    text: str
    lower: str

    @property
    def stem(self) -> str:
        """The stem of the word; see :func:`stem`."""
        return stem(self.lower)

    @property
    def is_content(self) -> bool:
        """Whether the word is a content word: neither a function word nor a negation.

        "May" with a capital letter is a content word, since it may be the month.
        """
        is_listed = self.lower in _NO_CONTENT or self.lower.endswith(_NOT)
        return not is_listed or self.text in ("May", "March")


def words_of(text: str) -> list[Word]:
    """Return the words of a text, in reading order."""
    return [
        Word(start := match.start(), start + len(word), word, word.casefold())
        for match in _WORD.finditer(text)
        if (word := match[0][:-2] if match[0].endswith(_POSSESSIVE) else match[0])
    ]


def stem(lower: str) -> str:
    """Return the stem of a word in lower case: its first five letters, which related words share.

    Words for the same measure, such as "high" and "tall", have the same stem. A word with other
    characters than letters, such as a number, is its own stem.
    """
    return _MEASURE.get(lower, lower[:_STEM_CHARS]) if lower.isalpha() else lower


def content_of(words: Iterable[Word]) -> frozenset[str]:
    """Return the stems of the content words among some words."""
    return frozenset(word.stem for word in words if word.is_content)


def around(words: Sequence[Word], start: int, end: int, most: int) -> tuple[list[Word], list[Word]]:
    """Return the words before and after ``[start, end)``, at most ``most`` each, nearest first."""
    n_before = bisect_right(words, start, key=lambda word: word.end)
    n_until = bisect_left(words, end, key=lambda word: word.start)
    before = words[max(0, n_before - most) : n_before]
    return [*reversed(before)], [*words[n_until : n_until + most]]


def likeness(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Score how alike two places in texts are, by the words near both.

    Each argument maps the stems near one place to their distances from this place. A stem near both
    places adds 1 / (the sum of its two distances): 0.5 if it is right beside both.
    """
    return round(sum(1 / (one[stem] + other[stem]) for stem in one.keys() & other.keys()), 6)


def scope(text: str, words: Sequence[Word], triggers: Collection[str]) -> frozenset[str]:
    """Return the stems of the content words to which triggers such as "not" apply.

    A trigger applies to the first content words after it, at most three. Words beyond the end of
    the clause are left out, and so are words after a preposition that follows a content word. In
    "not open in winter", the "not" applies to "open"; in "not in winter", to "winter".
    """
    found: set[str] = set()
    for index, trigger in enumerate(words):
        if _is_trigger(words, index, triggers):
            following = words[index + 1 : index + 1 + _SCOPE_WORDS]
            until = following[-1].end if following else trigger.end
            clause = _CLAUSE_END.search(text, trigger.end, until)
            found.update(_first_content(following, clause.start() if clause else until))
    return frozenset(found)


def _first_content(words: Sequence[Word], end: int) -> list[str]:
    found: list[str] = []
    for word in words:
        is_next_part = bool(found) and word.lower in PREPOSITIONS
        if word.end > end or is_next_part or len(found) == _SCOPE:
            break
        if word.is_content:
            found.append(word.stem)
    return found


def is_negation(lower: str) -> bool:
    """Return whether a word in lower case is a negation."""
    return lower in NEGATIONS or lower.endswith(_NOT)


def has_negation(words: Sequence[Word]) -> bool:
    """Return whether a negation is among the words.

    A negation before a word such as "only" or "just" does not count.
    """
    return any(_is_trigger(words, index, NEGATIONS) for index in range(len(words)))


def _is_trigger(words: Sequence[Word], index: int, triggers: Collection[str]) -> bool:
    lower = words[index].lower
    if triggers is NEGATIONS:
        following = words[index + 1].lower if index + 1 < len(words) else ""
        return is_negation(lower) and following not in NOT_NEGATED
    return lower in triggers and words[index].text != "May"


def names_of(text: str, words: Sequence[Word]) -> list[Word]:
    """Find names: runs of words with a capital letter, other than function words, days and months.

    A single word at the start of a sentence is left out: it has a capital letter anyway.
    """
    runs: list[list[Word]] = []
    for word in words:
        if not word.text[0].isupper() or word.lower in FUNCTION_WORDS or word.lower in CALENDAR:
            continue
        if runs and _WITHIN_NAME.fullmatch(text, runs[-1][-1].end, word.start):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [
        Word(start := run[0].start, end := run[-1].end, text[start:end], text[start:end].casefold())
        for run in runs
        if len(run) > 1 or not _begins_sentence(text, run[0].start)
    ]


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - _BEFORE_CHARS) : place].rstrip(" \t\"'“‘(*-•>#|")
    return not before or before[-1] in ".!?\n"
