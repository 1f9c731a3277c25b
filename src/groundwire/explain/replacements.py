"""Finds what may stand in the place of a wrong span: words of the evidence, or nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import alike, names_in, quantity_ranges, same_kind
from groundwire.detection.comparison.differences import is_year
from groundwire.detection.comparison.words import Word, content_of, within, words_of
from groundwire.detection.values import EvidenceRef
from groundwire.text.quantities import Quantity, QuantityKind
from groundwire.text.vocabulary import (
    CALENDAR,
    FUNCTION_WORDS,
    LOOSE_OPPOSITES,
    OPPOSITES,
    PREPOSITIONS,
    opposites_of,
)

_OPPOSITES = opposites_of(OPPOSITES + LOOSE_OPPOSITES)
#: Added to the worth of words of the same kind as those they replace.
_SAME_KIND = 0.5
#: Words of a span that are compared with phrases of the evidence.
_MOST_WORDS = 12
#: Words of the evidence may be this many more than the words that they replace.
_MORE_WORDS = 3
#: Most characters before a span in which a "not" is put in or taken out.
_NOT_CHARS = 25
_AUXILIARIES = frozenset(("is", "are", "was", "were", "do", "does", "did", "has", "have", "had"))
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
#: Text between two words that ends a clause.
_CLAUSE_END = re.compile(r"[^\w\s'’%$€£-]")
#: Where a clause begins that can be taken out without the text before it.
_CLAUSE = re.compile(
    r"(?:\s*[,;—–]|\s+-)\s+|\s+(?=(?:and|but|or|because|since|which|who|while|although|with|after"
    r"|before|from|by|for|in|on|at|under|over)\s)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\w[^,;.:()]*,\s+")
#: The end of a sentence, with its citations.
_TAIL = re.compile(r"(?:\s*\[[^\[\]]*\])*[.!?:;*_\"”]*(?:\s*\[[^\[\]]*\])*\s*$")
#: Words after which more must follow.
_OPEN = re.compile(r"\b(?:between|both|either|neither|not only)\b[^,]*$|\([^)]*$", re.IGNORECASE)
_MOST_DELETIONS = 3
#: Least worth of a sentence that stands in the place of a claim.
_MIN_QUOTED = 0.28
_ASIDE = re.compile(r"\s*\([^()]*\)|(?<=,)[^,;.:()]*,")
#: A sentence that begins so leans on the sentence before it.
LEANING = re.compile(
    r"(?:he|she|it|they|this|that|these|those|such|his|her|its|their|there|but|and|so|also|however"
    r"|instead|then|both|another|the (?:former|latter|other|same)|i|we|you|my|our|your)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change of a claim: ``claim[start:end]`` becomes ``text``.

    Attributes:
        start: Offset of the first replaced character in the claim.
        end: Offset after the last; equal to ``start`` if words are only put in.
        text: The words that stand there instead; empty if words are only taken out.
        worth: How well the words fit in the place, judging by the words around it.
        place: Where the evidence has the words; ``None`` if they are from no source.
        is_plain: Whether a value takes the place of one that no line has.
    """

    start: int
    end: int
    text: str
    worth: float = 0.0
    place: EvidenceRef | None = None
    is_plain: bool = False

    @property
    def n_chars(self) -> int:
        """Number of characters that are taken out."""
        return self.end - self.start

    def applied(self, claim: str) -> str:
        """Return the changed claim."""
        return claim[: self.start] + self.text + claim[self.end :]


def replacements(held: Held) -> list[Replacement]:
    """Return words that may stand in the place of a span, best first, each once.

    They are a value of the same kind, another name, the words that the evidence has between the
    same two neighbours, an opposite, or the claim's own words with a "not" more or less.
    """
    plain = [
        replace(each, is_plain=_is_absent(held, each)) for each in (*_values(held), *_days(held))
    ]
    every = [*plain, *_names(held), *_phrases(held), *_turned(held)]
    found: dict[str, Replacement] = {}
    for each in sorted(every, key=lambda each: -each.worth):
        applied = each.applied(held.claim.text)
        if applied != held.claim.text:
            found.setdefault(applied.casefold(), each)
    return list(found.values())


def _is_absent(held: Held, change: Replacement) -> bool:
    """Return whether no line has the changed figures, or words if there are no figures."""
    old = held.claim.text[change.start : change.end]
    figures = {found for line in held.lines for found in _NUMBER.findall(line.text)}
    if own := _NUMBER.findall(old):
        return figures.isdisjoint(own)
    return held.line_content.isdisjoint(content_of(words_of(old)))


