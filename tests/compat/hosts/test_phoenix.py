"""Phoenix's client with the annotation, before a server that keeps what it sends."""

from collections.abc import Iterator
from typing import Any

import pytest

from groundwire.compat.verdict import Checks
from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet
from tests.gateway.wire import Script, ScriptedUpstream

pytestmark = pytest.mark.nightly
needs("phoenix", extra="phoenix")

import httpx
from opentelemetry.sdk.trace import TracerProvider
from phoenix.client import Client

from groundwire.compat.phoenix import annotate_span

SPAN = "b" * 16


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as found:
        found.otherwise(lambda _: Script.json({"data": [{"id": "U3Bhbg=="}]}))
        monkeypatch.setenv("PHOENIX_BASE_URL", found.url.removesuffix("/v1"))
        yield found


def sent(server: ScriptedUpstream) -> dict[str, Any]:
    """The annotation that was sent last."""
    request = server.requests[-1]
    assert (request.method, request.path) == ("POST", "/v1/span_annotations")
    (found,) = request.json()["data"]
    return dict(found)


def annotate(answer: str, sources: list[str], **options: Any) -> None:
    annotate_span(Checks().answer(answer, sources=sources, question=QUESTION), **options)


@pytest.mark.shows("Phoenix", evidence="that of the verdict")
@pytest.mark.parametrize(("answer", "label", "score"), [(WRONG, "failed", 0), (RIGHT, "passed", 1)])
def test_a_checked_answer_has_a_label_and_a_score(
    server: ScriptedUpstream, answer: str, label: str, score: float
) -> None:
    snippet("Phoenix", answer=answer, sources=[TOWER], question=QUESTION, span_id=SPAN)
    found = sent(server)
    assert (found["span_id"], found["name"]) == (SPAN, "groundedness")
    assert found["annotator_kind"] == "CODE"
    assert (found["result"]["label"], found["result"]["score"]) == (label, score)
    assert ("330 metres" in found["result"]["explanation"]) is (label == "failed")


@pytest.mark.shows("Phoenix", unchecked="the label `not checked`, without a score")
def test_an_unchecked_answer_has_a_label_and_no_score(server: ScriptedUpstream) -> None:
    annotate(RIGHT, [], span_id=SPAN)
    result = sent(server)["result"]
    assert (result["label"], result.get("score")) == ("not checked", None)
    assert result["explanation"].startswith("Not checked: ")


def test_the_current_span_is_annotated(server: ScriptedUpstream) -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("chat") as span:
        annotate(WRONG, [TOWER], with_reason=False)
    found = sent(server)
    assert found["span_id"] == f"{span.get_span_context().span_id:016x}"
    assert "500 metres" not in str(found)
    with pytest.raises(ValueError, match="no current span"):
        annotate(WRONG, [TOWER])


def test_a_span_that_phoenix_does_not_know_is_an_error(server: ScriptedUpstream) -> None:
    server.script(Script.error(404, "Spans with IDs are not found"))
    with pytest.raises(httpx.HTTPError):
        annotate(RIGHT, [TOWER], span_id=SPAN, client=Client())
