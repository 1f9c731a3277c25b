"""Rules for claims that contradict their evidence by a negation, an opposite word or a rank."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.words import Word
from groundwire.detection.rules.basis import MAX_PLACES, Basis, is_field, overlap
from groundwire.detection.rules.clauses import Clause, clauses_of
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.text.vocabulary import words

#: Two clauses are about the same thing if their :meth:`.Clause.likeness` is at least this.
LIKENESS = 0.6
#: Clauses are among the most similar if their likeness is at least this share of the highest.
_SHARE = 0.9
#: A line is about the same thing as a claim if it has at least this share of the claim's content
#: words.
_ABOUT = 0.6
#: Two clauses that share fewer content words than this are compared only if their
#: :meth:`.Clause.likeness` is 1.
_MIN_WORDS = 2
#: Number of best lines that are compared by their clauses, and number of best lines that are
#: compared by words such as "longest".
_CLAUSE_LINES, _LINES = 2, 4
_UNTOLD = re.compile(
    r"\b(?:(?:could|can|do|did|does)(?:n['’]t| not)|cannot|unable to) "
    r"(?:find|see|tell|answer|determine|confirm|say|know)"
    r"|\bnot? (?:information|mention(?:ed)?|stated?|provided?|specif(?:y|ied)|say|given|available"
    r"|details?)\b",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(r"\b(?:most [a-z]+|[a-z]{3,}est|best|worst)\b", re.IGNORECASE)
_NO_SUPERLATIVE = words("""
    interest request forest west test rest guest harvest invest suggest digest honest modest protest
    arrest contest quest latest northwest southwest midwest chest manifest conquest
""")
_RANKED = re.compile(
    r"\b(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+(?:nd|rd|th)"
    r"|(?:(?:one|some|two|three|many|any) of|among) (?:the|its|his|her|their|[\w.]+['’]s?)"
    r"|nearly the|almost the)[ -]+(?:[\w'’]+ ){0,2}$",
    re.IGNORECASE,
)
_RANK_CHARS = 40


def negations(claim: ComparedText, lines: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find clauses that are negated where the most similar clauses of the evidence are not.

    The reverse is found as well, and so are opposite words. A claim that says that information is
    missing is left out, and so are lines that are fields.
    """
    if _UNTOLD.search(claim.text):
        return
    stated = islice((line for line in lines if not is_field(line.text)), _CLAUSE_LINES)
    read = [basis.clauses(line) for line in stated]
    # Lines such as "Some rooms have it and most do not" are left out: it is unclear which rooms the
    # claim is about.
    whole = (clauses for clauses in read if not any(each.is_elliptical for each in clauses))
    clauses = [clause for each in whole for clause in each]
    for own in clauses_of(claim):
        denied = _denying(own, clauses)
        if denied:
            start, end = min(w.start for w in denied), max(w.end for w in denied)
            yield RuleFinding(start, end, ConflictKind.NEGATION)


def ranks(claim: ComparedText, lines: Lines, _: Basis) -> Iterator[RuleFinding]:
    """Find "the longest" where the evidence has "the second longest" or "one of the longest"."""
    about = [(line, overlap(claim, line) >= _ABOUT) for line in lines[:_LINES]]
    for match in islice(_SUPERLATIVE.finditer(claim.text), MAX_PLACES):
        if match[0].lower() in _NO_SUPERLATIVE or _is_ranked(claim.text, match.start()):
            continue
        said = re.compile(rf"\b{re.escape(match[0])}\b", re.IGNORECASE)
        ranked = [
            is_ranked
            for line, is_about in about
            for other in islice(said.finditer(line.text), MAX_PLACES)
            if (is_ranked := _is_ranked(line.text, other.start())) or is_about
        ]
        if ranked and all(ranked):
            yield RuleFinding(match.start(), match.end(), ConflictKind.RANK)


def _denying(own: Clause, clauses: Sequence[Clause]) -> tuple[Word, ...]:
    """Return the contradicted words of a clause, if all of the most similar clauses deny it."""
    alike = [
        (own.likeness(clause), clause)
        for clause in clauses
        if _is_enough(own, clause) and clause.is_stated
    ]
    best = max((likeness for likeness, _ in alike), default=0.0)
    is_inside = any(own.content <= clause.content for _, clause in alike)
    if own.is_open or not own.is_stated or (best < LIKENESS and not is_inside):
        return ()
    same = [c for likeness, c in alike if likeness >= _SHARE * best or own.content <= c.content]
    denied: tuple[Word, ...] = ()
    for clause in same:
        against = () if clause.is_open else own.against(clause)
        if not against:
            return ()
        denied = denied or against
    return denied


def _is_enough(own: Clause, clause: Clause) -> bool:
    """Return whether two clauses share two or more content words, or have a likeness of 1."""
    return len(own.content & clause.content) >= _MIN_WORDS or own.likeness(clause) == 1


def _is_ranked(text: str, start: int) -> bool:
    return _RANKED.search(text, max(0, start - _RANK_CHARS), start) is not None
