"""Langfuse's client with the scores, before a server that keeps what it sends."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from groundwire.compat.verdict import Checks
from groundwire.explain.repair import Repair
from tests.compat.hosts.facts import QUESTION, RIGHT, TOWER, WRONG
from tests.compat.hosts.page import needs, snippet
from tests.gateway.wire import Script, ScriptedUpstream

pytestmark = pytest.mark.nightly
needs("langfuse", extra="langfuse")

from langfuse import Langfuse

from groundwire.compat.langfuse import record_scores

OBSERVATION = "b" * 16


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as found:
        found.otherwise(lambda _: Script.json({"accepted": 1, "rejected": 0, "errors": []}))
        yield found


@pytest.fixture(scope="module")
def langfuse(server: ScriptedUpstream) -> Iterator[Langfuse]:
    """The client, of which a process has one for each key."""
    client = Langfuse(
        public_key="pk-lf-1",
        secret_key="sk-lf-1",
        base_url=server.url.removesuffix("/v1"),
    )
    yield client
    client.shutdown()


@pytest.fixture
def trace() -> str:
    """The id of a trace that no other test scores."""
    return uuid4().hex


def scores(langfuse: Langfuse, server: ScriptedUpstream, trace: str) -> dict[str, dict[str, Any]]:
    """The scores of a trace that the client sent, by name."""
    langfuse.flush()
    sent = [each for each in server.requests if each.path == "/api/public/scores"]
    found = [score for each in sent for score in each.json() if score["traceId"] == trace]
    return {score["name"]: score for score in found}


def record(answer: str, sources: list[str], **options: Any) -> None:
    record_scores(Checks().answer(answer, sources=sources, question=QUESTION), **options)


@pytest.mark.shows("Langfuse", evidence="that of the verdict")
@pytest.mark.parametrize(
    ("answer", "status", "number"), [(WRONG, "failed", 0), (RIGHT, "passed", 1)]
)
def test_a_checked_answer_has_a_category_and_a_number(
    langfuse: Langfuse,
    server: ScriptedUpstream,
    trace: str,
    answer: str,
    status: str,
    number: float,
) -> None:
    record(answer, [TOWER], client=langfuse, trace_id=trace, observation_id=OBSERVATION)
    found = scores(langfuse, server, trace)
    category, score = found["groundedness"], found["groundedness_score"]
    assert (category["value"], category["dataType"]) == (status, "CATEGORICAL")
    assert (score["value"], score["dataType"]) == (number, "NUMERIC")
    assert {each["observationId"] for each in found.values()} == {OBSERVATION}
    assert ("330 metres" in category["comment"]) is (status == "failed")


@pytest.mark.shows("Langfuse", unchecked="the category `not checked`, without a number")
def test_an_unchecked_answer_has_a_category_and_no_number(
    langfuse: Langfuse, server: ScriptedUpstream, trace: str
) -> None:
    record(RIGHT, [], client=langfuse, trace_id=trace)
    found = scores(langfuse, server, trace)
    assert list(found) == ["groundedness"]
    assert found["groundedness"]["value"] == "not checked"
    assert found["groundedness"]["comment"].startswith("Not checked: ")


def test_the_snippet_scores_the_current_span(langfuse: Langfuse, server: ScriptedUpstream) -> None:
    with langfuse.start_as_current_observation(name="chat") as span:
        snippet("Langfuse", answer=WRONG, sources=[TOWER], question=QUESTION)
    found = scores(langfuse, server, span.trace_id)["groundedness"]
    assert (found["traceId"], found["observationId"]) == (span.trace_id, span.id)
    with pytest.raises(ValueError, match="no current span"):
        record(WRONG, [TOWER], client=langfuse)


def test_a_repaired_answer_is_a_correction_of_the_output(
    langfuse: Langfuse, server: ScriptedUpstream, trace: str
) -> None:
    before, after = (
        Checks().answer(text, sources=[TOWER]).checked.detection for text in (WRONG, RIGHT)
    )
    assert before is not None
    repaired = Repair(before=before, after=after)
    for made in (repaired, Repair(before=before)):
        record(WRONG, [TOWER], client=langfuse, trace_id=trace, repair=made)
    found = scores(langfuse, server, trace)["output"]
    assert (found["value"], found["dataType"]) == (RIGHT, "CORRECTION")


def test_ids_can_be_given_and_reasons_left_out(
    langfuse: Langfuse, server: ScriptedUpstream, trace: str
) -> None:
    options: dict[str, Any] = {"client": langfuse, "trace_id": trace, "with_reason": False}
    record(WRONG, [TOWER], score_id="chat-1", **options)
    found = scores(langfuse, server, trace)
    assert {name: each["id"] for name, each in found.items()} == {
        "groundedness": "chat-1-groundedness",
        "groundedness_score": "chat-1-groundedness_score",
    }
    assert "500 metres" not in str(found)
