"""Terminal report of a checked response, with the path that it took through the pipeline."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from groundwire.detection.values import Outcome
from groundwire.render.descriptions import OUTCOMES
from groundwire.render.html import render_text
from groundwire.render.terminal import OUTCOME_STYLES, indented, mark_words, to_terminal
from groundwire.text.quotes import QUOTE_CHARS, excerpt
from groundwire.text.screen import one_line

if TYPE_CHECKING:
    from groundwire.pipeline import Checked, CheckedResponse, GateReport

_Name = TypeVar("_Name", bound=StrEnum)

#: Highest number of sources that the report lists; the report only counts further sources.
MAX_SOURCES_SHOWN = 20

PATHS = {
    "off": "the policy checks nothing",
    "not_factual": "the prompt calls for no check",
    "no_evidence": "a check is due, and there is nothing to compare the answer with",
    "checked": "the answer is compared with the evidence",
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
    """Return the report of ``groundwire check --conversation``.

    Text from the conversation is written on one line or indented, so that it cannot imitate the
    report. Words are marked by ANSI colours, or by ``⟦`` and ``⟧`` without ``color``.
    """
    from markupsafe import Markup

    question = response.context.conversation.question
    return render_text(
        "checked.txt",
        color=color,
        response=response,
        context=response.context,
        question="none" if question is None else f'"{one_line(excerpt(question, around=""))}"',
        gate=describe_gate(response.context.gate),
        answers=[(each, Markup(_text(each, color=color))) for each in response.answers],
        timings=_timings,
        short=_short,
        counted=_counted,
        describe_outcome=describe_outcome,
        PATHS=PATHS,
        OUTCOME_STYLES=OUTCOME_STYLES,
        MAX_SOURCES_SHOWN=MAX_SOURCES_SHOWN,
    )


def _text(checked: "Checked", *, color: bool) -> str:
    if checked.detection is not None:
        return to_terminal(checked.detection, color=color, explanations=checked.explanations)
    return "\n".join(indented(mark_words(checked.answer.text, (), color=color)))


def _timings(checked: "Checked") -> str:
    return ", ".join(f"{stage} {ms:.1f}" for stage, ms in checked.timings_ms.items())


def describe_gate(gate: "GateReport") -> str:
    """Describe in a phrase what the gate answered, or why there is no answer.

    The gate tells whether the request calls for a check.
    """
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
