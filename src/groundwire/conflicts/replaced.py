"""Names and words of a claim in whose place the evidence has others."""

import re
from collections.abc import Iterator

from groundwire.conflicts.basis import Basis, stems_in
from groundwire.conflicts.clauses import is_conditional
from groundwire.conflicts.conflict import ConflictKind
from groundwire.conflicts.found import Found
from groundwire.conflicts.names import (
    alike,
    is_abbreviated,
    names_in,
    names_of_line,
    neighbours,
    stems_of,
)
from groundwire.explain.held import Text
from groundwire.explain.words import Word

#: What speaks for another name standing in the place of one: the same word beside both, and near.
_IN_PLACE = 0.45
#: Content words of a claim beside the one that is replaced.
_MIN_REST = 3
_MIN_SAID = 2
#: Share of what a claim says of a name that lines with the name say, and then it may be so.
_MOSTLY = 0.8
_LIST = re.compile(
    # Items begin with no space, so that there is one way to read "no, no, no, ...".
    r"(?:[^\s,.;:()][^,.;:()\n]{0,59},\s*){1,12}[^,.;:()\n]{0,60}?,?\s*\b(?:and|or)\s+"
    r"[^,.;:()\n]{1,60}"
)
_BETWEEN = re.compile(r"\s*(?:,\s*(?:(?:and|or)\b)?|\band\b|\bor\b)\s*")
_MOST_ITEM_WORDS = 3
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", re.IGNORECASE)
_SIZE = re.compile(r"\d+[A-Za-z]+")


def names(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """Names that stand nowhere, where a line has another beside the same words."""
    for name in names_in(claim, basis):
        words = _content(claim, name)
        if not words or any(map(basis.has, words)) or is_abbreviated(name, basis):
            continue
        others = (
            alike(claim, name, line, other)
            for line in lines
            for other in names_of_line(line)
            if not stems_of(line, other) <= claim.content
        )
        if max(others, default=0.0) >= _IN_PLACE:
            yield Found(name.start, name.end, ConflictKind.NAME)


def subjects(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """Names of which a claim says what a line says, word for word, of another name."""
    for name in names_in(claim, basis):
        own = stems_of(claim, name)
        said = claim.content - own
        known = [
            line.content for word in _content(claim, name) for line in basis.lines_with(word.text)
        ]
        if not own or not known or len(said) < _MIN_SAID or is_conditional(claim.text):
            continue
        if any(len(said & content) >= _MOSTLY * len(said) for content in known):
            continue
        if any(_says_of_another(claim, name, line, own, said) for line in lines[:3]):
            yield Found(name.start, name.end, ConflictKind.ENTITY)


def words(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """The one word of a claim that stands nowhere, where a line has another between the same."""
    content = [word for word in claim.words if word.is_content]
    absent = [word for word in content if not basis.has(word)]
    if not absent or len(absent) > 2 or len(content) - len(absent) < _MIN_REST:
        return
    place = Word(absent[0].start, absent[-1].end, claim.text[absent[0].start : absent[-1].end])
    is_apart = len(stems_in(claim, place.start, place.end)) > len({word.stem for word in absent})
    if is_apart or _is_figure(claim, place):
        return
    rest = claim.content - {word.stem for word in absent}
    ours = neighbours(claim, place)
    if any(
        rest <= line.content and _stands_between(ours, neighbours(line, other))
        for line in lines[:2]
        for other in line.words
        if other.is_content and other.stem not in claim.content
    ):
        yield Found(place.start, place.end, ConflictKind.WORD)


def items(claim: Text, lines: tuple[Text, ...], basis: Basis) -> Iterator[Found]:
    """The one item of a list that stands nowhere, where a line has all the others."""
    for match in _LIST.finditer(claim.text):
        listed = _items(claim, match)
        absent = [item for item in listed if not any(map(basis.has, item))]
        if len(listed) < _MIN_REST or len(absent) != 1:
            continue
        others = {word.stem for item in listed if item is not absent[0] for word in item}
        start, end = absent[0][0].start, absent[0][-1].end
        is_number = any(letter.isdigit() for letter in claim.text[start:end])
        if not is_number and any(others <= line.content for line in lines):
            yield Found(start, end, ConflictKind.ITEM)


def _content(text: Text, place: Word) -> list[Word]:
    return [w for w in text.words if place.start <= w.start and w.end <= place.end and w.is_content]


def _says_of_another(
    claim: Text, name: Word, line: Text, own: frozenset[str], said: frozenset[str]
) -> bool:
    if own & line.content or not said <= line.content or _PRONOUN.match(line.text):
        return False
    before, after = neighbours(claim, name)
    for other in names_of_line(line):
        stems = stems_of(line, other)
        if not stems or stems & claim.content:
            continue
        theirs = neighbours(line, other)
        if (after and after == theirs[1]) or (before and before == theirs[0]):
            return True
    return False


def _stands_between(ours: tuple[str, str], theirs: tuple[str, str]) -> bool:
    """Whether the same words are on both sides, or at the end of a text on the one there is."""
    before, after = (one == two != "" for one, two in zip(ours, theirs, strict=True))
    return (before and after) or (before and not ours[1]) or (after and not ours[0])


def _is_figure(claim: Text, place: Word) -> bool:
    """Whether the words are a number, whose conflicts are others, or an adverb, which is none."""
    if place.text.lower().endswith("ly"):
        return True
    is_stated = any(q.start < place.end and place.start < q.end for q in claim.quantities)
    return place.text.isdigit() or (is_stated and not _SIZE.fullmatch(place.text))


def _items(claim: Text, match: re.Match[str]) -> list[list[Word]]:
    """The items of a list, as content words; none if one of them is more than a few words."""
    cuts = list(_BETWEEN.finditer(claim.text, match.start(), match.end()))
    starts = [match.start(), *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), match.end()]
    found = [
        [w for w in claim.words if start <= w.start and w.end <= end and w.is_content]
        for start, end in zip(starts, ends, strict=True)
    ]
    if found:
        # Before the first and after the last stands the rest of the sentence.
        found[0], found[-1] = found[0][-1:], found[-1][:2]
    return found if all(1 <= len(item) <= _MOST_ITEM_WORDS for item in found) else []
