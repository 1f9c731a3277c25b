"""The rule for claims that have no word in common with their evidence."""

import re
from collections.abc import Iterator

from groundwire.detection.comparison.aligned_span import ComparedText, Lines
from groundwire.detection.comparison.words import is_negation
from groundwire.detection.rules.basis import Basis, quantities_in
from groundwire.detection.rules.conflict import ConflictKind, RuleFinding
from groundwire.text.vocabulary import FUNCTION_WORDS, words

#: A claim with fewer different content words than this is left out: "It depends." Numbers do not
#: count.
_MIN_CONTENT = 3
#: A claim with fewer English function words than this is left out: it may be in another language.
_MIN_ENGLISH = 2
#: Words of remarks that claim nothing: "Here is a summary", "I hope this helps".
_REMARKS = words(
    "i i'm i'd i'll me my let let's please here here's hope enjoy sorry thanks free sure"
)
_STATEMENT = re.compile(r"[.!]\W*$")


def unrelated(claim: ComparedText, _: Lines, basis: Basis) -> Iterator[RuleFinding]:
    """Find a claim that shares no content word with the evidence.

    A claim with "Italian" shares this word with evidence that has "Italy": see :meth:`.Basis.has`.

    Questions, headings, remarks and negated statements are left out: in the validation answers they
    are nearly always faithful, even without a word of their sources.
    """
    numbers = quantities_in(claim)
    content = [
        word
        for word in claim.words
        # A number may be computed from others, and then the evidence does not have it.
        if word.is_content and not any(q.start <= word.start < q.end for q in numbers)
    ]
    lowers = [word.lower for word in claim.words]
    if len({word.stem for word in content}) < _MIN_CONTENT or not _STATEMENT.search(claim.text):
        return
    is_remark = any(word in _REMARKS or is_negation(word) for word in lowers)
    if is_remark or len(FUNCTION_WORDS.intersection(lowers)) < _MIN_ENGLISH:
        return
    if basis.is_english and not any(map(basis.has, content)) and not claim.content & basis.stems:
        start, end = claim.words[0].start, claim.words[-1].end
        yield RuleFinding(start, end, ConflictKind.UNRELATED)
