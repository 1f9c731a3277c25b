"""``POST /v1/check``: what the library says, over HTTP."""

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from groundwire import Detector, Pipeline
from groundwire.config import parse
from groundwire.detection.example import Source
from groundwire.policy.policy import Overrides, SourceLimits
from tests.fixed_judge import FixedJudge, FixedReading
from tests.gateway.client import Reply, fetch
from tests.gateway.native_app import fixed_pipeline, native, without_times
from tests.json_values import json_data
from tests.tiers import costly

pytestmark = pytest.mark.merge

FACT = "The Eiffel Tower was completed in 1889 and is 330 metres tall."
BODY: dict[str, Any] = {"sources": ["Wrong."], "answer": "It is wrong."}
CHAT = {
    "messages": [{"role": "user", "content": "How tall is it?"}],
    "metadata": {"grounding.sources": [FACT]},
}


def completion(*texts: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}} for text in texts]}


@pytest.fixture(scope="module")
def fixed() -> Iterator[Pipeline]:
    tenants = {"small": Overrides(max_sources=1), "short": Overrides(max_source_chars=10)}
    with fixed_pipeline(tenants=tenants) as pipeline:
        yield pipeline


@pytest.fixture(scope="module")
def base(fixed: Pipeline) -> Iterator[str]:
    with native(fixed) as url:
        yield url


@pytest.fixture(scope="module")
def real() -> Iterator[Pipeline]:
    with Pipeline.load(parse("detector: {threads: 2}", name="groundwire.yaml")) as pipeline:
        yield pipeline


@pytest.fixture(scope="module")
def real_base(real: Pipeline) -> Iterator[str]:
    with native(real) as url:
        yield url


def check(base: str, data: object, **headers: str) -> Reply:
    return fetch(f"{base}/v1/check", data=data, headers=headers)


def test_it_marks_what_the_sources_do_not_say(base: str) -> None:
    reply = check(base, BODY)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    found = reply.json()
    assert found["outcome"] == "hallucinated"
    assert [span["text"] for span in found["spans"]] == ["wrong"]


def test_the_embedded_reader_says_the_same_as_in_the_library(
    real: Pipeline, real_base: str
) -> None:
    data = {"sources": [FACT], "question": "How tall?", "answer": "It is 500 metres tall."}
    expected = real.detector.detect(**data)  # type: ignore[arg-type]
    found = check(real_base, data).json()
    assert without_times(found) == without_times(expected.to_dict())
    assert found["outcome"] == "hallucinated"


