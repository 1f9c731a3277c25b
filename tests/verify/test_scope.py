"""For whom a verification is made, and until when; and what is told of its citations."""

import json
from typing import Any

import pytest

from groundwire import detect_hallucination
from groundwire.engine.reader import Reader
from groundwire.verify.backends import opened
from groundwire.verify.local import LocalVerifier
from groundwire.verify.report import VerificationReport
from groundwire.verify.run import run
from groundwire.verify.settings import arguments_of, read_settings
from groundwire.verify.subject import AnswerSubject
from groundwire.verify.verifier import ClaimQuestion, EvidenceText, Scope, Verifier, VerifierFailure
from tests.verify.scripted import (
    Asked,
    Reply,
    ScriptedEndpoint,
    ScriptedVerifier,
    error,
    honest,
    in_turn,
    with_evidence,
)

SPANS = [{"sid": "S0", "text": "The sky is blue."}, {"sid": "S1", "text": "Grass is green."}]
PASSES = with_evidence(0.97, 0.05)


def asked(claim: str, text: str) -> ClaimQuestion:
    return ClaimQuestion(claim=claim, evidence=(EvidenceText(sid="S0", text=text, shown=text),))


def verified(
    wire: ScriptedEndpoint,
    answer: str,
    scope: Scope,
    **how: Any,  # noqa: ANN401
) -> VerificationReport:
    settings = read_settings(
        {"verifier": "openai", "base_url": wire.base_url, "api_key": "sk-test", **how}
    )
    arguments = {k: v for k, v in arguments_of(settings).items() if k != "verifier"}
    return run(
        AnswerSubject(answer), SPANS, arguments, "openai", opens=lambda own: opened(own, scope)
    )


# Tenants


def test_spans_that_were_read_for_one_tenant_are_read_again_for_another(
    fresh_reader: Reader,
    detector: Any,  # noqa: ANN401
) -> None:
    verifier = LocalVerifier(fresh_reader, LocalVerifier.of(detector).claim_map)
    question = asked("The sky is blue.", "Today the sky is blue and the grass is green.")
    for tenant, n_read in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        verifier.within(Scope(tenant=tenant)).judge([question])
        assert verifier.work["texts_read"] == n_read


@pytest.mark.merge
def test_what_an_endpoint_answered_one_tenant_is_asked_again_for_another() -> None:
    with ScriptedEndpoint(honest(PASSES)) as wire:
        for tenant, n_calls in (("a", 2), ("a", 2), ("b", 4)):
            verified(wire, "The sky is blue [S0].", Scope(tenant=tenant))
            assert len(wire.asked) == n_calls


# Until when


def test_a_verification_that_is_over_reads_nothing_more(
    fresh_reader: Reader,
    detector: Any,  # noqa: ANN401
) -> None:
    verifier = LocalVerifier(fresh_reader, LocalVerifier.of(detector).claim_map)
    over = verifier.within(Scope(is_over=lambda: True))
    answers = over.judge([asked(f"The sky has {n} colours.", "The sky is blue.") for n in range(9)])
    assert all(isinstance(each, VerifierFailure) for each in answers)
    assert {each.kind for each in answers if isinstance(each, VerifierFailure)} == {"timeout"}
    assert not any(verifier.work.values())


@pytest.mark.merge
def test_a_verification_that_is_over_sends_nothing_more() -> None:
    is_over = False

    def respond(request: Asked) -> Reply:
        nonlocal is_over
        is_over = True
        return honest(PASSES)(request)

    answer = "The sky is blue [S0]. Grass is green [S1]."
    with ScriptedEndpoint(respond) as wire:
        report = verified(wire, answer, Scope(is_over=lambda: is_over), max_concurrency=1)
    assert len(wire.asked) == 1
    assert [str(each.status) for each in report.details] == ["verifier_error", "verifier_error"]
    assert report.flagged
    assert "given up" in str(report.details[1].error)


# Citations


def with_citations(answer: str, verifier: str | Verifier, **how: Any) -> VerificationReport:  # noqa: ANN401
    return run(AnswerSubject(answer), SPANS, how, verifier, with_citations=True)


def test_a_report_tells_of_citations_if_asked_to() -> None:
    verifier = ScriptedVerifier(PASSES)
    answer = "The sky is blue [S0]. Grass is green. The sun is red [S9]."
    found = json.loads(json.dumps(with_citations(answer, verifier).to_dict()))
    assert found["citations"]["statuses"] == {"fabricated_id": 1, "supported": 1, "uncited": 1}
    assert [each["idx"] for each in found["citations"]["details"]] == [0, 1, 2]
    assert "citations" not in detect_hallucination(answer, SPANS, verifier=verifier).to_dict()


def test_citations_flag_nothing_and_are_of_the_claims_that_were_scored() -> None:
    verifier = ScriptedVerifier(PASSES)
    report = with_citations("The sky is blue [S0, S1].", verifier)
    assert report.citations is not None
    assert [each.decorative for each in report.citations.findings] == [()]
    assert not report.flagged
    cut = with_citations("A sky [S0]. A blue sky [S0].", verifier, max_claims=1)
    assert cut.citations is not None
    assert [each.idx for each in cut.citations.findings] == [0]


@pytest.mark.merge
def test_what_citations_cost_is_told_beside_what_the_claims_cost() -> None:
    with ScriptedEndpoint(honest(PASSES)) as wire:
        how = {"base_url": wire.base_url, "api_key": "sk-test", "group_claims": False}
        found = with_citations("The sky is blue [S0, S1].", "openai", **how).to_dict()
    claims, citations = found["summary"], found["citations"]
    assert claims["verifier_api_calls_estimated"] == 2  # with both, and with neither
    assert citations["verifier_api_calls_estimated"] == 2  # with one of them each
    assert len(wire.asked) == 4
    assert citations["prompt_tokens"] == 200


def test_a_verifier_that_breaks_leaves_citations_unchecked() -> None:
    class Tired(ScriptedVerifier):
        def judge(self, questions: Any) -> Any:  # noqa: ANN401
            if len(self.asked) > 1:
                raise RuntimeError("The sky is blue.")
            return super().judge(questions)

    report = with_citations("The sky is blue [S0, S1].", Tired(PASSES))
    assert report.citations is not None
    (finding,) = report.citations.findings
    assert finding.status == "unchecked"
    assert "sky" not in str(finding.error)


@pytest.mark.merge
def test_a_service_cannot_be_asked_about_citations_and_is_sent_nothing() -> None:
    with ScriptedEndpoint(in_turn(error(500))) as wire:
        report = with_citations("A [S0].", "service", service_url=wire.origin, api_key="sk-test")
    assert (report.flagged, report.error_type) == (True, "invalid_argument")
    assert "local or openai" in str(report.error)
    assert wire.asked == []


@pytest.mark.parametrize(
    "pattern", ["(?P<id>a{99999999999999999999})", "(" * 5_000 + "(?P<id>a)" + ")" * 5_000]
)
def test_a_pattern_that_breaks_the_compiler_is_told(pattern: str) -> None:
    report = detect_hallucination("A [S0].", SPANS, citation_regex=pattern)
    assert (report.flagged, report.error_type) == (True, "invalid_argument")
    assert "citation_regex" in str(report.error)
