"""Finds the sentences and clauses that a repair takes out, since no evidence supports them."""

import re

from groundwire.detection.asides.known_words import words_in
from groundwire.detection.values import Aside, AsideKind, Claim, Detection, Label
from groundwire.text.vocabulary import words

#: Lowest P(not supported) of a claim at which the claim, or its last clause, is taken out. With the
#: limits below, 46 of 151 marked sentences that nothing supports are taken out of validation
#: answers, and nothing of 1,846 right claims.
_SURE = 0.93
#: A sentence is taken out only if the share of its marked characters is at least the first number,
#: and the probability that the evidence says nothing about it (``entailment.neutral``) is at least
#: the second.
_MOST_MARKED, _SILENT = 0.7, 0.9
#: A clause is taken out only if it has at least this many words.
_CLAUSE_WORDS = 3
_SEPARATOR = re.compile(r"(?:\s?[,;]|\s[–—-])\s(?:(?:and|or|which|with|who|where)\s)?\Z")
#: A sentence that begins with one of these words may be incomplete without its last clause.
_NEEDS_CLAUSE = words(
    "although though while whilst whereas if unless when whenever once because since as after "
    "before until despite besides given apart instead rather"
)
#: Matches signs of a series or a pair of things, which needs its last member.
_NEEDS_MEMBER = re.compile(r"[,;:]|\b(?:both|either|neither|between|not only)\b", re.IGNORECASE)
#: Matches the gap before a sentence that can be taken out with the sentence: white space, or a line
#: break and the mark of a list item without a number.
_GAP = re.compile(r"\s+|\s*\n[ \t]*[-*+•][ \t]+")
_UNDERLINE = re.compile(r"[ \t]*\n[ \t]*(?:-{2,}|={2,})")
#: Marks that come in pairs. A text with an odd number of any such mark is not taken out, because
#: the other half of a pair may be in another sentence.
_PAIRED = ("*", "**", "_", "__", "`", "~", "$", '"')
_BRACKETS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"))
#: A sentence that begins with one of these words, or with one of the phrases in ``_REFERS``, may
#: refer to the sentence before it.
_REFERRING = words(
    "it its they their them this that these those he his she her hers him both either neither such "
    "then therefore thus hence so however but and or nor yet also besides moreover furthermore "
    "otherwise instead additionally similarly likewise because which who afterwards later another "
    "meanwhile other others first second third firstly secondly thirdly finally lastly"
)
_REFERS = re.compile(
    r"\W*(?:as a result|as such|for (?:example|instance)|in (?:addition|contrast|turn|fact|other)|"
    r"(?:in|for|during|after|before|at|from|with|by|of|on) (?:this|that|these|those|it|them|such)|"
    r"the (?:latter|former|same|others?|first|second|third|last)|\w+ of (?:it|them|these|those))\b",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|both|following)\b")
#: Kinds of asides (parts of the answer that claim nothing) that need the text after them. A claim
#: right after such an aside is not taken out as a whole.
_LEADS = (AsideKind.HEADING, AsideKind.INTRO, AsideKind.TABLE_HEADER, AsideKind.CODE)


def removable(detection: Detection, claim: Claim) -> tuple[int, int] | None:
    """Return the range of the answer to take out, so that nothing in a claim is marked.

    The range is a clause at the end of the claim, with the comma, semicolon or dash before it; or
    the whole claim, with the white space before it and the mark of its list item.

    Returns:
        The range; ``None`` if nothing can be taken out, for example because the text before the
        range may need it. :func:`stands_after` tells whether the text after the range needs it.
    """
    if claim.label is not Label.UNSUPPORTED or (claim.probability or 0) < _SURE:
        return None
    marked = sum(span.end - span.start for span in claim.spans) / (claim.end - claim.start)
    found, read = _clause(claim), claim.entailment
    if not found and marked >= _MOST_MARKED and read is not None and read.neutral >= _SILENT:
        found = _sentence(detection, claim)
    return found if found and _is_closed(detection.answer[slice(*found)]) else None


