"""``POST /v1/verify``: the library, by the configured verifier."""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import pytest

from groundwire import Detector, Pipeline, detect_hallucination
from groundwire.config import parse
from groundwire.gateway.native.verify_models import (
    MAX_CLAIMS,
    MAX_SPANS,
    VerifyRequest,
)
from groundwire.gateway.verifying import Verifications
from groundwire.verify.cache import SHARED
from groundwire.verify.detect import AnswerArguments
from tests.gateway.client import Reply, fetch
from tests.gateway.native_app import fixed_pipeline, native
from tests.verify.scripted import (
    Asked,
    ScriptedEndpoint,
    error,
    honest,
    in_turn,
    with_evidence,
)
from tests.verify.scripted import Reply as Answer

pytestmark = pytest.mark.merge

SPANS = [
    {
        "sid": "S0",
        "text": "Auth reads JWT_ISSUER and validates the issuer of each token against it.",
    },
    {"sid": "S1", "text": "Tokens last for 60 minutes."},
]
#: As the documented page has it.
EXAMPLE: dict[str, Any] = {
    "answer": "Auth validates issuer via JWT_ISSUER. [S0]",
    "spans": SPANS,
    "require_citations": True,
    "context_mode": "cited",
    "default_target": 0.95,
}
KEY = "sk-very-secret"
PASSES = with_evidence(0.97, 0.05)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "BERRY_SERVICE_URL"):
        monkeypatch.delenv(name, raising=False)
    SHARED.clear()
    yield
    SHARED.clear()


@pytest.fixture(scope="module")
def detector() -> Iterator[Detector]:
    with Detector.load(threads=2) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def base(detector: Detector) -> Iterator[str]:
    with native(Pipeline(detector), "detector: {threads: 2}") as url:
        yield url


@pytest.fixture
def wire() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(honest(PASSES)) as endpoint:
        yield endpoint


def asking(wire: ScriptedEndpoint, more: str = "") -> str:
    """The configuration of a gateway that asks an endpoint."""
    own = f"verifier: openai, base_url: '{wire.base_url}', api_key: {KEY}, group_claims: false"
    return f"verify: {{{own}, max_concurrency: 1}}\ndetector: {{threads: 1}}\n{more}"


def verify(base: str, data: object, **headers: str) -> Reply:
    return fetch(f"{base}/v1/verify", data=data, headers=headers)


def as_json(data: object) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(data))


# What it says


def test_the_documented_example_needs_no_key(base: str) -> None:
    reply = verify(base, EXAMPLE)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    found = reply.json()
    assert (found["flagged"], found["under_budget"]) == (False, False)
    assert found["summary"]["backend"] == "local"
    assert [each["status"] for each in found["details"]] == ["passed"]


def test_a_report_is_that_of_the_library(base: str) -> None:
    answer = "Tokens last for 15 minutes. [S1] They are signed [S9]. All is well."
    for knobs in ({}, {"require_citations": True, "units": "nats", "max_claims": 2}):
        found = verify(base, {"answer": answer, "spans": SPANS, **knobs})
        expected = detect_hallucination(answer, SPANS, **knobs)  # type: ignore[arg-type]
        assert found.json() == as_json(expected.to_dict())
        assert found.json()["flagged"] is True


def test_what_is_wrong_with_citations_is_told_if_asked(base: str) -> None:
    body = {"answer": "Tokens last for 60 minutes. [S0]", "spans": SPANS}
    found = verify(base, body | {"citations": True}).json()["citations"]
    assert [each["status"] for each in found["details"]] == ["misattributed"]
    assert found["details"][0]["supported_by"] == ["S1"]
    assert "citations" not in verify(base, body).json()


# What a request may choose


def test_every_knob_is_an_argument_of_the_library() -> None:
    knobs = AnswerArguments.__optional_keys__
    assert VerifyRequest.model_fields.keys() - knobs == {"answer", "citations", "spans"}


