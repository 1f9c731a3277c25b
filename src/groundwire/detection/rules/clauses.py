"""Divides a sentence into clauses, and compares clauses."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.comparison.words import Word, is_negation, stem
from groundwire.text.vocabulary import (
    LOOSE_OPPOSITES,
    NOT_NEGATED,
    OPPOSITES,
    PASTS,
    opposites_of,
    words,
)

#: A "not" applies to at most this many content words after it.
_SCOPE = 3
#: Number of words of the shortest statement: "It is safe."
_STATEMENT = 3
#: Least number of content words that a claim's clause and a line's clause must share, if the line's
#: clause has fewer than ``_STATEMENT`` words.
_MIN_COMMON = 2
#: In "no later than" and "not more than", the negation states a limit, and denies nothing. This is
#: assumed if the "than" is two or more words after the negation, but fewer than this number.
_UNTIL_THAN = 6
#: Limit on the cuts between clauses of a claim or line; the text after the last cut is one clause.
_MAX_CLAUSES = 64

_CUT = re.compile(
    r"[;!?()—\n]|[.,:](?!\d)|\b(?:but|although|though|while|whereas|because|since|if|unless|when|so"
    r"|which|who|and that|as (?:it|they|this|you|he|she|we|there))\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|when|provided|until|would|in case|or not)\b", re.IGNORECASE
)
#: Matches words that may negate without a "not". Such a word makes its clause open
#: (:attr:`Clause.is_open`), unless the word is one of a pair of opposites.
_OTHERWISE = re.compile(
    r"\b(?:lack\w*|fail\w*|without|except\w*|rather than|instead|avoid\w*|prevent\w*|refus\w*"
    r"|den(?:y|ies|ied)|prohibit\w*|forb[ia]d\w*|bans?|banned|ceased?|absen\w*|missing|exclud\w*"
    r"|un[a-z]{4,}|in[a-z]+[ai]ble|im?possible|dis[a-z]{4,}|false(?! that)|only|few|fewer|rarely"
    r"|seldom|barely|zero|less|free of|optional|ended|stopp?\w*|nil|none|non|neither|nor|yet to"
    r"|sure|exceed\w*)\b",
    re.IGNORECASE,
)
_VERBAL = words("""
    is are was were be been being do does did has have had can could will would may might must
    should allowed permitted included available needed required