def _clause(claim: Claim) -> tuple[int, int] | None:
    """Return the range of a clause at the end of the claim, if exactly this clause is marked.

    The comma, semicolon or dash before the clause is part of the range. The result is ``None`` if
    the text before the clause may need it.
    """
    (span, *others), text = claim.spans, claim.text
    start, end = span.start - claim.start, len(text[: span.end - claim.start].rstrip(".!?"))
    before = _SEPARATOR.search(text[:start])
    begin = before.start() if before else start
    if others or text[end:].strip(" .!?") or not (before or text[start] in ",;"):
        return None
    left = text[:begin]
    needs_it = _NEEDS_MEMBER.search(left) or _NEEDS_CLAUSE.intersection(words_in(left)[:1])
    is_clause = len(words_in(text[start:end])) >= _CLAUSE_WORDS and not needs_it
    return (claim.start + begin, claim.start + end) if is_clause else None


def _sentence(detection: Detection, claim: Claim) -> tuple[int, int] | None:
    """Return the range of a claim with the gap before it, if the text before it does not need it.

    The result is ``None`` for the first part of the answer, and if earlier text may lead to the
    claim, such as a heading, a question or an intro that counts ("two prices:"). The result is also
    ``None`` in a table, a numbered list or code.
    """
    answer = detection.answer
    before = [part for part in in_order(detection) if part.start < claim.start]
    last = before[-1] if before else None
    if last is None or (isinstance(last, Aside) and last.kind in _LEADS) or "|" in claim.text:
        return None
    intros = [part.text for part in before if part.text.rstrip(" *_").endswith(":")]
    is_led = last.text.rstrip(" *_").endswith((":", "?")) or (
        bool(intros) and _COUNTS.search(intros[-1].lower())
    )
    is_code = answer[: claim.start].count("```") % 2
    is_apart = _GAP.fullmatch(answer, last.end, claim.start)
    return (last.end, claim.end) if is_apart and not (is_led or is_code) else None


def _is_closed(text: str) -> bool:
    """Return whether a text has as many ends as beginnings of quotes, brackets and marks."""
    return all(text.count(mark) % 2 == 0 for mark in _PAIRED) and all(
        text.count(one) == text.count(other) for one, other in _BRACKETS
    )


def in_order(detection: Detection) -> list[Claim | Aside]:
    """Return the claims of an answer, and the asides, which claim nothing, in reading order."""
    return sorted((*detection.claims, *detection.asides), key=lambda part: part.start)


def stands_after(removed: tuple[int, int], part: Claim | Aside | None, answer: str) -> bool:
    """Return whether the rest of an answer says the same without a removed range.

    This is not so if the next part refers back, with words such as "It" or "As a result", or begins
    with a small letter; if the next part is an item of a list below the removed item; if the next
    part would move to another line or list item; or if an underline after the range would make a
    heading of the text before the range.

    Args:
        removed: The range that is taken out.
        part: The next part of the answer; ``None`` at its end.
        answer: The answer, with the removed range.
    """
    start, end = removed
    if _UNDERLINE.match(answer, end):
        return False
    if part is None:
        return True
    text = answer[start:end]
    begins_line = "\n" in text[: len(text) - len(text.lstrip())]
    is_on_line = "\n" not in answer[end : part.start]
    is_below = not is_on_line and _indent(answer, part.start) > _indent(answer, end)
    return not (_refers_back(part.text) or (begins_line and (is_on_line or is_below)))


def _refers_back(text: str) -> bool:
    first = re.split("['’]", "".join(words_in(text)[:1]))[0]
    return first in _REFERRING or bool(_REFERS.match(text)) or text[0].islower()


def _indent(answer: str, at: int) -> int:
    """Return the number of spaces and tabs at the beginning of the line in which an offset lies."""
    line = answer[answer.rfind("\n", 0, at) + 1 : at]
    return len(line) - len(line.lstrip(" \t"))
