"""The event for OpenTelemetry, as the SDK exports it."""

from collections.abc import Iterator

import pytest

from groundwire import Detector, Pipeline
from groundwire.compat.verdict import Checks

pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")

import opentelemetry._logs._internal as api
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider

from groundwire.compat.otel import EVENT, record_evaluation

TOWER = "The Eiffel Tower is 330 metres tall."


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryLogRecordExporter]:
    found = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(found))
    monkeypatch.setattr(api, "_LOGGER_PROVIDER", provider)
    yield found
    provider.shutdown()


@pytest.fixture
def checks(detector: Detector) -> Checks:
    return Checks(Pipeline(detector))


@pytest.mark.shows("OpenTelemetry", evidence="that of the verdict")
def test_a_verdict_is_an_event_of_the_current_span(
    exporter: InMemoryLogRecordExporter, checks: Checks
) -> None:
    verdict = checks.answer("It is 500 metres tall.", sources=[TOWER])
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("chat") as span:
        record_evaluation(verdict, response_id="chatcmpl-1")
    record = exporter.get_finished_logs()[0].log_record
    assert record.event_name == EVENT
    assert record.span_id == span.get_span_context().span_id
    assert dict(record.attributes or {}) == {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.label": "failed",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.response.id": "chatcmpl-1",
    }


@pytest.mark.shows(
    "OpenTelemetry",
    unchecked="the label `not checked` without a score; `error.type` if the check failed",
)
def test_an_unchecked_answer_has_a_label_and_no_score(
    exporter: InMemoryLogRecordExporter, checks: Checks
) -> None:
    record_evaluation(checks.answer("It is 330 metres tall.", sources=[]), with_reason=True)
    record_evaluation(checks.chat({"messages": "none"}, "It is 330 metres tall."))
    without, failed = (
        dict(each.log_record.attributes or {}) for each in exporter.get_finished_logs()
    )
    assert "gen_ai.evaluation.score.value" not in without | failed
    assert without["gen_ai.evaluation.score.label"] == "not checked"
    assert str(without["gen_ai.evaluation.explanation"]).startswith("Not checked")
    assert failed["error.type"] == "InvalidConversationError"