def _filled(
    claim: ComparedText,
    wrong: Word,
    line: ComparedText,
    other: Word,
    bonus: float,
) -> Replacement:
    """Make the replacement of some words of a claim by some words of a line."""
    text = other.text[:1].upper() + other.text[1:] if wrong.start == 0 else other.text
    place = None
    if line.place is not None:
        start, end = line.place.start + other.start, line.place.start + other.end
        source = line.place.source_id
        place = EvidenceRef(source_id=source, start=start, end=end, text=other.text)
    worth = round(alike(claim, wrong, line, other) + bonus, 6)
    return Replacement(wrong.start, wrong.end, text, worth, place)


def _word(text: ComparedText, start: int, end: int) -> Word:
    return Word(start, end, text.text[start:end])


def _values(held: Held) -> Iterator[Replacement]:
    """Yield values of the same kind; of a number without unit, only the figures change."""
    claim = held.claim
    for start, end, members in quantity_ranges(claim):
        if not (start < held.end and held.start < end):
            continue
        # Of "five-year-old" only "five" changes.
        joint = claim.text.find("-", start + 1, end) if len(members) == 1 else -1
        wrong, figures = _word(claim, start, max(joint, 0) or end), _figures(claim, members)
        for line in held.lines:
            for other_start, other_end, others in quantity_ranges(line):
                other = _word(line, other_start, other_end)
                if (joint > 0 or _NUMBER.fullmatch(wrong.text)) and len(others) == 1:
                    other = _figures(line, others) or other  # "25" of "25-year-old"
                if other.text in wrong.text:
                    continue  # "12" is no other value than "12 million" if a line has "12 lakh"
                if any(same_kind(members[0], claim.text, each, line.text) for each in others):
                    # Two bare numbers need more in common than two lengths or two dates.
                    has_kind = members[0].unit or is_year(members[0], claim.text)
                    is_number = members[0].kind is QuantityKind.NUMBER
                    bonus = _SAME_KIND if is_number and not has_kind else 2 * _SAME_KIND
                    yield _filled(claim, wrong, line, other, bonus)
                elif figures and _is_bare(members[0], others):
                    bare = _figures(line, others)
                    if bare:
                        yield _filled(claim, figures, line, bare, _SAME_KIND)


def _figures(claim: ComparedText, members: list[Quantity]) -> Word | None:
    start, end = members[0].start, members[0].end
    found = _NUMBER.search(claim.text, start, end)
    return Word(found.start(), found.end(), found[0]) if found and len(members) == 1 else None


def _is_bare(one: Quantity, others: list[Quantity]) -> bool:
    """Return whether a number with a unit may be one of a record, which has no units."""
    (other, *more) = others
    kinds = {one.kind, other.kind}
    return (
        not more and kinds == {QuantityKind.NUMBER} and one.unit is not None and other.unit is None
    )


def _days(held: Held) -> Iterator[Replacement]:
    for wrong in held.span_words:
        if wrong.lower in CALENDAR and wrong.text[0].isupper():
            for line in held.lines:
                for other in line.words:
                    if other.lower in CALENDAR and other.text[0].isupper():
                        yield _filled(held.claim, wrong, line, other, 2 * _SAME_KIND)


def _names(held: Held) -> Iterator[Replacement]:
    claim = held.claim
    names = claim.names
    first = claim.words[0]
    written = frozenset().union(*({word.text for word in line.words} for line in held.lines))
    if first.is_content and first.lower not in written and first.text not in FUNCTION_WORDS:
        names = [first, *(name for name in names if name.start != first.start)]
    for wrong in names:
        if wrong.start < held.end and held.start < wrong.end:
            for line in held.lines:
                for other in names_in(line, with_first=True):
                    stems = {word.stem for word in within(line.words, other.start, other.end)}
                    # A name that the claim has elsewhere does not correct this one.
                    if not stems <= held.rest_content:
                        yield _filled(claim, wrong, line, other, _SAME_KIND)


def _phrases(held: Held) -> Iterator[Replacement]:
    """Yield words of the evidence between the same two neighbours as the words of the span.

    The end of a clause counts as a neighbour, but not on both sides.
    """
    claim, words = held.claim, held.claim.words
    inside = [words.index(word) for word in held.span_words[:_MOST_WORDS]]
    units = {(a, b) for a in inside for b in inside if a <= b}
    # The word before the span may be wrong as well: "a" brewery, "the" corn exchange.
    units |= {(a - 1, b) for a, b in units if a and not words[a - 1].is_content}
    ours = _bounds(claim)
    for line in held.lines:
        theirs = _bounds(line)
        for a, b in sorted(units):
            before, after = ours[a][0], ours[b][1]
            if not (before or after):
                continue
            for first in (n for n, (left, _) in enumerate(theirs) if left == before):
                last = _end_of_run(theirs, first, after, b - a + _MORE_WORDS)
                if last is not None and line.words[first].is_content is words[a].is_content:
                    wrong = _word(claim, words[a].start, words[b].end)
                    run = _word(line, line.words[first].start, line.words[last].end)
                    yield _filled(claim, wrong, line, run, 0.0)


