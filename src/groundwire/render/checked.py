"""Terminal report of a checked response, with the path that it took through the pipeline."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from groundwire.detection.values import Outcome
from groundwire.render.descriptions import OUTCOMES
from groundwire.render.terminal import (
    DIM,
    OUTCOME_STYLES,
    Paint,
    indented,
    mark_words,
    painter,
    to_terminal,
)
from groundwire.text.quotes import QUOTE_CHARS, excerpt
from groundwire.text.screen import one_line

if TYPE_CHECKING:
    from groundwire.pipeline import Checked, CheckedResponse, GateReport, RequestContext

_Name = TypeVar("_Name", bound=StrEnum)

#: The most sources that the report lists; it gives only the number of the others.
MAX_SOURCES_SHOWN = 20

PATHS = {
    "off": "the policy checks nothing",
    "not_factual": "the prompt calls for no check",
    "no_evidence": "a check is due, and there is nothing to hold the answer against",
    "checked": "the answer is held against the evidence",
}
_GATE = {
    "bypassed": "not asked: the request holds evidence, and so wants a check",
    "no_prompt": "not asked: the user says nothing in words. A check is due",
    "off": "not asked",
}
_WITHOUT_TEXT = {
    "tool_calls": "it only calls tools: the answer is still to come",
    "refusal": "it is a refusal",
    "empty": "it has no text",
    "unread_answer": "it has no text, and parts that cannot be read",
}


def response_to_terminal(response: "CheckedResponse", *, color: bool) -> str:
    """Write the report of ``groundwire check --conversation``.

    The request comes first, then each answer. Text from the conversation is written on one line or
    indented, so that it cannot imitate the report.

    Args:
        response: The checked response.
        color: Whether words are marked by ANSI colours; if not, by ``⟦`` and ``⟧``.
    """
    paint = painter(color=color)
    lines = list(_request_lines(response.context, paint))
    n_answers = len(response.answers)
    for number, checked in enumerate(response.answers, 1):
        lines.append("")
        if n_answers > 1:
            lines += [f"answer    {number} of {n_answers}", ""]
        lines += _answer_lines(checked, paint, color=color)
        # A decision that depends on findings may be another one than before the check.
        if checked.context.choice != response.context.choice:
            lines.append(f"decision  {one_line(str(checked.context.choice))}")
    if n_answers != 1:
        outcome = paint(str(response.outcome), OUTCOME_STYLES[response.outcome])
        what = "all answers" if n_answers else "no answer"
        lines += ["", f"{what}: {outcome}, action {response.action}"]
    return "\n".join(lines)


def _request_lines(context: "RequestContext", paint: Paint) -> Iterator[str]:
    conversation = context.conversation
    question = conversation.question
    shown = "none" if question is None else f'"{one_line(excerpt(question, around=""))}"'
    yield f"question  {shown}"
    yield f"gate      {describe_gate(context.gate)}"
    yield f"decision  {one_line(str(context.choice))}"
    offered = conversation.offered
    if conversation.origin is None:
        tools = " (tools are defined, which is none)" if conversation.has_tools else ""
        yield f"evidence  none{tools}"
    else:
        sources = "1 source" if len(offered) == 1 else f"{len(offered):,} sources"
        yield f"evidence  {sources}, origin {conversation.origin}"
    for each in offered[:MAX_SOURCES_SHOWN]:
        title = f" ({_short(each.source.title)})" if each.source.title else ""
        n_chars = len(each.source.text)
        yield paint(
            f"          {_short(each.source.id)}{title}  {each.place}  {n_chars:,} characters", DIM
        )
    if len(offered) > MAX_SOURCES_SHOWN:
        yield paint(f"          and {len(offered) - MAX_SOURCES_SHOWN:,} more", DIM)
    if conversation.lost:
        yield f"unread    {_counted(conversation.lost)}"
    if conversation.unused:
        yield f"unused    {_counted(conversation.unused)}"
    yield f"path      {context.path}: {PATHS[context.path]}"


def _answer_lines(checked: "Checked", paint: Paint, *, color: bool) -> Iterator[str]:
    detection = checked.detection
    if detection is not None:
        yield to_terminal(detection, color=color, explanations=checked.explanations)
    else:
        yield from indented(mark_words(checked.answer.text, (), color=color))
        yield ""
        outcome = paint(str(checked.outcome), OUTCOME_STYLES[checked.outcome])
        yield f"outcome   {outcome}: {describe_outcome(checked)}"
    for explanation in checked.dropped:
        yield f"dropped   {explanation.start}-{explanation.end}  {one_line(explanation.text)}"
    severity = "" if checked.ruling.severity is None else f", severity {checked.ruling.severity}"
    label = "" if checked.ruling.label is None else f": {checked.ruling.label}{severity}"
    yield f"action    {checked.action}{label}"
    timings = ", ".join(f"{stage} {ms:.1f}" for stage, ms in checked.timings_ms.items())
    yield paint(f"ms        {timings}", DIM)


def describe_gate(gate: "GateReport") -> str:
    """Describe in half a sentence whether the gate asked for a check, or why it did not run."""
    if gate.result is not None:
        needed = "a check is needed" if gate.result.needs_fact_check else "no check is needed"
        return f"{needed}, confidence {gate.result.confidence:.2f}"
    if gate.reason is not None:
        return f"failed ({one_line(gate.reason)}): a check is due"
    return _GATE[gate.status]


def describe_outcome(checked: "Checked") -> str:
    """Explain the outcome of an answer without a detection."""
    if checked.outcome is Outcome.UNAVAILABLE:
        return f"{OUTCOMES[checked.outcome]} ({one_line(checked.reason or '')})"
    if checked.reason in _WITHOUT_TEXT:
        return _WITHOUT_TEXT[checked.reason]
    return PATHS[checked.path]


def _counted(counts: Mapping[_Name, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


def _short(name: str) -> str:
    return excerpt(one_line(name), around="", width=QUOTE_CHARS // 2)
