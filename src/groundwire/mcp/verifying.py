"""The tools ``detect_hallucination`` and ``audit_trace_budget``: the library's calls, for agents.

What is wrong with a call is told in its report, which is then flagged, as the library does it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from groundwire.mcp import results, schemas
from groundwire.mcp.arguments import (
    MAX_ANSWER_CHARS,
    MAX_CLAIMS,
    MAX_PATTERN_CHARS,
    MAX_PROMPT_CHARS,
    MAX_STEPS,
    MAX_TIMEOUT_S,
    Arguments,
    integral,
)
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import given, ids_of
from groundwire.mcp.text_results import tell_origins, tell_report
from groundwire.mcp.tool import Call, Schema, Told, Tool
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import refused, run
from groundwire.verify.subject import AnswerSubject, Subject, TraceSubject

#: Settings that an agent may choose: what is verified and how strictly, and neither who verifies
#: nor where. With the bounds of this server.
OF_AGENTS: Mapping[str, Mapping[str, Any]] = {
    "verifier_model": {"maxLength": 200},
    "default_target": {},
    "require_citations": {},
    "context_mode": {},
    "timeout_s": {"maximum": MAX_TIMEOUT_S},
    "citation_regex": {"maxLength": MAX_PATTERN_CHARS},
    "units": {},
    "min_log_odds_gain": {},
    "include_prompts": {},
    "max_prompt_chars": {"maximum": MAX_PROMPT_CHARS},
}
#: Of answers alone.
OF_ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "max_claims": {"maximum": MAX_CLAIMS},
    "claim_split": {},
}

_DETECT = """\
Verify an answer claim by claim: does each claim follow from the evidence it cites, and would it \
not be believed without? Use it before you send an answer that has to rest on sources. Not for \
plans or reasoning traces (audit_trace_budget), nor for answers without citations (check_answer). \
flagged is true if any claim is flagged, was not verified, or nothing could be. It says whether \
the evidence suffices, not whether a claim is true."""

_AUDIT = """\
Verify the steps of a plan or of a reasoning trace: does each step follow from the spans it cites? \
confidence is the step's own target. A trace without steps is not flagged."""


_HELD = "Spans that are held are evidence with use_held_spans or span_ids."


def detect_tool(backend: Backend) -> Tool:
    """``detect_hallucination``."""
    own = {**OF_ANSWERS, **OF_AGENTS}
    inputs = _inputs(backend, {"answer": schemas.ANSWER}, own)
    return Tool(
        name="detect_hallucination",
        title="Verify an answer by its citations",
        description=_DETECT,
        input_schema=schemas.object_of(inputs, "answer"),
        output_schema=results.report("claims_scored", "flagged_claims"),
        run=lambda call: _detect(backend, call, inputs),
        fails=lambda kind, error: _told(
            refused(AnswerSubject(""), backend.name, error_type=kind, error=error), {}
        ),
        is_open_world=backend.is_open_world,
        is_long=True,
    )


def audit_tool(backend: Backend) -> Tool:
    """``audit_trace_budget``."""
    inputs = _inputs(backend, {"steps": schemas.STEPS}, OF_AGENTS)
    return Tool(
        name="audit_trace_budget",
        title="Verify the steps of a trace",
        description=_AUDIT,
        input_schema=schemas.object_of(inputs, "steps"),
        output_schema=results.report("steps_scored", "flagged_steps"),
        run=lambda call: _audit(backend, call, inputs),
        fails=lambda kind, error: _told(
            refused(TraceSubject([]), backend.name, error_type=kind, error=error), {}
        ),
        is_open_world=backend.is_open_world,
        is_long=True,
    )


def settings_inputs(
    backend: Backend, settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, Schema]:
    """Schemas of settings, with what holds here if they are left out."""
    return {
        name: schemas.setting(name, schemas.default_of(name, backend.usual), **bounds)
        for name, bounds in settings.items()
    }


def evidence_inputs(backend: Backend, passed: Mapping[str, Schema]) -> dict[str, Schema]:
    """Schemas of evidence: what comes with the call, and what is held."""
    if backend.stores is None:
        return dict(passed)
    return {**passed, **schemas.held_arguments(needs_handle=backend.needs_handle)}


def check_bounds(arguments: Arguments, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse settings beyond the bounds of this server.

    Raises:
        CallError: If there is one.
    """
    for name, bounds in settings.items():
        if "maxLength" in bounds:
            arguments.check_length(name, bounds["maxLength"])
        if "maximum" in bounds:
            arguments.check_number(name, bounds["maximum"])


def chosen(arguments: Arguments, settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings that were sent; one that is ``null`` was not."""
    sent = {name: integral(arguments.given(name)) for name in settings}
    return {name: value for name, value in sent.items() if value is not None}


def _inputs(
    backend: Backend, subject: Mapping[str, Schema], settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, Schema]:
    evidence = evidence_inputs(backend, {"spans": schemas.SPANS})
    return {**subject, **evidence, **settings_inputs(backend, settings)}


def _detect(backend: Backend, call: Call, inputs: Mapping[str, Schema]) -> Told:
    arguments = Arguments(call.arguments, inputs)
    arguments.check_length("answer", MAX_ANSWER_CHARS)
    subject = AnswerSubject(arguments.given("answer"))
    return _verify(backend, call, arguments, subject, {**OF_ANSWERS, **OF_AGENTS})


def _audit(backend: Backend, call: Call, inputs: Mapping[str, Schema]) -> Told:
    arguments = Arguments(call.arguments, inputs)
    subject = TraceSubject(arguments.items("steps", most=MAX_STEPS))
    return _verify(backend, call, arguments, subject, OF_AGENTS)


def _verify(
    backend: Backend,
    call: Call,
    arguments: Arguments,
    subject: Subject,
    settings: Mapping[str, Mapping[str, Any]],
) -> Told:
    check_bounds(arguments, settings)
    evidence = given(arguments, "spans", backend, session=call.session)
    report = run(
        subject,
        evidence.all,
        backend.usual | chosen(arguments, settings),
        backend.verifier(call),
        through=backend.watched_by(call.watch),
    )
    told = _told(report, evidence.origins(ids_of(evidence.all)))
    if report.error_type == "no_spans" and backend.stores is not None:
        return replace(told, text=f"{told.text} {_HELD}")
    return told


def _told(report: VerificationReport, origins: Mapping[str, str]) -> Told:
    data = report.to_dict() | {"span_origins": dict(origins)}
    return Told(data=data, text=tell_report(report) + tell_origins(origins))
