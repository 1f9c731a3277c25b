"""Where a claim says the opposite of its evidence, by rule: what a small model overlooks.

A claim is laid beside the lines it was read with, clause by clause. It is denied if the clauses
most like one of its own are negated and it is not, or the other way round, or have an opposite
(``rose``, ``fell``) in the place of a word of it. What another line says as the claim does is not
denied, nor what is said under a condition or negated in other ways (``lacks``, ``without``). Times
and units of the claim have to stand in the evidence. In doubt nothing is denied.

Numbers and dates do not have to: right answers count and compute, and take years from elsewhere.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from groundwire.explain.held import Text
from groundwire.explain.words import Word, is_negation
from groundwire.quantities import Match, QuantityIndex, quantities
from groundwire.vocabulary import LOOSE_OPPOSITES, NOT_NEGATED, OPPOSITES, PASTS

#: Share of all their content words that two clauses have in common if they are about the same.
LIKENESS = 0.5
#: Clauses that have nearly as much in common with it as the best count as well.
_SHARE = 0.9
#: What of the evidence disagrees with a quantity; that a number is not there says too little.
_DIFFERING = frozenset({Match.TIME_ABSENT, Match.UNIT_DIFFERS})
#: Content words after a "not" that it is about.
_SCOPE = 3
#: Words of the shortest statement: "It is safe."
_STATEMENT = 3
#: Of a claim or a line; the rest of a longer one counts as one clause.
_MAX_CLAUSES = 64

_CUT = re.compile(
    r"[.,;:!?()—\n]|\b(?:but|although|though|while|whereas|because|since|if|unless|when|so|which"
    r"|who|and that)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|when|provided|until|would|in case|or not)\b", re.IGNORECASE
)
#: Says "not" in another way, or may: such a clause is not compared.
_OTHERWISE = re.compile(
    r"\b(?:lack\w*|fail\w*|without|except\w*|rather than|instead|avoid\w*|prevent\w*|refus\w*"
    r"|den(?:y|ies|ied)|prohibit\w*|forb[ia]d\w*|bans?|banned|ceased?|absen\w*|missing|exclud\w*"
    r"|un[a-z]{4,}|in[a-z]+[ai]ble|im?possible|dis[a-z]{4,}|false(?! that)|only|few|fewer|rarely"
    r"|seldom|barely|zero|less|free of|optional|ended|stopp?\w*|nil|none|neither|nor)\b",
    re.IGNORECASE,
)
_FALSE_THAT = re.compile(r"\b(?:false|untrue|wrong) that\b", re.IGNORECASE)
_BASES = dict(PASTS)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in (*OPPOSITES, *LOOSE_OPPOSITES, ("all", "some"), ("every", "some")):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITE = _opposites()


@dataclass(frozen=True, slots=True)
class Denied:
    """Words of a claim that its evidence denies: ``claim[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a sentence.

    Attributes:
        all_words: Its words.
        words: Those of them that say something.
        content: Their stems.
        negated: The stems that it negates.
        lowers: All of its words, as the lists have them.
        negations: Its words that say "not".
        is_open: Whether it holds under a condition, or negates in another way.
    """

    all_words: tuple[Word, ...]
    words: tuple[Word, ...]
    content: frozenset[str]
    negated: frozenset[str]
    lowers: frozenset[str]
    negations: tuple[Word, ...]
    is_open: bool

    def likeness(self, line: "_Clause") -> float:
        """Share of the content words of both that it has in common with a clause of a line.

        One word in common is enough for a statement, and not for the key of a field.
        """
        common = len(self.content & line.content)
        is_stated = common >= 2 or len(line.lowers) >= _STATEMENT
        return common / len(self.content | line.content) if is_stated else 0.0

    def against(self, other: "_Clause") -> tuple[Word, ...]:
        """The words of this clause that the other says the opposite of; none if it does not."""
        turned = self._turned(other)
        opposite = tuple(
            word
            for word in self.all_words
            if any(
                o in other.lowers and o not in self.lowers and word.lower not in other.lowers
                for o in _OPPOSITE.get(word.lower, ())
            )
        )
        # "Did not rise" and "fell" may both be true.
        return () if turned and opposite else turned or opposite

    def _turned(self, other: "_Clause") -> tuple[Word, ...]:
        if bool(self.negations) == bool(other.negations):
            return ()
        about = (self.negated | other.negated) & self.content & other.content
        said = tuple(word for word in self.words if _stem(word) in about)
        return (*self.negations, *said) if said else ()


def denied(claim: str, lines: Iterable[str], stated: QuantityIndex) -> tuple[Denied, ...]:
    """What of a claim its evidence says the opposite of, in reading order; disjoint.

    Args:
        claim: The claim.
        lines: Those lines of the evidence that have most in common with it.
        stated: The quantities of all of the evidence.
    """
    clauses = [clause for line in lines for clause in _clauses(line)]
    found = [_place(words) for own in _clauses(claim) if (words := _denying(own, clauses))]
    found += [
        Denied(quantity.start, quantity.end)
        for quantity in quantities(claim)
        if stated.match(quantity) in _DIFFERING
    ]
    return tuple(_disjoint(sorted(found, key=lambda each: each.start)))


def _disjoint(found: Sequence[Denied]) -> Iterator[Denied]:
    end = 0
    for each in found:
        if each.start >= end:
            yield each
            end = each.end


def _place(words: Sequence[Word]) -> Denied:
    return Denied(min(word.start for word in words), max(word.end for word in words))


def _denying(own: _Clause, clauses: Sequence[_Clause]) -> tuple[Word, ...]:
    """The words of a clause that all clauses most like it deny."""
    alike = [(own.likeness(clause), clause) for clause in clauses]
    best = max((likeness for likeness, _ in alike), default=0.0)
    if best < LIKENESS or own.is_open:
        return ()
    same = [c for likeness, c in alike if likeness >= _SHARE * best or own.content <= c.content]
    against = [() if clause.is_open else own.against(clause) for clause in same]
    return against[0] if all(against) else ()


def _clauses(text: str) -> Iterator[_Clause]:
    words = Text(text).words
    starts = [word.start for word in words]
    negations = tuple(_negations(text, words))
    cuts = [0, *(cut.start() for cut in islice(_CUT.finditer(text), _MAX_CLAUSES)), len(text)]
    for start, end in pairwise(cuts):
        own = words[bisect_left(starts, start) : bisect_left(starts, end)]
        content = tuple(word for word in own if word.is_content)
        if not content:
            continue
        saying_no = tuple(no for no in negations if start <= no.start < end)
        yield _Clause(
            all_words=tuple(own),
            words=content,
            content=frozenset(map(_stem, content)),
            negated=frozenset(map(_stem, _after(saying_no, content))),
            lowers=frozenset(word.lower for word in own),
            negations=saying_no,
            is_open=_is_open(text, start, end),
        )


def _after(negations: Iterable[Word], content: Sequence[Word]) -> Iterator[Word]:
    """What is said not to be so: the next content words of the clause."""
    for no in negations:
        first = bisect_left(content, no.end, key=lambda word: word.start)
        yield from content[first : first + _SCOPE]


def _is_open(text: str, start: int, end: int) -> bool:
    said = (match[0].lower() for match in _OTHERWISE.finditer(text, start, end))
    is_negative = any(word not in _OPPOSITE for word in said)
    return is_negative or _CONDITION.search(text, start, end) is not None


def _negations(text: str, words: Sequence[Word]) -> Iterator[Word]:
    """What says "not" for certain: not "no later than", "not only", "no-brainer"."""
    false_that = {match.start() for match in _FALSE_THAT.finditer(text)}
    for index, word in enumerate(words):
        following = [each.lower for each in words[index + 1 : index + 3]]
        is_no = is_negation(word.lower) and bool(following) and following[0] not in NOT_NEGATED
        is_compared = following[1:] == ["than"]
        is_joined = text[word.end : word.end + 1] == "-"
        if word.start in false_that or (is_no and not is_compared and not is_joined):
            yield word


def _stem(word: Word) -> str:
    base = _BASES.get(word.lower)
    return base[:5] if base else word.stem
