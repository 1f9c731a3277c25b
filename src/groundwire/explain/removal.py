"""Finds the sentences and clauses that a repair takes out, since no evidence supports them."""

import re

from groundwire.detection.asides.known_words import words_in
from groundwire.detection.values import Aside, AsideKind, Claim, Detection, Label
from groundwire.text.vocabulary import words

#: The least P(not supported) of what is taken out. Of validation answers (``slots/validation``), 62
#: of 158 sentences and 49 of 371 other slots that nothing supports are taken out, and nothing of
#: 1,846 right claims; of RAGTruth's, 44 sentences, 3 of which no annotator marked.
_SURE = 0.93
#: The least share of a sentence's characters that must be marked.
_MOST_MARKED = 0.7
#: The least number of words of a clause. It is marked whole, after a comma or dash, and ends the
#: sentence.
_CLAUSE_WORDS = 3
_SEPARATOR = re.compile(r"(?:\s*[,;]|\s+[–—-])\s+(?:(?:and|which|with|who|where)\s+)?\Z")
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
    """Return the range of the answer to take out, so that nothing is marked and the rest stands.

    The range is a clause at the end of the claim, with the comma before it; or the whole claim,
    with the white space before it and the mark of its list item.

    Returns:
        The range; ``None`` if what is marked may be right in part, or the rest may need it.
    """
    if claim.label is not Label.UNSUPPORTED or (claim.probability or 0) < _SURE:
        return None
    marked = sum(span.end - span.start for span in claim.spans)
    if marked < _MOST_MARKED * (claim.end - claim.start):
        found = _clause(claim)
    else:
        found = _sentence(detection, claim)
    return found if found and _is_closed(detection.answer[slice(*found)]) else None


def _clause(claim: Claim) -> tuple[int, int] | None:
    """Return the range of the only marked words, if they are a clause at the end of the claim."""
    (span, *others), text = claim.spans, claim.text
    start, end = span.start - claim.start, len(text[: span.end - claim.start].rstrip(".!?"))
    before = _SEPARATOR.search(text[:start])
    begin = before.start() if before else start
    is_last = not text[end:].strip(" .!?")
    is_clause = (before or text[start] in ",;") and len(words_in(text[start:end])) >= _CLAUSE_WORDS
    return (
        (claim.start + begin, claim.start + end) if is_clause and is_last and not others else None
    )


def _sentence(detection: Detection, claim: Claim) -> tuple[int, int] | None:
    """Return the range of a claim that is a sentence or an item of a list, but not the first one.

    It is none either below a heading or an intro, or in a table, a numbered list or code.
    """
    parts: tuple[Claim | Aside, ...] = (*detection.claims, *detection.asides)
    before = (part for part in parts if part.start < claim.start)
    last = max(before, key=lambda part: part.start, default=None)
    is_led = isinstance(last, Aside) and last.kind in _LEADS
    if last is None or is_led or "|" in claim.text:
        return None
    is_code = detection.answer[: claim.start].count("```") % 2
    is_apart = _GAP.fullmatch(detection.answer, last.end, claim.start)
    return (last.end, claim.end) if is_apart and not is_code else None


def _is_closed(text: str) -> bool:
    """Return whether all quotes, brackets and marks that begin in a text end there too."""
    return all(text.count(mark) % 2 == 0 for mark in _PAIRED) and all(
        text.count(one) == text.count(other) for one, other in ("()", "[]", "“”")
    )


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
