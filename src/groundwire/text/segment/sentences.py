"""Decides whether a sentence ends at a full stop or the like, and after which character."""

import re

from groundwire.text.segment.abbreviations import MAX_WORD_CHARS, Stop, ends_before, stop_kind
from groundwire.text.segment.characters import ALNUM, BREAKS, STRONG
from groundwire.text.segment.citations import citations_end
from groundwire.text.segment.cuts import MAX_CLAIM_CHARS
from groundwire.text.segment.line_ends import after_cited_line
from groundwire.text.segment.view import BoundaryDecision, View

#: Characters that may end a sentence.
TERMINATORS = f".!?…{STRONG}"

_CLOSING = "\"'”’“‘»›)\\]}*_~¹²³⁴⁵⁶⁷⁸⁹⁰」』）】》〉"

# Patterns for View.run. Each matches a limited length, so that a long run cannot delay a decision
# forever.
_RUN = re.compile(f"[{TERMINATORS}]{{0,{MAX_CLAIM_CHARS}}}")
_CLOSERS = re.compile(f"[{_CLOSING}]{{0,40}}")
# After a CJK full stop, “ and ‘ open the next sentence: 。“
_CJK_CLOSERS = re.compile(f"(?:(?![“‘])[{_CLOSING}]){{0,40}}")
_AFTER_CITATION = re.compile(f"[{TERMINATORS}{_CLOSING}]{{0,40}}")
# JSON that is read as plain text has escapes for line breaks: "It closed.\\nThe plant..."
_ESCAPE = r"\\[nrt](?![a-z])"
_SPACING = re.compile(f"(?:[^\\S{BREAKS}]|{_ESCAPE}){{0,40}}")
_UNWORDED = re.compile(f"(?:{_ESCAPE}|(?![{BREAKS}])[\\W_]){{0,12}}")
_WORD = re.compile(rf"[^\W_]{{0,{MAX_WORD_CHARS}}}")


def decide_at_terminator(view: View, start: int, position: int) -> BoundaryDecision:
    """Decide whether the sentence from ``start`` on ends at the terminator at ``position``."""
    run_end = view.run(_RUN, position)
    stop = None
    if ALNUM.search(view.text, start, position):
        if any(mark in STRONG for mark in view.text[position:run_end]):
            stop = _strong_stop(view, run_end)
        else:
            stop = _weak_stop(view, start, position, run_end)
    return BoundaryDecision(ends=stop is not None, position=run_end if stop is None else stop)


def _weak_stop(view: View, start: int, position: int, run_end: int) -> int | None:
    """Return the end of a sentence whose end marks, such as ".", are in ``[position, run_end)``.

    The result is ``None`` if the sentence does not end at these marks, or if the line break after
    them decides.
    """
    closed = view.run(_CLOSERS, run_end)
    stop = _tail_end(view, closed)
    following = _spacing_end(view, stop)
    char = view.at(following)
    if not char:
        return stop
    kind = stop_kind(view.text, start, position, run_end)
    if char in BREAKS:
        # After an abbreviation the sentence may go on: the decision is made at the line break.
        return after_cited_line(view, following) or stop if kind is Stop.FULL else None
    if following == stop:
        # No white space follows: this is a decimal or an address, or the space after a citation was
        # left out. The sentence ends only after a citation, and not before a lower-case letter.
        return stop if stop > closed and char.isalnum() and not char.islower() else None
    return stop if _starts_sentence(view, following, kind) else None


def _spacing_end(view: View, position: int) -> int:
    stop = view.run(_SPACING, position)
    if view.at(stop) == "\\":
        view.at(stop + 1)  # raises if the rest of an escape has not arrived
    return stop


def _strong_stop(view: View, run_end: int) -> int | None:
    closed = view.run(_CJK_CLOSERS, run_end)
    char = view.at(closed)
    if closed > run_end and char and char in "と、，,":
        # In 「行く。」と言った ("I will go," he said), the quotation is part of the sentence.
        return None
    return _tail_end(view, closed)


def _tail_end(view: View, position: int) -> int:
    """Return the offset after any citations at ``position`` and the marks that follow each."""
    while (stop := citations_end(view, position)) > position:
        position = view.run(_AFTER_CITATION, stop)
    return position


def _starts_sentence(view: View, position: int, kind: Stop) -> bool:
    """Return whether the text after a full stop and white space begins a new sentence."""
    first = view.run(_UNWORDED, position)
    char = view.at(first)
    if not char.isalnum():
        return True
    if char.islower():
        # "iPhone" and "mRNA" may start a sentence; words in lower case do not.
        return kind is Stop.FULL and view.at(first + 1).isupper()
    if kind in (Stop.FULL, Stop.NEVER):
        return kind is Stop.FULL  # for these kinds the next word does not matter
    word_end = view.run(_WORD, first)
    word = view.text[first:word_end]
    return ends_before(kind, word, is_initial=len(word) == 1 and view.at(word_end) == ".")
