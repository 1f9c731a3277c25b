"""Rules for names and words of a claim that the evidence replaces by other names and words."""

import re
from collections.abc import Iterator
from itertools import islice

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.counterpart import alike, neighbours
from groundwire.detection.comparison.words import Word
from groundwire.detection.rules.basis import MAX_PLACES, Basis, content_in, stems_in
from groundwire.detection.rules.clauses import is_conditional
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.detection.rules.names import is_abbreviated, names_in, names_of_line, stems_of
from groundwire.text.vocabulary import FUNCTION_WORDS

#: Least likeness of the places of two names that count as the same place. To reach it, both names
#: need an equal word right beside them, and more equal words near them.
_IN_PLACE = 0.45
#: Least number of content words of a claim besides the replaced word.
_MIN_REST = 3
#: Most content words of a claim that the evidence may lack. If it lacks more, the claim is not a
#: line with one replaced word.
_MOST_ABSENT = 2
#: Least number of content words that a claim says about a name. Fewer may fit many names.
_MIN_SAID = 2
#: Share of the claim's other words that lines with the name must have to state the claim.
_MOSTLY = 0.8
#: A list with fewer items is not checked.
_MIN_ITEMS = 3
#: Number of best lines that are compared as a whole: for names, and for words.
_LINES, _FEWER_LINES = 3, 2
# Possessive repetitions, because otherwise a list that does not end in "and" would be divided in
# every possible way.
_LIST = re.compile(
    r"(?:[^,.;:()\n]{1,60}+,\s*+){1,12}[^,.;:()\n]{0,60}?,?\s*\b(?:and|or)\s+[^,.;:()\n]{1,60}"
)
_ADDRESS = re.compile(r"\bhttps?://\S{1,400}|\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_BETWEEN = re.compile(r"\s*(?:,\s*(?:(?:and|or)\b)?|\band\b|\bor\b)\s*")
_MOST_ITEM_WORDS = 3
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", re.IGNORECASE)
#: Words before a name that is denied: "Bell, not Edison".
_NOT_HERE = frozenset(("not", "unlike"))
#: Words that are added to others and replace none: "nearly", "Mr".
_BESIDE = frozenset(
    ("almost", "nearly", "roughly", "approximately", "mr", "mrs", "ms", "dr", "sir")
)
_SIZE = re.compile(r"\d+[A-Za-z]+")


def names(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find names that the evidence lacks, where a line has another name beside the same words."""
    for name in names_in(claim, basis):
        words = content_in(claim, name.start, name.end)
        is_denied = neighbours(claim, name)[0] in _NOT_HERE
        if not is_denied and _is_namesake(claim, name, lines, basis):
            yield RuleFinding(name.start, name.end, ConflictKind.NAME, is_enough=True)
            continue
        if is_denied or not words or any(map(basis.has, words)) or is_abbreviated(name, basis):
            continue
        others = (
            alike(claim, name, line, other)
            for line in lines
            for other in names_of_line(line)
            if not stems_of(line, other) <= claim.content
        )
        if max(others, default=0.0) >= _IN_PLACE:
            yield RuleFinding(name.start, name.end, ConflictKind.NAME)


def subjects(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find names of which a claim says, in the same words, what a line says of another name."""
    for name in names_in(claim, basis):
        own = stems_of(claim, name)
        said = claim.content - own
        known = [
            line.content
            for word in content_in(claim, name.start, name.end)
            for line in basis.lines_with(word.text)
        ]
        if not own or not known or len(said) < _MIN_SAID or is_conditional(claim.text):
            continue
        if any(len(said & content) >= _MOSTLY * len(said) for content in known):
            continue
        if any(_says_of_another(claim, name, line) for line in lines[:_LINES]):
            yield RuleFinding(name.start, name.end, ConflictKind.ENTITY)


def words(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find the one word of a claim that the evidence lacks.

    It is a finding if a line has another word between the same two words.
    """
    place = _absent(claim, basis)
    if place is None or _is_incomparable(claim, place):
        return
    rest = claim.content - stems_in(claim, place.start, place.end)
    ours = neighbours(claim, place)
    if any(
        _stands_between(ours, neighbours(line, other))
        for line in lines[:_FEWER_LINES]
        if rest <= line.content
        for other in line.words
        if other.is_content and other.stem not in claim.content
    ):
        yield RuleFinding(place.start, place.end, ConflictKind.WORD)


def addresses(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find web and mail addresses that the evidence lacks."""
    for match in islice(_ADDRESS.finditer(claim.text), MAX_PLACES):
        written = match[0].rstrip(".,;:!?)'\"")
        if not basis.mentions(written.removeprefix("https://").removeprefix("http://")):
            yield RuleFinding(match.start(), match.start() + len(written), ConflictKind.REFERENCE)


def items(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find the one item of a list that the evidence lacks, where a line has all other items."""
    for match in islice(_LIST.finditer(claim.text), MAX_PLACES):
        listed = _items(claim, match)
        absent = [item for item in listed if not any(map(basis.has, item))]
        if len(listed) < _MIN_ITEMS or len(absent) != 1:
            continue
        others = {word.stem for item in listed if item is not absent[0] for word in item}
        start, end = absent[0][0].start, absent[0][-1].end
        is_number = any(letter.isdigit() for letter in claim.text[start:end])
        if not is_number and any(others <= line.content for line in lines):
            yield RuleFinding(start, end, ConflictKind.ITEM)


def _absent(claim: ComparedText, basis: Basis) -> Word | None:
    """Return the one word of a claim that the evidence lacks, or two such words side by side.

    ``None`` if the evidence lacks no word or more words, or the claim has few other words.
    """
    content = [word for word in claim.words if word.is_content]
    absent = list(islice((word for word in content if not basis.has(word)), _MOST_ABSENT + 1))
    if not absent or len(absent) > _MOST_ABSENT or len(content) - len(absent) < _MIN_REST:
        return None
    start, end = absent[0].start, absent[-1].end
    is_apart = len(stems_in(claim, start, end)) > len({word.stem for word in absent})
    return None if is_apart else Word(start, end, claim.text[start:end])


def _is_namesake(claim: ComparedText, name: Word, lines: Lines, basis: Basis) -> bool:
    """Return whether a line has a name with the same first word and another last word.

    The evidence must lack the last word of the claim's name. An example is "Marie Smith", where a
    line has "Marie Curie".
    """
    own = content_in(claim, name.start, name.end)
    if len(own) != 2 or basis.has(own[1]) or not basis.has(own[0]):
        return False
    return any(
        len(theirs) == 2 and theirs[0].lower == own[0].lower and theirs[1].stem != own[1].stem
        for line in lines[:_LINES]
        for other in names_of_line(line)
        for theirs in (content_in(line, other.start, other.end),)
    )


def _says_of_another(claim: ComparedText, name: Word, line: ComparedText) -> bool:
    """Return whether a line says about another name all that the claim says about ``name``."""
    own = stems_of(claim, name)
    if own & line.content or not claim.content - own <= line.content or _PRONOUN.match(line.text):
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
    """Return whether two places have the same words right before and right after them.

    A place at the beginning or end of the claim has only one neighbour, which is enough. It has to
    be a content word unless the other place is at the same end of its line: "the" is beside many
    words.
    """
    before, after = (one == two != "" for one, two in zip(ours, theirs, strict=True))
    if before and after:
        return True
    is_alone = (before and not ours[1]) or (after and not ours[0])
    is_same_end = ours[1] == theirs[1] if before else ours[0] == theirs[0]
    return is_alone and (is_same_end or not FUNCTION_WORDS.issuperset(filter(None, ours)))


def _is_incomparable(claim: ComparedText, place: Word) -> bool:
    """Return whether this rule skips words: adverbs, titles such as "Mr", and numbers.

    Adverbs and titles replace no other word, and other rules compare numbers. Sizes such as "30GB"
    are not skipped.
    """
    if place.lower.endswith("ly") or place.lower.split()[0] in _BESIDE:
        return True
    is_stated = any(q.start < place.end and place.start < q.end for q in claim.quantities)
    return place.text.isdigit() or (is_stated and not _SIZE.fullmatch(place.text))


def _items(claim: ComparedText, match: re.Match[str]) -> list[list[Word]]:
    """Return the content words of each item of a list; empty if an item has none or too many."""
    cuts = list(_BETWEEN.finditer(claim.text, match.start(), match.end()))
    starts = [match.start(), *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), match.end()]
    found = [content_in(claim, start, end) for start, end in zip(starts, ends, strict=True)]
    if found:
        # The match also has words of the sentence before the first item and after the last.
        found[0], found[-1] = found[0][-1:], found[-1][:2]
    return found if all(1 <= len(item) <= _MOST_ITEM_WORDS for item in found) else []
