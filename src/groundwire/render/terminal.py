"""The report of a detection as text, with colours for a terminal or without."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from groundwire.detection.values import Claim, Detection, EvidenceRef, Label, Outcome, Span
from groundwire.render import descriptions
from groundwire.text.quotes import excerpt
from groundwire.text.screen import one_line, visible

if TYPE_CHECKING:
    from groundwire.explain import Explanation
    from groundwire.explain.repair import Repair

LABEL_STYLES = {Label.UNSUPPORTED: "1;4;33", Label.CONTRADICTED: "1;4;31"}
OUTCOME_STYLES = {
    Outcome.GROUNDED: "1;32",
    Outcome.HALLUCINATED: "1;31",
    Outcome.PARTIAL: "1;33",
    Outcome.UNVERIFIED: "1;33",
    Outcome.SKIPPED: "1",
    Outcome.UNAVAILABLE: "1;31",
}
DIM = "2"
Paint = Callable[[str, str], str]
_MARKERS = re.compile("[⟦⟧]")


def to_text(detection: Detection) -> str:
    """Return the report without colours, for pipes and logs; ``⟦`` and ``⟧`` mark words."""
    return to_terminal(detection, color=False)


def to_terminal(
    detection: Detection, *, color: bool, explanations: Sequence["Explanation"] = ()
) -> str:
    """Return the report of ``groundwire check``: the answer with marked words, and the findings.

    Lines of the answer are indented, and quotes are on one line, so that no answer can imitate the
    report.

    Args:
        detection: The detection.
        color: Whether words are marked by ANSI colours; if not, by ``⟦`` and ``⟧``.
        explanations: Explanations of spans; each is shown below its span.
    """
    paint = painter(color=color)
    why = {(each.start, each.end): each for each in explanations}
    lines = [
        *indented(mark_words(detection.answer, detection.spans, color=color)),
        "",
        *(
            line
            for _, spans in groupby(detection.spans, key=lambda span: span.evidence)
            for line in _span_lines(tuple(spans), paint, why)
        ),
        *map(_unchecked_line, descriptions.unchecked(detection)),
    ]
    if lines[-1]:
        lines.append("")
    lines += [
        f"outcome   {paint(str(detection.outcome), OUTCOME_STYLES[detection.outcome])}: "
        f"{descriptions.explain_outcome(detection)}",
        *_coverage_lines(detection),
        paint(f"detector  {descriptions.describe_detector(detection.detector)}", DIM),
    ]
    return "\n".join(lines)


def repair_to_terminal(repair: "Repair", *, color: bool) -> str:
    """Return the report of ``groundwire check --repair``.

    It begins with the report of the original answer. If the answer was repaired, the changes and
    the report of the repaired answer follow; if not, the reason follows.
    """
    lines = [to_terminal(repair.before, color=color), ""]
    if repair.after is None:
        is_wrong = repair.before.outcome is Outcome.HALLUCINATED
        why = "no words of the sources fit surely enough" if is_wrong else "nothing is marked"
        return "\n".join([*lines, f"repair    nothing changed: {why}"])
    paint = painter(color=color)
    for edit in repair.edits:
        lines.append(f"repair    {edit.start}-{edit.end}")
        lines += [paint(f"  - {one_line(edit.old)}", "31")] if edit.old.strip() else []
        lines += [paint(f"  + {one_line(edit.new)}", "32")] if edit.new.strip() else []
        lines += [paint(f"  from {_place(place)}", DIM) for place in edit.evidence]
    return "\n".join([*lines, "", to_terminal(repair.after, color=color)])


def _coverage_lines(detection: Detection) -> Iterator[str]:
    """Yield a line on parts of the answer that claim nothing, and lines on incomplete coverage."""
    if asides := descriptions.describe_asides(detection):
        yield f"no claim  {asides}"
    if descriptions.has_gap(detection.coverage):
        yield f"coverage  {descriptions.describe_coverage(detection.coverage)}"
        yield from (
            f"          {reason}" for reason in descriptions.describe_reasons(detection.coverage)
        )


def painter(*, color: bool) -> Paint:
    """Return a function that adds an ANSI style to a text; without ``color``, it adds none."""
    return _paint if color else lambda text, _: text


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def indented(text: str) -> list[str]:
    """Indent the lines of an answer, so that they cannot imitate the report."""
    return [f"  {line}".rstrip(" ") for line in text.split("\n")]


def mark_words(answer: str, spans: Iterable[descriptions.MarkedStretch], *, color: bool) -> str:
    """Mark the spans of an answer, and make control characters visible."""
    written = []
    for text, span in descriptions.pieces(answer, spans):
        if color and span:
            # Line by line, so that the indent of further lines is not painted.
            style = LABEL_STYLES.get(span.label, "1;4")
            written.append("\n".join(_paint(line, style) for line in visible(text).split("\n")))
        elif color:
            written.append(visible(text))
        else:
            # Escape ⟦ and ⟧ in the answer: they would look like the report's markers.
            inner = _MARKERS.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(text))
            written.append(f"⟦{inner}⟧" if span else inner)
    return "".join(written)


def _span_lines(
    spans: tuple[Span, ...], paint: Paint, why: Mapping[tuple[int, int], "Explanation"]
) -> Iterator[str]:
    for span in spans:
        label = paint(f"{descriptions.describe_label(span):<12}", LABEL_STYLES.get(span.label, "1"))
        found = why.get((span.start, span.end))
        # Without an explanation, the severity follows from the label, so it is left out.
        severity = "" if found is None else f"severity {found.severity}  "
        yield (
            f"{label} {span.start}-{span.end}  {descriptions.describe_score(span)}  "
            f'{severity}"{one_line(span.text)}"'
        )
        if found is not None:
            yield f"  {one_line(found.text)}"
    words = " ".join(span.text for span in spans)
    for reference in spans[0].evidence:
        quote = one_line(excerpt(reference.text, around=words))
        yield paint(f'  against {_place(reference)}: "{quote}"', DIM)
    if not spans[0].evidence:
        yield paint("  against no evidence", DIM)


def _unchecked_line(claim: Claim) -> str:
    reason = f"{descriptions.REASONS[claim.reason]}  " if claim.reason else ""
    text = one_line(excerpt(claim.text, around=""))
    return f'unchecked    {claim.start}-{claim.end}  {reason}"{text}"'


def _place(reference: EvidenceRef) -> str:
    return f"{one_line(reference.source_id)} {reference.start}-{reference.end}"