""")
_DETERMINERS = words("a an the this that these those my your his her its our their")
_FALSE_THAT = re.compile(r"\b(?:false|untrue|wrong) that\b", re.IGNORECASE)
_BASES = dict(PASTS)
_ENDING = re.compile(r"(?:(?<=ss)|(?<=x)|(?<=[cs]h))es$|(?<![ius])s$")


#: Pairs of opposites that begin with these words are not used: the words have too many meanings.
_LOOSEST = frozenset(("before", "first", "up", "over"))
_OPPOSITE = opposites_of(pair for pair in (*OPPOSITES, *LOOSE_OPPOSITES) if pair[0] not in _LOOSEST)
# "Some" is an opposite of "all" and "every" too: what holds for some need not hold for all.
_OPPOSITE |= {word: _OPPOSITE.get(word, frozenset()) | {"some"} for word in ("all", "every")}


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class Clause:
    """A clause of a sentence.

    Attributes:
        all_words: All words of the clause.
        negations: The negations in the clause, such as "not".
        is_open: Whether the clause has a condition, or a word such as "without", which may negate
            without a "not". Rules do not take such a clause to contradict another.
    """

    all_words: tuple[Word, ...]
    negations: tuple[Word, ...]
    is_open: bool

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The content words of the clause."""
        return tuple(word for word in self.all_words if word.is_content)

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of the content words."""
        return frozenset(map(stem_of, self.words))

    @cached_property
    def negated(self) -> frozenset[str]:
        """The stems of the negated words: of up to three content words after each negation."""
        ends = (no.end for no in self.negations)
        firsts = [bisect_left(self.words, end, key=lambda word: word.start) for end in ends]
        return frozenset(stem_of(w) for n in firsts for w in self.words[n : n + _SCOPE])

    @cached_property
    def lowers(self) -> frozenset[str]:
        """All words of the clause in lower case."""
        return frozenset(word.lower for word in self.all_words)

    @property
    def is_stated(self) -> bool:
        """Whether the clause is a statement.

        Without a common verb such as "is" or "have", a clause is no statement if it has one or two
        words ("Aaron Hernandez"), or begins with a negation ("no towels") or like "Using a spoon".
        """
        if self.lowers & _VERBAL:
            return True
        if len(self.all_words) < _STATEMENT:
            return False
        first, second = (word.lower for word in self.all_words[:2])
        is_participle = first.endswith("ing") and first != "during" and second in _DETERMINERS
        return self.all_words[0] not in self.negations and not is_participle

    @property
    def is_elliptical(self) -> bool:
        """Whether the clause ends with a negation: "some rooms have it and most do not"."""
        return is_negation(self.all_words[-1].lower)

    def likeness(self, line: "Clause") -> float:
        """Return the share of the content words of two clauses that both clauses have.

        A pair of opposites, such as "open" and "closed", counts as one word in the total, and not
        as a common word. The share is 0 if fewer than two words are common and the line's clause
        has fewer than three words. It may exceed 1 if an opposite, such as "all", is no content
        word.
        """
        common = len(self.content & line.content)
        is_enough = common >= _MIN_COMMON or len(line.lowers) >= _STATEMENT
        # "Open on Sundays" and "closed on Sundays" have one common word of two, not of three.
        n_all = len(self.content | line.content) - len(self._opposite(line))
        return common / n_all if is_enough and n_all else 0.0

    def against(self, other: "Clause") -> tuple[Word, ...]:
        """Return the words of this clause that another clause contradicts."""
        is_turned = bool(self.negations) != bool(other.negations)
        opposite = self._opposite(other)
        # A negated word does not contradict its opposite: "did not rise" and "fell" may both be
        # true, and so may "not all have" and "some have".
        if is_turned:
            return () if opposite else self._turned(other)
        return () if self.negations else opposite

    def _opposite(self, other: "Clause") -> tuple[Word, ...]:
        return tuple(
            word
            for word in self.all_words
            # The cheapest test comes first, because every pair of clauses is compared.
            if (wanted := _OPPOSITE.get(word.lower))
            and not wanted.isdisjoint(other.lowers)
            and word.lower not in other.lowers
            and any(
                not is_crossed(self.all_words, word, other.all_words, each)
                for each in other.all_words
                if each.lower in wanted and each.lower not in self.lowers
            )
        )

    def _turned(self, other: "Clause") -> tuple[Word, ...]:
        about = (self.negated | other.negated) & self.content & other.content
        said = tuple(word for word in self.words if stem_of(word) in about)
        return (*self.negations, *said) if said else ()


def is_crossed(words: Sequence[Word], word: Word, others: Sequence[Word], opposite: Word) -> bool:
    """Return whether two opposite words mean the same, because the words around them are swapped.

    "Mary is younger than John" says the same as "John is older than Mary".
    """
    before, after = _sides(words, word)
    left, right = _sides(others, opposite)
    return bool(before & right and after & left)


def _sides(words: Sequence[Word], at: Word) -> tuple[frozenset[str], frozenset[str]]:
    content = [word for word in words if word.is_content]
    before = frozenset(stem_of(word) for word in content if word.end <= at.start)
    return before, frozenset(stem_of(word) for word in content if word.start >= at.end)


def clauses_of(text: ComparedText) -> list[Clause]:
    """Return the clauses of a sentence that have content words or end with a negation, in order."""
    found = []
    starts = [word.start for word in text.words]
    negations = tuple(_negations(text.text, text.words))
    cuts = [cut.span() for cut in islice(_CUT.finditer(text.text), _MAX_CLAUSES)]
    last = len(text.text)
    for (start, _), (end, after) in pairwise([(0, 0), *cuts, (last, last)]):
        words = text.words[bisect_left(starts, start) : bisect_left(starts, end)]
        if any(word.is_content for word in words) or (words and is_negation(words[-1].lower)):
            # The word after the clause may make it conditional: "Add salt if ...".
            is_open = _is_open(text.text, start, after)
            own = tuple(no for no in negations if start <= no.start < end)
            found.append(Clause(tuple(words), own, is_open))
    return found


def stem_of(word: Word) -> str:
    """Return the stem of a word's base form, so that "run", "runs" and "ran" have the same stem."""
    return stem(_BASES.get(word.lower) or _ENDING.sub("", word.lower))


def _is_open(text: str, start: int, end: int) -> bool:
    said = (match[0].lower() for match in _OTHERWISE.finditer(text, start, end))
    is_negative = any(word not in _OPPOSITE for word in said)
    return is_negative or _CONDITION.search(text, start, end) is not None


def _negations(text: str, words: Sequence[Word]) -> Iterator[Word]:
    """Yield the words that surely negate, such as the "false" of "it is false that".

    The negations in "no later than", "not only" and "no-brainer" are left out, and so is a "not" at
    the very end of the text.
    """
    false_that = {match.start() for match in _FALSE_THAT.finditer(text)}
    for index, word in enumerate(words):
        if not is_negation(word.lower) and word.start not in false_that:
            continue
        following = [each.lower for each in words[index + 1 : index + _UNTIL_THAN]]
        # "No later than" and "do not take more than" state a limit, and deny nothing.
        is_no = bool(following) and following[0] not in NOT_NEGATED and "than" not in following[1:]
        is_joined = text[word.end : word.end + 1] == "-"
        if word.start in false_that or (is_no and not is_joined):
            yield word
