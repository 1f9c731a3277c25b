"""Terminal report of the explanations of a detection."""

from collections.abc import Iterator

from groundwire.explain import Explained, Explanation
from groundwire.render.descriptions import explain_outcome
from groundwire.render.terminal import LABEL_STYLES, OUTCOME_STYLES, painter
from groundwire.text.screen import one_line


def findings_to_terminal(explained: Explained, *, color: bool) -> str:
    """Write the report of ``groundwire explain``: explanations, dropped spans, and the outcome.

    Text of the answer is in quotes and on one line, so that no answer can imitate the report.
    ``color`` adds ANSI colours.
    """
    paint = painter(color=color)
    answer, detection = explained.detection.answer, explained.detection
    lines: list[str] = []
    for each in explained.explanations:
        kind = paint(str(each.category), LABEL_STYLES.get(each.label, "1"))
        lines.append(f"{kind}  {each.subtype}  severity {each.severity}  {_place(each, answer)}")
        lines += _body(each)
    for each in explained.dropped:
        lines.append(f"dropped, for the evidence entails it  {_place(each, answer)}")
        lines += _body(each)
    if lines:
        lines.append("")
    if explained.reason is not None:
        lines.append(
            f"explainer failed ({one_line(explained.reason)}): what it did not judge stays marked"
        )
    outcome = paint(str(detection.outcome), OUTCOME_STYLES[detection.outcome])
    lines.append(f"outcome   {outcome}: {explain_outcome(detection)}")
    return "\n".join(lines)


def _place(each: Explanation, answer: str) -> str:
    return f'{each.start}-{each.end}  "{one_line(answer[each.start : each.end])}"'


def _body(each: Explanation) -> Iterator[str]:
    yield f"  {each.text}"
    if each.entailment is not None:
        given = each.entailment
        yield (
            f"  entailment {given.entailment:.2f}  neutral {given.neutral:.2f}  "
            f"contradiction {given.contradiction:.2f}"
            + ("" if given.is_calibrated else "  (uncalibrated)")
        )