@pytest.mark.parametrize("knob", ["max_claims", "claim_split", "rule", "units", "placeholder"])
def test_null_is_the_configurations(knob: str) -> None:
    with native(None, "verify: {max_claims: 1, rule: kl, units: nats}") as base:
        found = verify(base, EXAMPLE | {knob: None}).json()["summary"]
    assert (found["max_claims"], found["rule"], found["units"]) == (1, "kl", "nats")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verifier", "openai"),
        ("verifier_model", "gpt-4o"),
        ("base_url", ""),
        ("service_url", ""),
        ("api_key", KEY),
        ("timeout_s", 1),
        ("temperature", 0),
        ("max_concurrency", 64),
        ("top_logprobs", 20),
        ("use_cache", False),
        ("group_claims", False),
        ("max_group_size", 1),
        ("model", "x"),
    ],
)
def test_a_request_chooses_no_backend_and_nothing_is_sent_where_it_says(
    wire: ScriptedEndpoint, field: str, value: object
) -> None:
    with (
        ScriptedEndpoint(honest(PASSES)) as elsewhere,
        native(None, asking(wire)) as base,
    ):
        value = elsewhere.base_url if field.endswith("_url") else value
        reply = verify(base, EXAMPLE | {field: value})
        assert (reply.status, reply.error["code"]) == (422, "invalid_body")
        assert reply.error["param"] == field
        assert wire.asked == elsewhere.asked == []


def test_the_environment_alone_sends_nothing(
    base: str, wire: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", wire.base_url)
    assert verify(base, EXAMPLE).json()["summary"]["backend"] == "local"
    assert wire.asked == []


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({"spans": SPANS}, "answer"),
        ({"answer": "A."}, "spans"),
        (EXAMPLE | {"answer": 1}, "answer"),
        (EXAMPLE | {"spans": "S0"}, "spans"),
        (EXAMPLE | {"steps": []}, "steps"),
        (EXAMPLE | {"default_target": 1}, "default_target"),
        (EXAMPLE | {"default_target": "0.9"}, "default_target"),
        (EXAMPLE | {"max_claims": 0}, "max_claims"),
        (EXAMPLE | {"max_claims": MAX_CLAIMS + 1}, "max_claims"),
        (EXAMPLE | {"max_claims": True}, "max_claims"),
        (EXAMPLE | {"require_citations": "no"}, "require_citations"),
        (EXAMPLE | {"context_mode": "everything"}, "context_mode"),
        (EXAMPLE | {"rule": "vibes"}, "rule"),
        (EXAMPLE | {"citation_regex": "x" * 1_001}, "citation_regex"),
        (EXAMPLE | {"citations": 1}, "citations"),
    ],
)
def test_a_body_of_another_shape_is_refused_with_the_field(
    base: str, data: object, param: str
) -> None:
    reply = verify(base, data)
    assert (reply.status, reply.error["code"]) == (422, "invalid_body")
    assert reply.error["param"] == param


@pytest.mark.parametrize(
    ("data", "code", "param"),
    [
        (EXAMPLE | {"spans": []}, "no_spans", "spans"),
        (EXAMPLE | {"spans": [5]}, "malformed_spans", "spans"),
        (EXAMPLE | {"spans": [{"sid": "S0"}]}, "malformed_spans", "spans"),
        (EXAMPLE | {"spans": [SPANS[0], SPANS[0]]}, "malformed_spans", "spans"),
        (EXAMPLE | {"answer": "[S0]"}, "no_claims", "answer"),
        (EXAMPLE | {"answer": "東京は日本の首都です。 [S0]"}, "unreadable", None),
        (EXAMPLE | {"citation_regex": r"\[x\]"}, "invalid_setting", None),
        (EXAMPLE | {"citation_regex": r"(?<!x)\[(?P<id>x)\]"}, "invalid_setting", None),
        (EXAMPLE | {"citation_regex": "(?P<id>a{99999999999999})"}, "invalid_setting", None),
        (EXAMPLE | {"placeholder": " "}, "invalid_setting", None),
    ],
)
def test_what_cannot_be_verified_is_told(
    base: str, data: object, code: str, param: str | None
) -> None:
    reply = verify(base, data)
    assert (reply.status, reply.error["code"], reply.error["param"]) == (400, code, param)
    assert reply.error["type"] == "invalid_request_error"


def test_long_input_is_never_echoed(base: str) -> None:
    secret = "s3cret" * 2_000
    for data in (
        EXAMPLE | {"answer": [secret]},
        EXAMPLE | {secret: 1},
        EXAMPLE | {"spans": [{"sid": secret, "text": "a"}, {"sid": secret, "text": "b"}]},
        EXAMPLE | {"spans": [{"sid": "\ud800" + secret, "text": "a"}]},
        EXAMPLE | {"citation_regex": f"(?P<id>{secret[:900]}["},
    ):
        reply = verify(base, data)
        assert 400 <= reply.status < 500
        assert len(reply.text) < 1_500


# How much is taken