def _end_of_run(bounds: Sequence[tuple[str, str]], first: int, after: str, most: int) -> int | None:
    """Return the first word, of at most ``most`` more, that ``after`` follows in the clause."""
    for last in range(first, min(first + most + 1, len(bounds))):
        if bounds[last][1] == after:
            return last
        if bounds[last][1] == "":
            return None
    return None


def _bounds(text: ComparedText) -> list[tuple[str, str]]:
    """Return, for each word, the stems of its two neighbours; "" where a clause begins or ends."""
    words = text.words
    between = [
        _CLAUSE_END.search(text.text, one.end, other.start) is not None
        for one, other in pairwise(words)
    ]
    cut = [True, *between, True]
    return [
        ("" if cut[n] else words[n - 1].stem, "" if cut[n + 1] else words[n + 1].stem)
        for n in range(len(words))
    ]


def _turned(held: Held) -> Iterator[Replacement]:
    """Yield opposites that the evidence has, and a "not" more or less if the lines have one."""
    text = held.claim.text
    for word in held.span_words:
        for line in held.relevant:
            for other in line.words:
                if other.lower in _OPPOSITES.get(word.lower, ()):
                    yield _filled(held.claim, word, line, other, _SAME_KIND)
    if any(line.has_negation for line in held.relevant) == held.claim.has_negation:
        return
    near = [word for word in held.claim.words if held.start - _NOT_CHARS <= word.start < held.end]
    for word in near:
        if word.lower == "not":
            space = text[word.start - 1 : word.start] == " "
            yield Replacement(word.start - space, word.end, "", _SAME_KIND)
        elif word.lower.endswith(("n't", "n’t")) and word.lower[:-3] not in ("ca", "wo", "sha"):
            yield Replacement(word.end - 3, word.end, "", _SAME_KIND)
    verbs = [word for word in near if word.lower in _AUXILIARIES]
    if verbs and not held.claim.has_negation:
        yield Replacement(verbs[-1].end, verbs[-1].end, " not", _SAME_KIND)


def deletions(held: Held) -> list[Replacement]:
    """Return what can be taken out so that a span is gone and a sentence stands, smallest first."""
    text, words = held.claim.text, held.span_words
    tail = _TAIL.search(text)
    body = tail.start() if tail else len(text)
    while len(words) > 1 and words[0].lower in FUNCTION_WORDS:
        words = words[1:]
    start, end = words[0].start, words[-1].end
    found = [
        Replacement(match.start(), match.end(), "")
        for match in _ASIDE.finditer(text)
        if match.start() < start and end <= match.end()
    ]
    if end <= body:
        found += [
            Replacement(match.start(), body, "")
            for match in _CLAUSE.finditer(text)
            if match.end() <= start and _stands(text[: match.start()])
        ]
    leading = _LEADING.match(text)
    if leading and end <= leading.end() and held.claim.words[0].lower in PREPOSITIONS:
        after = leading.end()
        found.append(Replacement(0, after + 1, text[after : after + 1].upper()))
    return sorted(found, key=lambda each: each.start - each.end, reverse=True)[:_MOST_DELETIONS]


def _stands(text: str) -> bool:
    """Return whether the beginning of a sentence can stand without the rest."""
    words = text.split()
    last = words[-1].casefold().strip(",") if words else ""
    return len(words) > 2 and last not in FUNCTION_WORDS and _OPEN.search(text) is None


def quotes(held: Held) -> list[Replacement]:
    """Return sentences of the evidence that may stand in the place of the claim, best first."""
    found = []
    for line in held.lines:
        text, common = line.text.strip(), line.content & held.claim.content
        is_sentence = text[-1:] in (".", "!") and text[:1].isupper() and len(line.words) > 3
        if is_sentence and not LEANING.match(text) and common & held.rest_content:
            worth = (len(common) + len(line.content & held.span_content)) / (2 + len(line.content))
            if worth >= _MIN_QUOTED:
                found.append(Replacement(0, len(held.claim.text), text, worth, line.place))
    return sorted(found, key=lambda each: -each.worth)[:1]
