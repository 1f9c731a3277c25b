"""Where a claim says the opposite of its evidence, by rule: what a small model overlooks.

A claim is laid beside the lines it was read with, clause by clause. It is denied if the clauses
most like one of its own are negated and it is not, or the other way round, or have an opposite
(``rose``, ``fell``) in the place of a word of it. What another line says as the claim does is not
denied, nor what is said under a condition or negated in other ways (``lacks``, ``without``). Times,
dates and units of the claim have to stand in the evidence. In doubt nothing is denied.

Numbers do not have to: right answers count and compute.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from groundwire.explain.held import Text
from groundwire.explain.words import Word, is_negation, within
from groundwire.quantities import Match, QuantityIndex
from groundwire.vocabulary import LOOSE_OPPOSITES, NOT_NEGATED, OPPOSITES

#: Share of all their content words that two clauses have in common if they are about the same.
LIKENESS = 0.5
#: What of the evidence disagrees with a quantity; that a number is not there says too little.
_DIFFERING = frozenset({Match.TIME_ABSENT, Match.DATE_PARTLY, Match.UNIT_DIFFERS})
#: Content words after a "not" that it is about.
_SCOPE = 3
#: Words of the shortest statement: "It is safe."
_STATEMENT = 3
_KEPT_LINES = 4_096

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
_BASES: Mapping[str, str] = dict(
    pair.split("/")
    for pair in (
        "ran/run went/go won/win paid/pay bought/buy brought/bring built/build came/come drew/draw "
        "fought/fight found/find gave/give got/get grew/grow held/hold kept/keep knew/know led/lead "
        "left/leave lent/lend lost/lose made/make meant/mean met/meet rose/rise said/say saw/see "
        "sent/send sold/sell spent/spend spoke/speak stood/stand taught/teach thought/think "
        "told/tell took/take threw/throw wore/wear wrote/write began/begin became/become"
    ).split()
)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in OPPOSITES + LOOSE_OPPOSITES:
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
        words: Its content words.
        content: Their stems.
        negated: The stems that it negates.
        lowers: All of its words, as the lists have them.
        negations: Its words that say "not".
        is_open: Whether it holds under a condition, or negates in another way.
    """

    words: tuple[Word, ...]
    content: frozenset[str]
    negated: frozenset[str]
    lowers: frozenset[str]
    negations: tuple[Word, ...]
    is_open: bool

    def is_like(self, line: "_Clause") -> bool:
        """Whether it is about the same as a clause of a line.

        One word in common is enough for a statement, and not for the key of a field.
        """
        common = len(self.content & line.content)
        is_stated = common >= 2 or len(line.lowers) >= _STATEMENT
        return is_stated and common >= LIKENESS * len(self.content | line.content)

    def against(self, other: "_Clause") -> tuple[Word, ...]:
        """The words of this clause that the other says the opposite of; none if it does not."""
        turned = self._turned(other)
        opposite = tuple(
            word
            for word in self.words
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


def denied(claim: str, lines: Iterable[str], texts: Sequence[str]) -> tuple[Denied, ...]:
    """What of a claim its evidence says the opposite of, in reading order.

    Args:
        claim: The claim.
        lines: Those lines of the evidence that have most in common with it.
        texts: All of the evidence.
    """
    clauses = [clause for line in lines for clause in _kept(line)]
    found = [_place(words) for own in _clauses(claim) if (words := _denying(own, clauses))]
    return tuple(sorted([*found, *_quantities(claim, texts)], key=lambda each: each.start))


def _place(words: Sequence[Word]) -> Denied:
    return Denied(min(word.start for word in words), max(word.end for word in words))


def _denying(own: _Clause, clauses: Sequence[_Clause]) -> tuple[Word, ...]:
    """The words of a clause that all clauses about the same deny."""
    same = [clause for clause in clauses if own.is_like(clause)]
    if own.is_open or any(clause.is_open for clause in same):
        return ()
    against = [own.against(clause) for clause in same]
    return against[0] if against and all(against) else ()


def _quantities(claim: str, texts: Sequence[str]) -> Iterator[Denied]:
    stated = Text(claim).quantities
    if not stated:
        return
    index = QuantityIndex.union(_index(text) for text in texts)
    for quantity in stated:
        if index.match(quantity) in _DIFFERING:
            yield Denied(quantity.start, quantity.end)


@lru_cache(maxsize=256)
def _index(text: str) -> QuantityIndex:
    return Text(text).index


@lru_cache(maxsize=_KEPT_LINES)
def _kept(line: str) -> tuple[_Clause, ...]:
    return tuple(_clauses(line))


def _clauses(text: str) -> Iterator[_Clause]:
    read = Text(text)
    negations = tuple(_negations(text, read.words))
    cuts = [0, *(cut.start() for cut in _CUT.finditer(text)), len(text)]
    for start, end in pairwise(cuts):
        words = [word for word in read.words if start <= word.start < end]
        content = tuple(word for word in words if word.is_content)
        if not content:
            continue
        own = tuple(word for word in negations if start <= word.start < end)
        after = [w for no in own for w in [w for w in content if w.start >= no.end][:_SCOPE]]
        yield _Clause(
            words=content,
            content=frozenset(map(_stem, content)),
            negated=frozenset(map(_stem, after)),
            lowers=frozenset(word.lower for word in words),
            negations=own,
            is_open=any(p.search(text, start, end) for p in (_CONDITION, _OTHERWISE)),
        )


def _negations(text: str, words: Sequence[Word]) -> Iterator[Word]:
    """What says "not" for certain: not "no later than", "not only", "no-brainer"."""
    false_that = {match.start() for match in _FALSE_THAT.finditer(text)}
    for index, word in enumerate(words):
        following = [each.lower for each in words[index + 1 : index + 3]]
        is_no = is_negation(word.lower) and following[:1] != [] and following[0] not in NOT_NEGATED
        is_compared = following[1:] == ["than"]
        is_joined = text[word.end : word.end + 1] == "-"
        if word.start in false_that or (is_no and not is_compared and not is_joined):
            yield word


def _stem(word: Word) -> str:
    base = _BASES.get(word.lower)
    return base[:5] if base else word.stem
