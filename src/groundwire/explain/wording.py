"""An explanation in words: what the answer says, what the source says, and where.

Whatever is quoted stands in the answer or in a source, on one line, at most :data:`QUOTE_CHARS`
characters long; ``…`` stands where it was cut. What would act on a screen is written out.
"""

from groundwire.detection.values import EvidenceRef, Label
from groundwire.explain.references import Reference
from groundwire.text.quotes import QUOTE_CHARS, stretch
from groundwire.text.screen import one_line

#: The longest name of a source or of an exception that is written out.
NAME_CHARS = 60
#: No explanation is longer: two quotes, two names, and what stands between them.
MAX_TEXT_CHARS = 600


def explanation_text(
    span_text: str,
    *,
    label: Label,
    reference: Reference | None,
    counterpart: EvidenceRef | None,
    evidence: EvidenceRef | None,
    unexplained: str | None,
) -> str:
    """Say in one or two sentences what is wrong with a span.

    Args:
        span_text: The words of the span.
        label: What it is.
        reference: The fabricated reference, if it is one.
        counterpart: The words that say what it should say, if any do.
        evidence: The line that it was held against, if there is one.
        unexplained: Why the explainer said nothing, or ``None`` if it did.
    """
    prefix = "" if unexplained is None else f"Unexplained ({_name(unexplained)}). "
    said = quote(span_text)
    place = counterpart or evidence
    if reference is not None:
        text = f"The answer refers to {quote(reference.text)}, which no source has."
    elif label is Label.CONTRADICTED and counterpart is not None:
        text = f"The answer says {said}; the source says {_quoted(counterpart, span_text)}."
    elif label is Label.CONTRADICTED and evidence is not None:
        text = f"The answer says {said}; the source says otherwise: {_quoted(evidence, span_text)}."
    elif label is Label.CONTRADICTED:
        text = f"The answer says {said}; the sources say otherwise."
    else:
        does = "may say" if label is Label.SUPPORTED else "do not say"
        nearest = f" Nearest: {_quoted(place, span_text)}." if place else ""
        text = f"The sources {does} {said}.{nearest}"
    return prefix + text


def quote(text: str) -> str:
    """A text in quotes, cut at word ends if it is long."""
    shown, _, _ = shortened(text, around="")
    return f'"{shown}"'


def shortened(text: str, *, around: str) -> tuple[str, int, int]:
    """What is shown of a text: its most telling stretch, and where that begins and ends."""
    start, end, width = 0, len(text), 2 * QUOTE_CHARS
    # What is written out takes more room than what it stands for.
    while max(len(one_line(text[start:end])), end - start) > QUOTE_CHARS:
        width //= 2
        start, end = stretch(text, around=around, width=width)
    before, after = text[:start].strip(), text[end:].strip()
    return f"{'…' if before else ''}{one_line(text[start:end])}{'…' if after else ''}", start, end


def _quoted(place: EvidenceRef, around: str) -> str:
    shown, start, end = shortened(place.text, around=around)
    where = f"characters {place.start + start}-{place.start + end}"
    return f'"{shown}" ({_name(place.source_id)}, {where})'


def _name(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= NAME_CHARS else f"{shown[:NAME_CHARS]}…"