words = st.sampled_from(["wrong", "right", "Paris", "5 m", "é", "😀", ".", "\n", "[S0]", '"'])
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@pytest.mark.filterwarnings("ignore::groundwire.detection.example.SourceWarning")
@settings(costly(0.4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sources=st.lists(texts | json_data, max_size=4),
    answer=texts,
    question=st.none() | texts,
    point=st.none() | st.just("balanced") | st.floats(0.01, 1),
)
def test_json_is_that_of_the_library(
    base: str,
    fixed: Pipeline,
    sources: list[Any],
    answer: str,
    question: str | None,
    point: str | float | None,
) -> None:
    data: dict[str, Any] = {"sources": sources, "answer": answer, "operating_point": point}
    if question is not None:
        data["question"] = question
    try:
        json.dumps(data, allow_nan=False)
    except ValueError:  # an infinity, which no JSON holds
        assume(False)
    reply = check(base, data)
    try:
        expected = fixed.detector.detect(
            sources=data["sources"], answer=answer, question=question, operating_point=point
        )
    except ValueError:
        assert reply.status == 400
    else:
        assert without_times(reply.json()) == without_times(expected.to_dict())


def test_a_threshold_of_ones_own(base: str) -> None:
    assert check(base, BODY | {"operating_point": 0.95}).json()["outcome"] == "grounded"
    assert check(base, BODY | {"operating_point": "balanced"}).json()["outcome"] == "hallucinated"


@pytest.mark.parametrize("point", ["nothing", "x" * 1000, 0, 2, -1, True, [], {}, 10**400])
def test_what_is_no_operating_point_is_refused(base: str, point: object) -> None:
    reply = check(base, BODY | {"operating_point": point})
    assert reply.status == 400
    assert reply.error["param"] == "operating_point"
    assert len(reply.text) < 1_000


@pytest.mark.parametrize("sources", ["Paris.", {"page_content": "Paris.", "metadata": {}}])
def test_a_single_source_needs_no_list(base: str, sources: object) -> None:
    reply = check(base, {"sources": sources, "answer": "Paris."})
    assert (reply.status, reply.json()["coverage"]["offered_chars"]) == (200, 6)


def test_sources_beyond_the_limits_of_the_tenant_are_told(base: str) -> None:
    two = {"sources": ["Paris is in France.", "Nice."], "answer": "Paris is nice."}
    assert check(base, two).json()["outcome"] == "grounded"
    found = check(base, two, **{"X-Test-Tenant": "small"}).json()
    assert found["outcome"] == "partial"
    assert found["coverage"]["reasons"] == {"dropped_over_cap": 1}
    found = check(base, two, **{"X-Test-Tenant": "short"}).json()
    assert found["coverage"]["reasons"] == {"dropped_long": 1}


def test_the_limits_of_the_configuration_hold_for_all() -> None:
    with fixed_pipeline(limits=SourceLimits(max_sources=1)) as pipeline, native(pipeline) as base:
        found = check(base, {"sources": ["Fine.", "c d"], "answer": "Fine."}).json()
    assert found["coverage"]["reasons"] == {"dropped_over_cap": 1}


def test_what_was_read_for_a_tenant_is_that_tenants_own() -> None:
    with Detector.load(threads=2) as detector, native(Pipeline(detector)) as base:
        data = {"sources": [FACT], "answer": "It is 330 metres tall."}
        for tenant, n_read in (("a", 1), ("a", 1), ("b", 2)):
            assert check(base, data, **{"X-Test-Tenant": tenant}).status == 200
            assert detector.work["texts_read"] == n_read


def test_without_sources_the_answer_is_unverified(base: str) -> None:
    assert check(base, {"sources": [], "answer": "Fine."}).json()["outcome"] == "unverified"


# Conversations.


def test_a_conversation_goes_through_all_stages(real: Pipeline, real_base: str) -> None:
    response = completion("It is 500 metres tall.", "It is 330 metres tall.")
    found = check(real_base, {"request": CHAT, "response": response}).json()
    expected = real.check_response(real.open(CHAT, tenant="default"), response)
    assert without_times(found) == without_times(expected.to_dict())
    assert [each["outcome"] for each in found["answers"]] == ["hallucinated", "grounded"]


def test_a_chat_may_end_with_its_answer(base: str, fixed: Pipeline) -> None:
    last = {"role": "assistant", "content": "It is wrong."}
    found = check(base, {**CHAT, "messages": [*CHAT["messages"], last]}).json()
    expected = fixed.check_response(
        fixed.open(CHAT, tenant="default"), {"choices": [{"message": last}]}
    )
    assert without_times(found) == without_times(expected.to_dict())


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({"request": CHAT, "response": {}}, "response.choices"),
        ({"request": CHAT, "response": []}, "response"),
        ({"request": {"messages": 1}, "response": completion("x")}, "request.messages"),
        ({"request": [], "response": completion("x")}, "request"),
        ({"messages": [{"role": "user", "content": "x"}]}, "messages[0]"),
    ],
)
def test_an_error_names_the_place(base: str, data: object, param: str) -> None:
    reply = check(base, data)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["param"] == param
    assert reply.error["next_step"]


