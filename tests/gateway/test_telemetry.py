"""Traces of OpenTelemetry, as a collector gets them."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from groundwire import Detector, Pipeline
from groundwire.config import parse
from groundwire.errors import MissingExtraError
from groundwire.gateway.app import create_app
from groundwire.gateway.telemetry import Telemetry, new_provider
from tests.gateway.chats import request as chat_request
from tests.gateway.client import Reply, fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY
from tests.gateway.wire import Script, ScriptedUpstream, completion, eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WRONG = "The Eiffel Tower was built in 1950."


class Traced:
    """A gateway whose spans are kept."""

    def __init__(
        self, running: Running, folder: Path, upstream: str, detector: Detector, text: str = ""
    ) -> None:
        self.exporter = InMemorySpanExporter()
        provider = new_provider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        config = parse(
            f"upstream.url: {upstream}\ngateway: {{data_dir: {folder}, api_key: {KEY}}}\n{text}",
            name="c.yaml",
        )
        app = create_app(config, pipeline=Pipeline(detector), telemetry=Telemetry(provider))
        self.url = running(app)

    def ask(self, body: dict[str, Any], **headers: str) -> Reply:
        own = {"Authorization": f"Bearer {KEY}", **headers}
        return fetch(f"{self.url}/v1/chat/completions", data=body, headers=own)

    def spans(self, n: int = 3) -> dict[str, ReadableSpan]:
        """The spans by their names, once there are so many."""
        eventually(lambda: len(self.exporter.get_finished_spans()) >= n)
        return {each.name: each for each in self.exporter.get_finished_spans()}


def ids(span: ReadableSpan) -> tuple[str, str, str | None]:
    """The trace, the span and its parent."""
    assert span.context is not None
    parent = None if span.parent is None else f"{span.parent.span_id:016x}"
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}", parent


def test_the_trace_of_a_client_goes_on_to_the_upstream_with_what_was_found(
    running: Running, tmp_path: Path, detector: Detector
) -> None:
    with ScriptedUpstream() as upstream:
        upstream.script(Script.json(completion(WRONG)))
        own = Traced(running, tmp_path, upstream.url, detector)
        reply = own.ask(chat_request(), traceparent=f"00-{TRACE}-{PARENT}-01")
        spans, (asked,) = own.spans(), upstream.requests
    assert reply.headers["X-Trace-ID"] == TRACE
    server, client = spans["POST chat_completions"], spans["chat scripted-1"]
    trace, own_id, parent = ids(server)
    assert (trace, parent) == (TRACE, PARENT)
    assert ids(client)[::2] == (TRACE, own_id)
    assert asked.header("traceparent") == f"00-{TRACE}-{ids(client)[1]}-01"
    assert server.attributes is not None
    assert server.attributes["http.response.status_code"] == 200
    assert server.attributes["groundwire.tenant"] == "default"
    check = spans["check"]
    assert ids(check)[::2] == (TRACE, own_id)
    (event,) = check.events
    assert event.name == "gen_ai.evaluation.result"
    found = dict(event.attributes or {})
    score = found.pop("gen_ai.evaluation.score.value")
    assert isinstance(score, float)
    assert 0 < score < 0.7
    assert found == {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.label": "hallucinated",
        "groundwire.action": "log",
        "groundwire.n_findings": 1,
    }
    said = "".join(each.to_json() for each in spans.values())
    assert "Eiffel" not in said  # digits may be those of an id or of a time, by chance
    assert KEY not in said


def test_a_key_in_place_of_a_model_is_in_no_trace(
    running: Running, tmp_path: Path, detector: Detector
) -> None:
    with ScriptedUpstream() as upstream:
        upstream.script(Script.json(completion(WRONG)))
        own = Traced(running, tmp_path, upstream.url, detector)
        own.ask({**chat_request(), "model": KEY})
        own.spans()
        spans = own.exporter.get_finished_spans()
    assert len(spans) == 3
    assert KEY not in "".join(each.to_json() for each in spans)


def test_the_service_is_groundwire_unless_a_variable_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert new_provider().resource.attributes["service.name"] == "groundwire"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "east")
    assert new_provider().resource.attributes["service.name"] == "east"


def test_without_a_trace_of_the_client_its_id_is_that_of_the_response(
    running: Running, tmp_path: Path, detector: Detector
) -> None:
    with ScriptedUpstream() as upstream:
        upstream.script(Script.error(500))
        own = Traced(running, tmp_path, upstream.url, detector, "check.enabled: false")
        reply = own.ask(chat_request())
        spans = own.spans(2)
    trace, _, parent = ids(spans["POST chat_completions"])
    assert (trace, parent) == (reply.headers["X-Trace-ID"], None)
    assert spans["POST chat_completions"].status.status_code.name == "ERROR"
    fetch(f"{own.url}/livez")
    assert len(own.exporter.get_finished_spans()) == 2


def test_an_upstream_that_does_not_answer_is_an_error_of_its_span(
    running: Running, tmp_path: Path, detector: Detector
) -> None:
    own = Traced(running, tmp_path, "http://127.0.0.1:9/v1", detector, "check.enabled: false")
    assert own.ask(chat_request()).status == 502
    span = own.spans(2)["chat scripted-1"]
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ClientConnectorError"


@pytest.mark.merge
def test_spans_go_to_the_collector_that_is_configured() -> None:
    with ScriptedUpstream() as collector:
        collector.otherwise(Script.json({}))
        endpoint = collector.url.removesuffix("/v1")
        telemetry = Telemetry.of(parse(f"otel: {{enabled: true, endpoint: '{endpoint}'}}", name=""))
        assert telemetry is not None
        with telemetry.request({"method": "GET", "path": "/v1/models", "headers": []}):
            pass
        telemetry.close()
        (sent,) = collector.requests
    assert (sent.method, sent.path) == ("POST", "/v1/traces")
    assert b"GET models" in sent.body


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Telemetry.of(parse("", name="")) is None
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[otel\]'"):
        Telemetry.of(parse("otel: {enabled: true}", name=""))
