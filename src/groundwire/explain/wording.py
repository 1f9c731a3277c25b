"""Writes the text of an explanation: words of the answer, words of the source, and their place.

Quotes from the answer or a source are on one line, at most :data:`QUOTE_CHARS` characters long, not
counting a ``…`` where they were cut. Control characters, which could act on a terminal, are made
visible.
"""

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.values import EvidenceRef, Label
from groundwire.explain.references import Reference
from groundwire.text.quotes import QUOTE_CHARS, stretch
from groundwire.text.screen import one_line

#: Limit on the characters of the id of a source, or of the reason why a span is unexplained; a
#: longer text is cut.
NAME_CHARS = 60


def explanation_text(
    span_text: str,
    *,
    label: Label,
    reference: Reference | None = None,
    counterpart: EvidenceRef | None = None,
    evidence: EvidenceRef | None = None,
    unexplained: str | None = None,
) -> str:
    """Return the text that says what is wrong with a span.

    Args:
        span_text: The words of the span.
        label: The label of the span.
        reference: The fabricated reference of the span, if there is one.
        counterpart: The words of the evidence that correct the span, if there are any.
        evidence: The line that the span was compared with, if there is one.
        unexplained: The reason why there is no verdict; with ``None``, the text gives no reason.
    """
    prefix = "" if unexplained is None else f"Unexplained ({_name(unexplained)}). "
    said = quote(span_text)
    place = counterpart or evidence
    if reference is not None:
        text = f"The answer refers to {quote(reference.text)}, which no source has."
    elif label is Label.CONTRADICTED and counterpart is not None:
        text = f"The answer says {said}; the source says {_quoted(counterpart, span_text)}."
    elif label is not Label.SUPPORTED and evidence is not None and _has(evidence, span_text):
        there = _quoted(evidence, span_text)
        text = f"The sources have the words {said}, but do not say this. Nearest: {there}."
    elif label is Label.CONTRADICTED and evidence is not None:
        text = f"The answer says {said}; the source says otherwise: {_quoted(evidence, span_text)}."
    elif label is Label.CONTRADICTED:
        text = f"The answer says {said}; the sources say otherwise."
    else:
        does = "may say" if label is Label.SUPPORTED else "do not say"
        nearest = f" Nearest: {_quoted(place, span_text)}." if place else ""
        text = f"The sources {does} {said}.{nearest}"
    return prefix + text


def _has(evidence: EvidenceRef, words: str) -> bool:
    """Return whether a line has the words of a span, and has no negation."""
    is_there = words.strip().casefold() in evidence.text.casefold()
    return is_there and not ComparedText(evidence.text).has_negation


def quote(text: str) -> str:
    """Return a text in quotes, shortened if it is too long (:func:`shortened`)."""
    shown, _, _ = shortened(text, around="")
    return f'"{shown}"'


def shortened(text: str, *, around: str) -> tuple[str, int, int]:
    """Shorten a text, if it is too long, to the part with most words in common with ``around``.

    A text is too long if it has more than :data:`QUOTE_CHARS` characters, in itself or as it is
    shown. A ``…`` marks text that is left out. Double quotes become single ones.

    Returns:
        The part as it is shown, and its start and end in the text.
    """
    start, end, width = 0, len(text), 2 * QUOTE_CHARS
    # A control character that is made visible may take more room, so both lengths are limited.
    while max(len(one_line(text[start:end])), end - start) > QUOTE_CHARS:
        width //= 2
        start, end = stretch(text, around=around, width=width)
    before, after = "…" if text[:start].strip() else "", "…" if text[end:].strip() else ""
    shown = one_line(text[start:end]).replace('"', "'")
    return f"{before}{shown}{after}", start, end


def _quoted(place: EvidenceRef, around: str) -> str:
    shown, start, end = shortened(place.text, around=around)
    where = f"characters {place.start + start}-{place.start + end}"
    return f'"{shown}" ({_name(place.source_id)}, {where})'


def _name(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= NAME_CHARS else f"{shown[:NAME_CHARS]}…"
