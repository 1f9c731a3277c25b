"""The rule for swapped roles: who did what to whom, and who is older than whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.subtype import is_verb
from groundwire.detection.comparison.words import Word
from groundwire.detection.rules.basis import MAX_PLACES, Basis
from groundwire.detection.rules.clauses import stem_of
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.text.vocabulary import CALENDAR, words

#: Words around which names may be swapped without a change of meaning.
_MUTUAL = words("""
    met meet meets married marries marry faced faces played plays play joined merged tied drew and
    with between starred stars starring featured features
""")
_LESS = words("less not no never")
_BE = words("is are was were be been being")
_JOINING = words("and or of for with to")
#: Limit on the words between a name and its verb. It is also the number of words after a verb among
#: which :func:`_is_passive` looks for a "by".
_SKIPPED = 3
#: Number of words before a verb among which :func:`_is_passive` looks for a form of "be".
_BEFORE_VERB = 2
_LINES = 3


@dataclass(frozen=True, slots=True)
class _Act:
    """A verb, or a word such as "older", with the stems of the names on its two sides."""

    stem: str
    before: frozenset[str]
    after: frozenset[str]
    is_passive: bool

    def is_turned(self, other: "_Act") -> bool:
        """Return whether ``other`` has the same verb and voice, with the names swapped."""
        if (self.stem, self.is_passive) != (other.stem, other.is_passive):
            return False
        is_crossed = bool(self.before & other.after and self.after & other.before)
        return is_crossed and not self.before & other.before and not self.after & other.after


def roles(claim: ComparedText, lines: Lines, _: Basis) -> Iterator[RuleFinding]:
    """Find names on the two sides of a verb, or of "older than", that a line has swapped."""
    acting = (
        index
        for index, word in enumerate(claim.words)
        if _may_act(word) or _compares(claim.words, index)
    )
    for act in (_act(claim.words, index) for index in islice(acting, MAX_PLACES)):
        others = (other for line in lines[:_LINES] for other in _acts(line, act.stem))
        if act.before and act.after and any(map(act.is_turned, others)):
            ends = [word for word in claim.words if word.stem in act.before | act.after]
            yield RuleFinding(ends[0].start, ends[-1].end, ConflictKind.ROLES)
            return


def _may_act(word: Word) -> bool:
    return is_verb(word) and word.is_content and word.lower not in _MUTUAL


def _compares(words: Sequence[Word], index: int) -> bool:
    """Return whether "than" is right after a word, with no "less" or "not" right before it."""
    is_than = index + 1 < len(words) and words[index + 1].lower == "than"
    return is_than and (index == 0 or words[index - 1].lower not in _LESS)


def _acts(line: ComparedText, stem: str) -> Iterator[_Act]:
    """Return the words of a line that have a given stem, with the names around each.

    Words that do not begin with a lower-case letter, and words right after "not", "less" or the
    like, are left out.
    """
    verbs = (
        index
        for index, word in enumerate(line.words)
        if word.text[0].islower()
        and stem_of(word) == stem
        and (index == 0 or line.words[index - 1].lower not in _LESS)
    )
    return (_act(line.words, index) for index in islice(verbs, MAX_PLACES))


def _act(words: Sequence[Word], index: int) -> _Act:
    return _Act(
        stem=stem_of(words[index]),
        before=_name_towards(words, range(index - 1, -1, -1)),
        after=_name_towards(words, range(index + 1, len(words))),
        is_passive=_is_passive(words, index),
    )


def _name_towards(words: Sequence[Word], order: range) -> frozenset[str]:
    found: set[str] = set()
    for n, index in enumerate(order):
        word = words[index]
        if _is_name(word):
            found.add(word.stem)
        elif found or n >= _SKIPPED or word.lower in _JOINING:
            break
    return frozenset(found)


def _is_name(word: Word) -> bool:
    """Return whether a word is written like a name, and is not a day or month."""
    is_day = word.lower in CALENDAR
    return word.text[0].isupper() and word.is_content and not is_day


def _is_passive(words: Sequence[Word], index: int) -> bool:
    """Return whether a verb looks passive: "was beaten by", and also "tools used by"."""
    before = words[max(0, index - _BEFORE_VERB) : index]
    after = [word.lower for word in words[index + 1 : index + 1 + _SKIPPED]]
    has_be = any(word.lower in _BE for word in before)
    return after[:1] == ["by"] or (has_be and "by" in after)
