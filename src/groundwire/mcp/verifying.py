"""The tools ``detect_hallucination`` for answers and ``audit_trace_budget`` for traces."""

from dataclasses import replace
from functools import partial

from groundwire.mcp.arguments import (
    OF_ANSWERS,
    OF_TRACES,
    AuditInput,
    DetectInput,
    SpansInput,
    with_settings,
)
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import given, ids_of
from groundwire.mcp.results import ReportResult
from groundwire.mcp.text_results import origins_text, report_text
from groundwire.mcp.tool import Call, Tool, ToolResult
from groundwire.mcp.watched import ReportingVerifier
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import refused, run
from groundwire.verify.subject import AnswerSubject, Subject, TraceSubject

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


def verifying_tools(backend: Backend) -> tuple[Tool, Tool]:
    """Make the tools ``detect_hallucination`` and ``audit_trace_budget``."""
    verifying_tool = partial(
        Tool,
        hidden=backend.hidden,
        result=ReportResult,
        is_open_world=backend.is_open_world,
        is_long=True,
    )
    return (
        verifying_tool(
            name="detect_hallucination",
            title="Verify an answer by its citations",
            description=_DETECT,
            arguments=with_settings(DetectInput, OF_ANSWERS, backend.usual),
            run=lambda call, own: _verify(backend, call, own, AnswerSubject(own.answer)),
            fails=partial(_failed, backend, AnswerSubject("")),
        ),
        verifying_tool(
            name="audit_trace_budget",
            title="Verify the steps of a trace",
            description=_AUDIT,
            arguments=with_settings(AuditInput, OF_TRACES, backend.usual),
            run=lambda call, own: _verify(backend, call, own, TraceSubject(own.steps)),
            fails=partial(_failed, backend, TraceSubject([])),
        ),
    )


def _verify(backend: Backend, call: Call, arguments: SpansInput, subject: Subject) -> ToolResult:
    evidence = given(arguments, arguments.spans, backend, session=call.session)
    report = run(
        subject,
        evidence.all,
        backend.usual | arguments.settings(),
        backend.verifier(call),
        through=partial(ReportingVerifier, watch=call.watch),
    )
    result = _result(report, evidence.origins(ids_of(evidence.all)))
    if report.error_type == "no_spans" and backend.stores is not None:
        return replace(result, text=f"{result.text} {_HELD}")
    return result


def _failed(backend: Backend, subject: Subject, error_type: str, error: str) -> ToolResult:
    return _result(refused(subject, backend.name, error_type=error_type, error=error), {})


def _result(report: VerificationReport, origins: dict[str, str]) -> ToolResult:
    data = report.to_dict() | {"span_origins": origins}
    return ToolResult(data=data, text=report_text(report) + origins_text(origins))