@pytest.mark.parametrize(
    ("sources", "param"),
    [
        (["a", 1], "sources[1]"),
        ([None], "sources[0]"),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], "sources[1]"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(
    base: str, sources: list[object], param: str
) -> None:
    reply = check(base, {"sources": sources, "answer": "Fine."})
    assert (reply.status, reply.error["param"]) == (400, param)


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({"sources": []}, "answer"),
        ({"answer": "x"}, "sources"),
        (BODY | {"answer": 1}, "answer"),
        (BODY | {"sources": 1}, "sources"),
        (BODY | {"question": ["x"]}, "question"),
        (BODY | {"opreating_point": 1}, "opreating_point"),
        ({"request": CHAT}, "response"),
        ({"request": CHAT, "response": completion("x"), "model": "x"}, "model"),
        ({"messages": "x"}, "messages"),
        ({}, "sources"),
    ],
)
def test_a_body_of_another_shape_is_refused_with_the_field(
    base: str, data: object, param: str
) -> None:
    reply = check(base, data)
    assert (reply.status, reply.error["code"]) == (422, "invalid_body")
    assert reply.error["param"] == param
    assert reply.error["message"].startswith(f"{param}: ")


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"null", b"true"])
def test_a_body_that_is_no_object_is_refused(base: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    reply = fetch(f"{base}/v1/check", method="POST", headers=headers, body=body)
    assert (reply.status, reply.error["code"]) == (422, "invalid_body")


def test_long_input_is_never_echoed(base: str) -> None:
    secret = "s3cret" * 2_000
    for data in (
        BODY | {"answer": [secret]},
        BODY | {"question": {"a": secret}},
        BODY | {"sources": [{"id": secret, "text": "a"}, {"id": secret, "text": "b"}]},
        BODY | {secret: 1},
        {"sources": [], "answer": "x", "operating_point": secret},
    ):
        reply = check(base, data)
        assert 400 <= reply.status < 500
        assert len(reply.text) < 1_500


# The shell.


def test_an_empty_answer_is_refused(base: str) -> None:
    reply = check(base, {"sources": [], "answer": " "})
    assert reply.status == 400
    assert "nothing to check" in reply.error["message"]


def test_many_at_a_time_get_each_their_own(base: str) -> None:
    def one(n: int) -> tuple[int, int]:
        found = check(base, {"sources": ["x"], "answer": f"This is fine {n} times and wrong."})
        claim = found.json()["claims"][0]["text"]
        return found.status, int(claim.split()[3])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(40))) == [(200, n) for n in range(40)]


def test_the_loop_answers_while_checks_run() -> None:
    judge = Slow(doubtful={})
    with (
        fixed_pipeline(judge=judge) as pipeline,
        native(pipeline) as base,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(check, base, BODY)
        assert judge.begun.acquire(timeout=20)
        assert fetch(f"{base}/openapi.json").status == 200
        judge.release.set()
        assert waiting.result(20).status == 200


def test_a_check_that_waits_is_not_begun_for_a_client_that_has_gone() -> None:
    judge, seen = Slow(doubtful={}), SimpleQueue[int]()
    with (
        fixed_pipeline(judge=judge) as pipeline,
        native(pipeline, "detector: {threads: 1}", seen=seen) as base,
        ThreadPoolExecutor(2) as pool,
    ):
        busy = [pool.submit(check, base, BODY) for _ in range(2)]
        for _ in busy:
            assert judge.begun.acquire(timeout=20)
        hang_up(base, BODY | {"question": "gone"})
        assert seen.get(timeout=20) == 499
        judge.release.set()
        assert [each.result(20).status for each in busy] == [200, 200]
        assert check(base, BODY).status == 200
    assert "gone" not in judge.asked


def hang_up(base: str, data: object) -> None:
    """Send a request and leave."""
    parts, body = urlsplit(base), json.dumps(data).encode()
    with socket.create_connection((parts.hostname, parts.port), 20) as client:
        head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


@dataclass(frozen=True, kw_only=True)
class Slow(FixedJudge):
    """A judge that waits until it is told to go on."""

    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    asked: list[str | None] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> FixedReading:
        self.asked.append(question)
        self.begun.release()
        assert self.release.wait(20)
        return super().open(sources, question, threshold=threshold, tenant=tenant)
