"""Finds the sentences that a repair takes out of an answer, since no evidence supports them."""

import re

from groundwire.detection.asides.known_words import words_in
from groundwire.detection.values import AsideKind, Claim, Detection, Label
from groundwire.text.vocabulary import words

#: A sentence is taken out only if its P(not supported) is at least ``_SURE``, and at least
#: ``_MOST_MARKED`` of its characters are marked. Of 158 sentences of validation answers
#: (``slots/validation``) that nothing supports, 62 are, and none of 1,846 right ones.
_SURE, _MOST_MARKED = 0.93, 0.7
#: The gap that is taken out with the sentence after it: white space, and the mark of a list item
#: that is not numbered.
_GAP = re.compile(r"\s+|\s*\n[ \t]*[-*+•][ \t]+")
#: Marks of which a sentence must have an even number: the other one may stand in the next sentence.
_PAIRED = ("**", "__", "`", '"')
#: Words with which a sentence refers to the sentence before it.
_REFERRING = words(
    "it its it's they their they're them this that these those he his she her both either neither "
    "such then therefore thus hence so however but and or nor yet also besides moreover "
    "furthermore otherwise instead additionally similarly likewise likely because which who"
)
#: Kinds of asides whose text below or after them must not be missing.
_LEADS = (AsideKind.HEADING, AsideKind.INTRO, AsideKind.TABLE_HEADER, AsideKind.CODE)


def removable(detection: Detection, claim: Claim) -> tuple[int, int] | None:
    """Return the range of the answer to take out, so that a claim is gone and the rest stands.

    The range has the claim, the white space before it, and the mark of its list item.

    Returns:
        The range; ``None`` if the claim may be right in part, if it is the answer's first claim, if
        it is the first one below a heading or an intro, or if it is part of a table, of a numbered
        list, or of text in quotes or brackets that goes on.
    """
    marked = sum(span.end - span.start for span in claim.spans)
    if (
        claim.label is not Label.UNSUPPORTED
        or (claim.probability or 0) < _SURE
        or marked < _MOST_MARKED * (claim.end - claim.start)
    ):
        return None
    parts = [part for part in (*detection.claims, *detection.asides) if part.start < claim.start]
    last = max(parts, key=lambda part: part.start, default=None)
    if last is None or getattr(last, "kind", None) in _LEADS:
        return None
    text, whole = claim.text, detection.answer[: claim.start]
    is_closed = all(text.count(mark) % 2 == 0 for mark in _PAIRED) and all(
        text.count(one) == text.count(other) for one, other in ("()", "[]", "“”")
    )
    is_apart = _GAP.fullmatch(detection.answer, last.end, claim.start) and "|" not in text
    if not is_apart or not is_closed or whole.count("```") % 2:
        return None
    return last.end, claim.end


def stands_after(removed: Claim, claim: Claim, answer: str) -> bool:
    """Return whether a claim still says the same if the claim before it, ``removed``, is taken out.

    It does not if it begins with a word such as "It" or a small letter, or is a list item below the
    other.
    """
    indent, deeper = (
        len(before) - len(before.lstrip(" \t"))
        for each in (removed, claim)
        for before in [answer[: each.start].rpartition("\n")[2]]
    )
    is_below = deeper > indent and "\n" in answer[removed.end : claim.start]
    refers = _REFERRING.intersection(words_in(claim.text)[:1]) or claim.text[0].islower()
    return not (is_below or refers)
