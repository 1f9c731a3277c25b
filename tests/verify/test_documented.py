"""What the documented tool's own tests and pages state, each at the wire where a call is made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from groundwire import audit_trace_budget, detect_hallucination
from groundwire.verify.report import VerificationReport
from tests.verify.scripted import (
    Asked,
    Believes,
    Reply,
    ScriptedEndpoint,
    ScriptedVerifier,
    believed,
    completion,
    honest,
    letters,
    token,
    with_evidence,
)

SPANS = [{"sid": "S0", "text": "The sky is blue."}, {"sid": "S1", "text": "Grass is green."}]
Check = Callable[..., VerificationReport]


@contextmanager
def endpoint(
    believes: Believes, respond: Callable[[Asked], Reply] | None = None
) -> Iterator[tuple[ScriptedEndpoint, Check]]:
    """A scripted endpoint, and a call that asks it."""
    with ScriptedEndpoint(respond or honest(believes)) as wire:

        def check(
            answer: str,
            spans: Sequence[Mapping[str, Any]] = SPANS,
            **how: Any,  # noqa: ANN401
        ) -> VerificationReport:
            return detect_hallucination(
                answer,
                spans,
                **{"verifier": "openai", "base_url": wire.base_url, "api_key": "sk-test"} | how,
            )

        yield wire, check


def statuses(report: VerificationReport) -> list[str]:
    return [str(each.status) for each in report.details]


@pytest.mark.merge
def test_target_095_prior_099_posterior_001_is_flagged_though_its_gap_is_negative() -> None:
    with endpoint(with_evidence(0.01, 0.99)) as (_, check):
        (kl,) = check("The sky is red [S0].", rule="kl").to_dict()["details"]
        signed = check("The sky is red [S0].")
    assert kl["budget_gap"]["max"] == pytest.approx(0.060 - 6.497, abs=1e-3)
    assert kl["kl_budget_sufficient"] is True
    assert signed.flagged


@pytest.mark.merge
def test_a_posterior_of_no_098_is_contradicted_and_has_bits() -> None:
    with endpoint(lambda claim, evidence: believed(0.01, 0.98)) as (wire, check):
        report = check("The sky is red [S0].")
    (detail,) = report.to_dict()["details"]
    assert detail["status"] == "contradicted"
    assert detail["prior_yes"]["p_upper"] == pytest.approx(0.01)
    assert detail["budget_gap"]["min"] > 5  # its evidence brings nothing
    assert len(wire.asked) == 2
    assert wire.asked[0].body["max_tokens"] == 1


@pytest.mark.merge
def test_posterior_097_prior_096_is_a_prior_leak() -> None:
    with endpoint(with_evidence(0.97, 0.96)) as (_, check):
        (detail,) = check("The sky is blue [S0].").to_dict()["details"]
    assert detail["status"] == "prior_leak"
    assert detail["prior_leak"] is True
    assert detail["reasons"] == ["prior_at_or_above_target"]
    assert detail["flagged"] is True


@pytest.mark.merge
def test_posterior_097_prior_005_passes_with_a_gain() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (_, check):
        report = check("The sky is blue [S0].")
    (detail,) = report.to_dict()["details"]
    assert not report.flagged
    assert detail["status"] == "passed"
    assert detail["evidence_log_odds_gain"]["min"] > 0
    assert detail["observed"]["min"] == pytest.approx(4.000, abs=1e-3)
    assert detail["required"]["max"] == pytest.approx(3.823, abs=1e-3)
    assert detail["budget_gap"]["max"] < 0
    assert (detail["post_yes"]["p_lower"], detail["prior_yes"]["p_upper"]) == (
        pytest.approx(0.97),
        pytest.approx(0.05),
    )


@pytest.mark.merge
def test_in_cited_mode_a_span_that_is_not_cited_is_not_in_the_prompt() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        check("The sky is blue [S0].", context_mode="cited")
    assert all("Grass is green." not in asked.user for asked in wire.asked)
    assert [each["sid"] for each in wire.asked[0].evidence] == ["S0"]


@pytest.mark.merge
def test_in_all_mode_only_what_is_cited_is_taken_away() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        check("The sky is blue [S0].", context_mode="all")
    quotes = [[each["quote"] for each in asked.evidence] for asked in wire.asked]
    assert quotes[0] == ["The sky is blue.", "Grass is green."]
    assert all(each == ["[REDACTED]", "Grass is green."] for each in quotes[1:])


@pytest.mark.merge
def test_no_citation_where_one_is_required_is_missing_without_a_call() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check("The sky is blue.", require_citations=True)
    (detail,) = report.to_dict()["details"]
    assert statuses(report) == ["missing_citations"]
    assert detail["missing_citations"] is True
    assert detail["has_any_citations"] is False
    assert wire.asked == []


@pytest.mark.merge
def test_an_unknown_citation_takes_precedence_over_a_missing_one_without_a_call() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check("The sky is blue [S404].", context_mode="all", require_citations=True)
    (detail,) = report.to_dict()["details"]
    assert statuses(report) == ["unknown_citations"]
    assert detail["unknown_citations"] == ["S404"]
    assert wire.asked == []


@pytest.mark.merge
def test_no_citation_in_cited_mode_is_an_empty_context_without_a_call() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check("The sky is blue.")
    assert statuses(report) == ["empty_context"]
    assert report.to_dict()["details"][0]["empty_context"] is True
    assert wire.asked == []


@pytest.mark.merge
def test_no_citation_in_auto_mode_is_read_with_all_spans() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check("The sky is blue.", context_mode="auto")
    assert statuses(report) == ["passed"]
    assert [len(asked.evidence) for asked in wire.asked] == [2, 2]


@pytest.mark.merge
def test_two_identical_claims_are_asked_about_once_and_a_second_run_not_at_all() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        first = check("The sky is blue [S0]. The sky is blue [S0].").summary
        assert len(wire.asked) == 2
        second = check("The sky is blue [S0]. The sky is blue [S0].").summary
        assert len(wire.asked) == 2
    assert (first["verifier_calls"], first["verifier_api_calls_estimated"]) == (4, 2)
    assert (second["cached_results"], second["verifier_api_calls_estimated"]) == (4, 0)


@pytest.mark.merge
def test_two_claims_of_one_context_share_calls_two_for_four() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check("The sky is blue [S0]. The sky is not red [S0].")
    assert statuses(report) == ["passed", "passed"]
    assert [len(asked.claims) for asked in wire.asked] == [2, 2]
    assert wire.asked[0].body["max_tokens"] == 12
    summary = report.summary
    assert (summary["verifier_calls"], summary["verifier_api_calls_estimated"]) == (4, 2)
    assert (summary["verifier_calls_saved_by_grouping"], summary["grouped_results"]) == (2, 4)


@pytest.mark.merge
def test_a_grouped_yes_and_no_both_have_a_prior() -> None:
    def believes(claim: str, evidence: Sequence[str]) -> tuple[float, float, float]:
        if "red" in claim:
            return believed(0.01, 0.98)
        return believed(0.05 if evidence == ["[REDACTED]"] else 0.97)

    with endpoint(believes) as (wire, check):
        report = check("The sky is blue [S0]. The sky is red [S0].")
    assert statuses(report) == ["passed", "contradicted"]
    assert [asked.claims for asked in wire.asked] == [
        ["The sky is blue.", "The sky is red."],
        ["The sky is blue.", "The sky is red."],
    ]


@pytest.mark.merge
def test_a_group_with_one_label_for_two_claims_is_asked_again_one_by_one() -> None:
    believes = with_evidence(0.97, 0.05)

    def respond(asked: Asked) -> Reply:
        if len(asked.claims) == 2 and not asked.is_prior:
            top = letters(believed(0.97))
            return completion([token("Y", 0.97, top)])
        return honest(believes)(asked)

    with endpoint(believes, respond) as (wire, check):
        report = check("The sky is blue [S0]. The sky is not red [S0].")
    assert statuses(report) == ["passed", "passed"]
    assert [len(asked.claims) for asked in wire.asked] == [2, 1, 1, 2]
    assert report.summary["verifier_api_calls_estimated"] == 4.0
    assert report.summary["group_fallbacks"] == 2


@pytest.mark.merge
def test_without_groups_each_claim_has_its_own_prompt() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        check("The sky is blue [S0]. The sky is not red [S0].", group_claims=False)
    assert [len(asked.claims) for asked in wire.asked] == [1, 1, 1, 1]
    assert [asked.is_prior for asked in wire.asked] == [False, False, True, True]


@pytest.mark.merge
@pytest.mark.parametrize("how", [{"max_group_size": 0}, {"max_group_prompt_chars": 999}])
def test_an_impossible_group_is_a_value_error_before_any_call(how: dict[str, int]) -> None:
    with (
        endpoint(with_evidence(0.97, 0.05)) as (wire, check),
        pytest.raises(ValueError, match="max_group_"),
    ):
        check("The sky is blue [S0].", **how)
    assert wire.asked == []


def test_a_trace_as_a_mapping_keeps_idx_7_and_passes() -> None:
    verifier = ScriptedVerifier(with_evidence(0.97, 0.05))
    step = {"idx": 7, "claim": "The sky is blue.", "cites": ["S0"], "confidence": 0.9}
    report = audit_trace_budget({"steps": [step]}, SPANS, verifier=verifier)
    (detail,) = report.to_dict()["details"]
    assert (detail["idx"], detail["status"], detail["target"]) == (7, "passed", 0.9)


@pytest.mark.merge
def test_a_step_is_asked_about_at_the_wire_as_a_claim_is() -> None:
    step = {"idx": 7, "claim": "The sky is blue [S0].", "confidence": 0.98}
    with endpoint(with_evidence(0.97, 0.05)) as (wire, _):
        how = {"verifier": "openai", "base_url": wire.base_url, "api_key": "sk-test"}
        report = audit_trace_budget([step], SPANS, **how)  # type: ignore[arg-type]
    assert [(asked.claims, asked.is_prior) for asked in wire.asked] == [
        (["The sky is blue."], False),
        (["The sky is blue."], True),
    ]
    assert statuses(report) == ["not_entailed"]


def test_three_claims_of_which_two_are_scored_are_flagged_as_truncated() -> None:
    verifier = ScriptedVerifier(with_evidence(0.97, 0.05))
    report = detect_hallucination(
        "A is true. B is true. C is true.",
        SPANS,
        max_claims=2,
        context_mode="all",
        verifier=verifier,
    )
    summary = report.summary
    assert (summary["claims_total"], summary["claims_scored"]) == (3, 2)
    assert summary["truncated"] is True
    assert summary["unscored"] == [{"idx": 2, "claim": "C is true.", "cites": []}]
    assert statuses(report) == ["passed", "passed"]
    assert report.flagged


@pytest.mark.merge
def test_a_claim_beyond_the_limit_is_not_sent() -> None:
    answer = "A is true. B is true. C is true."
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        report = check(answer, max_claims=2, context_mode="all")
    assert [asked.claims for asked in wire.asked] == [["A is true.", "B is true."]] * 2
    assert (report.truncated, report.flagged) == (True, True)


@pytest.mark.merge
def test_an_address_that_is_passed_wins_over_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    believes = with_evidence(0.97, 0.05)
    with endpoint(believes) as (other, _), endpoint(believes) as (wire, check):
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        assert not check("The sky is blue [S0].").flagged
    assert (len(wire.asked), len(other.asked)) == (2, 0)


@pytest.mark.merge
def test_no_key_stands_in_a_report_with_all_its_prompts() -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (_, check):
        report = check("The sky is blue [S0].", include_prompts=True, api_key="sk-very-secret")
    assert "The sky is blue." in str(report.to_dict())
    assert "very-secret" not in f"{report.to_dict()}{report!r}"


def test_markers_are_no_part_of_the_claim_that_is_reported() -> None:
    verifier = ScriptedVerifier(with_evidence(0.97, 0.05))
    report = detect_hallucination("The service supports Gemini [S404].", SPANS, verifier=verifier)
    assert report.to_dict()["details"][0]["claim"] == "The service supports Gemini."


@pytest.mark.parametrize("spans", [[], None])
def test_no_spans_flag_an_answer_and_a_trace(spans: Any) -> None:  # noqa: ANN401
    step = {"idx": 0, "claim": "The sky is blue.", "cites": ["S0"]}
    for report in (detect_hallucination("A [S0].", spans), audit_trace_budget([step], spans)):
        found = report.to_dict()
        assert found["flagged"] is found["under_budget"] is True
        assert found["error_type"] == "no_spans"
        assert found["details"] == []


@pytest.mark.parametrize("span", [{}, {"sid": "S0", "text": " "}])
def test_a_span_without_text_is_malformed(span: dict[str, str]) -> None:
    report = detect_hallucination("A [S0].", [span])
    assert (report.flagged, report.error_type) == (True, "malformed_spans")


def test_duplicate_span_ids_are_an_error() -> None:
    found = detect_hallucination("A [S0].", [SPANS[0], SPANS[0]]).to_dict()
    assert "duplicate span ids" in found["error"]
    assert (found["flagged"], found["details"]) == (True, [])


@pytest.mark.merge
@pytest.mark.parametrize(
    "how",
    [
        {"context_mode": "everything"},
        {"top_logprobs": 0},
        {"top_logprobs": 21},
        {"default_target": 1.0},
        {"default_target": 0},
        {"max_claims": 0},
        {"max_concurrency": 65},
        {"claim_split": "words"},
        {"units": "bytes"},
        {"timeout_s": 0},
        {"temperature": -1},
        {"min_log_odds_gain": -0.1},
        {"citation_regex": r"\[(\w+)\]"},
        {"citation_regex": r"(?<!x)\[(?P<id>\w+)\]"},
        {"placeholder": ""},
        {"base_url": "http://example.com/v1"},
        {"require_citations": "perhaps"},
    ],
)
def test_an_impossible_argument_is_told_in_the_report_without_a_call(how: dict[str, Any]) -> None:
    with endpoint(with_evidence(0.97, 0.05)) as (wire, check):
        found = check("The sky is blue [S0].", **how).to_dict()
    assert (found["flagged"], found["details"]) == (True, [])
    assert found["error_type"] == "invalid_argument"
    assert next(iter(how)) in found["error"]
    assert found["summary"]["backend"] == "openai"
    assert wire.asked == []


@pytest.mark.parametrize(
    ("alias", "mode"),
    [("cite", "cited"), ("citations", "cited"), ("cites", "cited"), ("full", "all")],
)
def test_context_modes_have_their_aliases(alias: str, mode: str) -> None:
    verifier = ScriptedVerifier(with_evidence(0.97, 0.05))
    report = detect_hallucination("A [S0].", SPANS, context_mode=alias, verifier=verifier)
    assert report.summary["context_mode"] == mode


def test_the_documented_example_needs_no_key() -> None:
    spans = [{"sid": "S0", "text": "Auth reads JWT_ISSUER and validates the issuer against it."}]
    report = detect_hallucination(
        answer="Auth validates issuer via JWT_ISSUER. [S0]",
        spans=spans,
        require_citations=True,
        context_mode="cited",
        default_target=0.95,
    )
    (detail,) = report.to_dict()["details"]
    assert report.summary["backend"] == "local"
    assert detail["claim"] == "Auth validates issuer via JWT_ISSUER."
    assert detail["cites"] == ["S0"]
    assert not report.flagged
