"""Whatever is sent to a native endpoint is answered, and never as a failure of the gateway."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Gate
from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.explain import Explainer
from tests.gateway.client import fetch
from tests.gateway.native_app import PATHS, fixed_pipeline, native
from tests.json_values import json_data, scalars
from tests.tiers import costly

pytestmark = [
    pytest.mark.merge,
    pytest.mark.filterwarnings("ignore::groundwire.detection.example.SourceWarning"),
]

JSON = "application/json"


def judge(hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
    del hypothesis, evidence
    return Entailment(entailment=0.5, neutral=0.3, contradiction=0.2)


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with (
        fixed_pipeline(gate=Gate.load(threads=1), explainer=Explainer(judge)) as pipeline,
        native(pipeline, "gateway: {max_body_bytes: 200000}\ndetector: {threads: 2}") as url,
    ):
        yield url


NAMES = (
    "sources answer question operating_point request response messages choices message content "
    "role metadata grounding.sources id text examples options confidence_threshold premise "
    "hypothesis tool_calls"
)
fields = st.sampled_from(NAMES.split())
surrogates = st.text(st.characters(categories=["Cs", "Lu", "Nd"]), max_size=5)
values = st.recursive(
    scalars | surrogates | st.sampled_from(["user", "assistant", "tool", "Paris is wrong. [S0]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(fields, inner, max_size=5),
    max_leaves=25,
)
bodies = st.dictionaries(fields, values, max_size=6) | values | json_data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), data=bodies)
def test_no_json_makes_the_gateway_fail(base: str, path: str, data: object) -> None:
    body = json.dumps(data).encode()
    reply = fetch(base + path, method="POST", headers={"Content-Type": JSON}, body=body)
    assert reply.status < 500
    if reply.status >= 400:
        assert {"message", "type", "code", "param", "trace_id"} <= set(reply.error)
    elif path.endswith("batch"):
        rows = [each for each in reply.json()["results"] if "error" in each]
        assert not [each for each in rows if each["error"]["type"] == "server_error"]
    assert reply.headers["X-Trace-ID"]


@settings(costly(0.6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(PATHS),
    body=st.binary(max_size=200),
    kind=st.sampled_from([JSON, "text/plain", "application/x+json", "a;b=\xff"]),
)
def test_no_bytes_make_the_gateway_fail(base: str, path: str, body: bytes, kind: str) -> None:
    reply = fetch(base + path, method="POST", headers={"Content-Type": kind}, body=body)
    assert reply.status < 500


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b'{"answer": NaN}', "no JSON"),
        (b'{"answer": -Infinity}', "no JSON"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "no JSON"),
        (b'{"answer": "\xff"}', "not UTF-8"),
        ('{"answer": "x"}'.encode("utf-16"), "not UTF-8"),
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 30_000, "deep"),
    ],
)
def test_what_is_no_json_is_told(base: str, body: bytes, problem: str) -> None:
    reply = fetch(f"{base}/v1/check", method="POST", headers={"Content-Type": JSON}, body=body)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert problem in reply.error["message"]
    assert reply.error["next_step"]


@pytest.mark.parametrize("path", PATHS)
def test_a_body_over_the_limit_is_refused(base: str, path: str) -> None:
    headers = {"Content-Type": JSON}
    for body in (b"x" * 200_001, iter([b"x" * 100_000] * 3)):
        reply = fetch(base + path, method="POST", headers=headers, body=body)
        assert (reply.status, reply.error["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("path", PATHS)
def test_no_endpoint_takes_what_is_no_json_or_another_method(base: str, path: str) -> None:
    reply = fetch(base + path, method="POST", headers={"Content-Type": JSON}, body=b"{")
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    reply = fetch(base + path, method="POST", headers={"Content-Type": "text/plain"}, body=b"{}")
    assert (reply.status, reply.error["code"]) == (415, "unsupported_media_type")
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        reply = fetch(base + path, method=method)
        assert (reply.status, reply.error["code"]) == (405, "method_not_allowed")
        assert reply.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Type": "application/" + "x" * 5_000},
    ],
)
def test_another_content_type_is_refused(base: str, headers: dict[str, str]) -> None:
    reply = fetch(f"{base}/v1/check", method="POST", headers=headers, body=b'{"text": "x"}')
    assert (reply.status, reply.error["code"]) == (415, "unsupported_media_type")
    assert reply.error["next_step"]


@pytest.mark.parametrize("kind", ["application/json; charset=UTF-8", "application/vnd.x+json"])
def test_other_names_of_json_are_taken(base: str, kind: str) -> None:
    body = '\ufeff{"text": "When?"}'.encode()
    path = "/api/v1/classify/fact-check"
    reply = fetch(base + path, method="POST", headers={"Content-Type": kind}, body=body)
    assert reply.status == 200


def test_the_answer_in_a_result_is_written_in_ascii(base: str) -> None:
    data = {"sources": ["é"], "answer": "Ça \u2028 \u0085 est wrong. data: x\r\n\r\n"}
    reply = fetch(f"{base}/v1/check", data=data)
    assert reply.status == 200
    assert reply.body.isascii()
    assert b"\n" not in reply.body