def test_more_spans_than_are_taken_are_refused(base: str) -> None:
    spans = [{"text": f"Fact {n}."} for n in range(MAX_SPANS + 1)]
    assert verify(base, EXAMPLE | {"spans": spans[:-1]}).status == 200
    reply = verify(base, EXAMPLE | {"spans": spans})
    assert (reply.status, reply.error["code"]) == (413, "too_many_spans")
    assert "201 spans, and a request may have 200" in reply.error["message"]
    assert reply.error["param"] == "spans"
    assert reply.error["next_step"]


def test_the_limits_of_the_configuration_and_of_tenants_hold() -> None:
    config = (
        "detector: {max_answer_chars: 60}\n"
        "tenants: {few: {max_sources: 1}, short: {max_source_chars: 30}}\n"
    )
    with native(None, config) as base:
        assert verify(base, EXAMPLE).status == 200
        for tenant, setting in (("few", "max_sources"), ("short", "max_source_chars")):
            reply = verify(base, EXAMPLE, **{"X-Test-Tenant": tenant})
            assert (reply.status, reply.error["code"]) == (413, "limit_exceeded")
            assert f"evidence.{setting}" in reply.error["message"]
        reply = verify(base, EXAMPLE | {"answer": "A. " * 21})
        assert (reply.status, reply.error["code"]) == (413, "limit_exceeded")
        assert "length of the answer is 63, and at most 60" in reply.error["message"]


# Who judges


def test_the_model_and_the_cache_are_those_of_the_pipeline(detector: Detector) -> None:
    text = "The lighthouse of Brenport was lit for the first time in 1871."
    body = {
        "answer": "The lighthouse was lit in 1871. [S0]",
        "spans": [{"sid": "S0", "text": text}],
    }
    with native(Pipeline(detector)) as base:
        before = detector.work.get("texts_read", 0)
        assert (
            fetch(f"{base}/v1/check", data={"sources": [text], "answer": "It was lit."}).status
            == 200
        )
        assert verify(base, body).status == 200
        assert detector.work["texts_read"] == before + 1


def test_what_was_read_for_a_tenant_is_that_tenants_own(detector: Detector) -> None:
    text = "The windmill of Alwick ground its last corn in 1923."
    body = {
        "answer": "It ground its last corn in 1923. [S0]",
        "spans": [{"sid": "S0", "text": text}],
    }
    with native(Pipeline(detector)) as base:
        before = detector.work.get("texts_read", 0)
        for tenant, n_read in (("a", 1), ("a", 1), ("b", 2)):
            assert verify(base, body, **{"X-Test-Tenant": tenant}).status == 200
            assert detector.work["texts_read"] == before + n_read


def test_without_the_embedded_reader_it_is_loaded_once_when_it_is_asked() -> None:
    config = parse("detector: {threads: 1}", name="groundwire.yaml")
    with fixed_pipeline() as pipeline:
        own = Verifications(config, pipeline.detector)
        try:
            assert own._loaded is None
            with ThreadPoolExecutor(4) as pool:
                found = list(pool.map(lambda _: own._local(), range(8)))
            assert len({id(each) for each in found}) == 1
            assert own._loaded is not None
        finally:
            own.close()


def test_beside_another_detector_the_embedded_verifier_answers() -> None:
    with native(None) as base:
        assert verify(base, EXAMPLE).json()["summary"]["backend"] == "local"


def test_the_configuration_may_name_an_endpoint(wire: ScriptedEndpoint) -> None:
    with native(None, asking(wire)) as base:
        reply = verify(base, EXAMPLE | {"include_prompts": True})
    assert reply.json()["summary"]["backend"] == "openai"
    assert {each.headers["authorization"] for each in wire.asked} == {f"Bearer {KEY}"}
    assert "Auth reads JWT_ISSUER" in str(reply.json()["details"][0]["prompts"])
    assert "secret" not in reply.text


def test_what_an_endpoint_answered_one_tenant_is_asked_again_for_another(
    wire: ScriptedEndpoint,
) -> None:
    with native(None, asking(wire)) as base:
        for tenant, n_calls in (("a", 2), ("a", 2), ("b", 4)):
            assert verify(base, EXAMPLE, **{"X-Test-Tenant": tenant}).status == 200
            assert len(wire.asked) == n_calls


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (error(401), 502, "authentication_failed"),
        (error(404), 502, "not_found"),
        (error(429, retry_after_ms="1"), 503, "rate_limited"),
        (error(500, retry_after_ms="1"), 502, "service_error"),
        (Answer(200, b"no json"), 502, "malformed_response"),
    ],
)
def test_a_backend_that_fails_is_no_pass_and_quotes_nothing(
    answer: Answer, status: int, code: str
) -> None:
    with ScriptedEndpoint(in_turn(answer)) as wire, native(None, asking(wire)) as base:
        reply = verify(base, EXAMPLE)
    assert (reply.status, reply.error["code"]) == (status, code)
    assert reply.error["type"] == "server_error"
    assert "verify.*" in reply.error["next_step"]
    for secret in (KEY, "SECRET", "JWT_ISSUER", wire.base_url):
        assert secret not in reply.text


