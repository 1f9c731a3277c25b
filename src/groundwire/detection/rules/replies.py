"""Finds claims that a line states as a whole: by all their words, or as an answer to the question.

Such claims are settled, which means that their P(not supported) is capped.
"""

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.rules.basis import STATED, Basis, quantities_in
from groundwire.text.quantities import QuantityIndex
from groundwire.text.vocabulary import HEDGES, words

_MOST_WORDS = 2
_LINES = 3
#: Least number of content words of a question: no line can be recognised by "Which year?".
_MIN_ASKED = 2
#: Least share of the question's content words in a line that answers the question.
_ASKED = 0.75

#: Words that change the meaning of a claim, if the line does not have them.
_TURNING = words("""
    before after since until till over under above below up down on off within beyond
    may might must can could should would will if unless when while without except only
    all every each no always never
""")
_HEDGES = HEDGES | words("can should would if unless except almost nearly")
#: Words for which the order of the words around them matters.
_DIRECTED = words("from to than by into")


def contained(claim: ComparedText, lines: Lines, _: Basis) -> tuple[tuple[int, int], ...]:
    """Return the range of a claim, if a line has all its words and states all its quantities.

    "The tower is 330 metres tall" states "It is 330 m tall". In validation answers, people had
    marked 2 % of 696 such claims in which no rule finds a mistake. Further conditions were added
    after this count: the order of words, a "before" for an "after", and another number between the
    words.
    """
    stated = quantities_in(claim)
    said = frozenset(
        word.stem
        for word in claim.words
        if word.is_content and not any(q.start <= word.start < q.end for q in stated)
    )
    if len(said) + len(stated) < _MIN_ASKED:
        return ()
    for line in lines[:_LINES]:
        has_all = said <= line.content and all(line.index.match(q) in STATED for q in stated)
        is_same = line.has_negation == claim.has_negation and not _turns(claim, line)
        if has_all and is_same and not _has_between(claim, line):
            return ((claim.words[0].start, claim.words[-1].end),)
    return ()


def _turns(claim: ComparedText, line: ComparedText) -> bool:
    """Return whether a line that has all words of a claim may still say something else.

    This holds if the claim or the line has a word such as "before" or "may" that the other lacks,
    or if their words stand in another order where the order matters.
    """
    has_others = (claim.lowers & _TURNING) - line.lowers or (line.lowers & _HEDGES) - claim.lowers
    if has_others:
        return True
    # The order of words matters in "from Porto to Lisbon" and "Mary is older than John".
    if not claim.lowers & _DIRECTED:
        return False
    stems = iter(word.stem for word in line.words if word.is_content)
    return not all(word.stem in stems for word in claim.words if word.is_content)


def _has_between(claim: ComparedText, line: ComparedText) -> bool:
    """Return whether a line has another quantity of the same kind between the words of a claim.

    "The fee is 20 for adults and 10 for children" does not state "The fee is 20 for children".
    """
    said, own = QuantityIndex.of(quantities_in(claim)), quantities_in(claim)
    theirs = quantities_in(line)
    starts: dict[str, int] = {}
    for word in line.words:
        starts.setdefault(word.stem, word.start)
    places = [starts[word.stem] for word in claim.words if word.stem in starts and word.is_content]
    places += [each.start for each in theirs if said.match(each) in STATED]
    first, last = min(places, default=0), max(places, default=0)
    return any(
        first < other.start < last
        for other in theirs
        if said.match(other) not in STATED
        and any((each.kind, each.unit) == (other.kind, other.unit) for each in own)
    )


def replied(claim: ComparedText, lines: Lines, basis: Basis) -> tuple[tuple[int, int], ...]:
    """Return the range of a short answer, if a line has it and nearly all words of the question.

    "Canberra is the capital of Australia." supports the answer "Canberra" to "What is the capital
    of Australia?". A model cannot judge one word alone.
    """
    if not 0 < len(claim.content) <= _MOST_WORDS or len(claim.words) > _MOST_WORDS:
        return ()
    asked = ComparedText(basis.question).content - claim.content
    if len(asked) < _MIN_ASKED:
        return ()
    meant = (len(asked & line.content) >= _ASKED * len(asked) for line in lines)
    has = (claim.content <= line.content and not line.has_negation for line in lines)
    if any(a and b for a, b in zip(meant, has, strict=True)):
        return ((claim.words[0].start, claim.words[-1].end),)
    return ()