def test_a_claim_that_failed_alone_is_flagged_in_the_report() -> None:
    def respond(asked: Asked) -> Answer:
        return error(400) if "60" in asked.claims[0] else honest(PASSES)(asked)

    body = EXAMPLE | {"answer": "Auth validates. [S0] Tokens last for 60 minutes. [S1]"}
    with ScriptedEndpoint(respond) as wire, native(None, asking(wire)) as base:
        found = verify(base, body).json()
    assert found["flagged"] is True
    assert [each["status"] for each in found["details"]] == ["passed", "verifier_error"]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("verify: {verifier: openai}", "missing_api_key"),
        ("verify: {verifier: service, api_key: sk-x}", "missing_service_url"),
    ],
)
def test_a_verifier_that_is_not_set_up_is_told(config: str, code: str) -> None:
    with native(None, config) as base:
        reply = verify(base, EXAMPLE)
    assert (reply.status, reply.error["code"]) == (503, code)
    assert "of this gateway is not set up" in reply.error["message"]


def test_a_verifier_that_is_not_installed_is_told(
    wire: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with native(None, asking(wire)) as base:
        reply = verify(base, EXAMPLE)
    assert (reply.status, reply.error["code"]) == (503, "verifier_unavailable")
    assert "pip install '.[verify]'" in reply.error["next_step"]


def test_a_service_gives_no_citations(wire: ScriptedEndpoint) -> None:
    config = f"verify: {{verifier: service, service_url: '{wire.origin}', api_key: sk-x}}"
    with native(None, config) as base:
        reply = verify(base, EXAMPLE | {"citations": True})
    assert (reply.status, reply.error["code"]) == (400, "invalid_setting")
    assert wire.asked == []


# For how long


class Held:
    """An endpoint that answers when it is told to."""

    def __init__(self) -> None:
        self.begun, self.release = threading.Semaphore(0), threading.Event()

    def __call__(self, asked: Asked) -> Answer:
        self.begun.release()
        assert self.release.wait(20)
        return honest(PASSES)(asked)


MANY = EXAMPLE | {"answer": " ".join(f"Fact number {n} holds [S0]." for n in range(20))}


def test_what_takes_too_long_is_given_up_and_nothing_more_is_sent() -> None:
    held = Held()
    with (
        ScriptedEndpoint(held) as wire,
        native(None, asking(wire, "gateway: {check_timeout_s: 0.3}")) as base,
    ):
        reply = verify(base, MANY)
        assert (reply.status, reply.error["code"]) == (504, "timeout")
        assert "more than 0.3 s" in reply.error["message"]
        held.begun.acquire(timeout=1)  # on a busy machine the first calls are still on their way
        time.sleep(0.5)
        n_asked = len(wire.asked)
        held.release.set()
    assert len(wire.asked) == n_asked


def test_who_hangs_up_ends_the_verification() -> None:
    held, seen = Held(), SimpleQueue[int]()
    with (
        ScriptedEndpoint(held) as wire,
        native(None, asking(wire), seen=seen) as base,
    ):
        parts, body = urlsplit(base), json.dumps(MANY).encode()
        with socket.create_connection((parts.hostname, parts.port), 20) as client:
            head = "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert held.begun.acquire(timeout=20)
        assert seen.get(timeout=20) == 499
        held.release.set()
    assert len(wire.asked) == 1


def test_checks_go_on_while_verifications_wait() -> None:
    held = Held()
    with (
        ScriptedEndpoint(held) as wire,
        fixed_pipeline() as pipeline,
        native(pipeline, asking(wire)) as base,
        ThreadPoolExecutor(4) as pool,
    ):
        waiting = [pool.submit(verify, base, EXAMPLE) for _ in range(4)]
        assert held.begun.acquire(timeout=20)
        reply = fetch(f"{base}/v1/check", data={"sources": ["Paris."], "answer": "It is wrong."})
        assert reply.json()["outcome"] == "hallucinated"
        held.release.set()
        assert [each.result(20).status for each in waiting] == [200] * 4
