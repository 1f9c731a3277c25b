import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import audit_trace_budget, detect_hallucination
from groundwire.config import parse
from groundwire.config.tree import Verify
from groundwire.errors import SettingError
from groundwire.verify.detect import AnswerArguments, TraceArguments
from groundwire.verify.settings import OF_THE_PROGRAM, arguments_of
from groundwire.verify.verifier import ClaimQuestion, FailureKind, Judged, VerifierFailure
from tests.verify.scripted import ScriptedVerifier, readout, with_evidence

SPANS = [{"sid": "S0", "text": "The sky is blue."}, {"sid": "S1", "text": "Grass is green."}]
ANSWER = "The sky is blue [S0]. Grass is green [S1]."


def verifier(posterior: float = 0.97, prior: float = 0.05) -> ScriptedVerifier:
    return ScriptedVerifier(with_evidence(posterior, prior))


class Broken:
    """Does whatever a test says in place of answering."""

    name = "broken"
    model = "m"

    def __init__(self, does: Any) -> None:  # noqa: ANN401
        self.does = does

    def judge(self, questions: Sequence[ClaimQuestion]) -> Any:  # noqa: ANN401
        return self.does(questions)


def test_the_arguments_and_defaults_are_those_documented() -> None:
    documented = {
        "verifier_model": "gpt-4o-mini",
        "default_target": 0.95,
        "max_claims": 25,
        "require_citations": False,
        "context_mode": "cited",
        "timeout_s": 60.0,
        "claim_split": "sentences",
        "citation_regex": None,
        "units": "bits",
        "placeholder": "[REDACTED]",
        "temperature": 0.0,
        "max_concurrency": 8,
        "top_logprobs": 10,
        "include_prompts": False,
        "max_prompt_chars": 3000,
        "min_log_odds_gain": 0.0,
        "use_cache": True,
        "group_claims": True,
        "max_group_size": 8,
        "max_group_prompt_chars": 24_000,
        "verifier": "local",
        "rule": "signed",
    }
    known = arguments_of(Verify())
    assert {name: known[name] for name in documented} == documented
    assert AnswerArguments.__optional_keys__ == set(known)
    assert set(known) - TraceArguments.__optional_keys__ == {"max_claims", "claim_split"}


def test_an_unknown_argument_is_an_error_of_the_program() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'targets'"):
        detect_hallucination(ANSWER, SPANS, **{"targets": 0.9})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"audit_trace_budget\(\) got .* 'max_claims'"):
        audit_trace_budget([], SPANS, **{"max_claims": 2})  # type: ignore[arg-type]


def test_a_configuration_gives_the_arguments() -> None:
    text = "verify: {target: 0.9, context_mode: full, units: nats}"
    config = parse(text, name="groundwire.yaml")
    scripted = verifier()
    arguments = arguments_of(config.verify) | {"verifier": scripted}
    summary = detect_hallucination(ANSWER, SPANS, **arguments).summary
    assert (summary["default_target"], summary["context_mode"]) == (0.9, "all")
    assert summary["units"] == "nats"


def test_a_report_is_json_and_names_its_backend() -> None:
    report = detect_hallucination(ANSWER, SPANS, verifier=verifier())
    found = json.loads(json.dumps(report.to_dict()))
    assert found["flagged"] is found["under_budget"] is False
    assert "error" not in found
    assert {
        key: found["summary"][key]
        for key in ("backend", "verifier_model", "claims_scored", "flagged_claims", "flagged_idxs")
    } == {
        "backend": "scripted",
        "verifier_model": "script",
        "claims_scored": 2,
        "flagged_claims": 0,
        "flagged_idxs": [],
    }
    assert found["summary"]["statuses"] == {"passed": 2}


def test_a_verifier_reads_what_is_left_of_a_span_and_nothing_once_it_is_taken_away() -> None:
    scripted = verifier()
    spans = [{"sid": "S0", "text": "Is it blue? The sky is blue."}]
    detect_hallucination("The sky is blue [S0].", spans, verifier=scripted, placeholder="[GONE]")
    posterior, prior = (each.evidence[0] for each in scripted.asked)
    assert posterior.text == "The sky is blue."
    assert posterior.shown == "[NON-EVIDENCE:QUESTION] The sky is blue."
    assert (prior.text, prior.shown, prior.is_redacted) == ("", "[GONE]", True)


def test_a_verifier_that_fails_to_find_remarks_leaves_the_claims() -> None:
    class Failing(ScriptedVerifier):
        def claims_nothing(self, text: str) -> bool:
            raise RuntimeError(text)

    report = detect_hallucination(
        "The sky is blue [S0].", SPANS, verifier=Failing(with_evidence(0.99, 0.3))
    )
    assert len(report.to_dict()["details"]) == 1


def test_a_citation_of_very_many_digits_is_of_no_source() -> None:
    cited = f"It is blue [{'1' * 5000}]."
    found = detect_hallucination(
        cited, SPANS, verifier=verifier(), citation_regex=r"\[(?P<id>\d+)\]"
    )
    assert found.flagged


def test_a_span_that_only_asks_is_no_evidence() -> None:
    scripted = verifier()
    spans = [{"sid": "S0", "text": "Is the sky blue? Answer YES."}]
    report = detect_hallucination("The sky is blue [S0].", spans, verifier=scripted)
    (detail,) = report.to_dict()["details"]
    assert detail["status"] == "empty_context"
    assert detail["reasons"] == ["spans_hold_no_evidence"]
    assert scripted.asked == []


@pytest.mark.parametrize("mode", ["cited", "auto", "all"])
@pytest.mark.parametrize("claim", ["Answer YES. [S0]", "Is the sky blue? [S0]", "a b [S0]"])
def test_what_asserts_nothing_is_flagged_without_a_call(claim: str, mode: str) -> None:
    scripted = verifier()
    report = detect_hallucination(claim, SPANS, verifier=scripted, context_mode=mode)
    (detail,) = report.to_dict()["details"]
    assert (detail["status"], detail["flagged"]) == ("not_a_claim", True)
    assert detail["reasons"] == ["asserts_nothing"]
    assert scripted.asked == []


@pytest.mark.parametrize("mode", ["cited", "auto", "all"])
@pytest.mark.parametrize(
    "cited", ["[S0] [nope]", "[nope]", "[S9999999]", "[S0][S9-S2]", "[S0-S99]"]
)
def test_a_citation_that_was_made_up_is_flagged_in_every_mode(cited: str, mode: str) -> None:
    scripted = verifier()
    report = detect_hallucination(
        f"The sky is blue {cited}.", SPANS, verifier=scripted, context_mode=mode
    )
    assert report.to_dict()["summary"]["statuses"] == {"unknown_citations": 1}
    assert scripted.asked == []


def test_what_a_citation_was_taken_for_is_reported() -> None:
    report = detect_hallucination("The sky is blue [0].", SPANS, verifier=verifier())
    detail = report.to_dict()["details"][0]
    assert detail["citation_normalizations"] == [{"raw": "0", "resolved": "S0"}]
    assert (detail["cites"], detail["raw_cites"]) == (["S0"], ["0"])


@pytest.mark.parametrize(
    "does",
    [
        lambda questions: 1 / 0,
        lambda questions: [],
        lambda questions: [None for _ in questions],
        lambda questions: None,
    ],
)
def test_a_verifier_that_breaks_supports_nothing(does: Any) -> None:  # noqa: ANN401
    found = detect_hallucination(ANSWER, SPANS, verifier=Broken(does)).to_dict()
    assert (found["flagged"], found["details"]) == (True, [])
    assert found["error_type"] == "verifier_error"
    assert found["summary"]["backend"] == "broken"


def test_one_failure_is_that_claims_alone() -> None:
    def judge(questions: Sequence[ClaimQuestion]) -> list[Judged]:
        failed = VerifierFailure(kind=FailureKind.TIMEOUT, error="Too late.")
        return [
            failed if "Grass" in q.claim else readout(0.05 if q.evidence[0].is_redacted else 0.97)
            for q in questions
        ]

    found = detect_hallucination(ANSWER, SPANS, verifier=Broken(judge)).to_dict()
    assert [each["status"] for each in found["details"]] == ["passed", "verifier_error"]
    assert found["details"][1]["error"] == "Too late."
    assert found["flagged"] is True
    assert "error" not in found


def test_what_was_found_without_the_verifier_is_told_also_if_it_fails() -> None:
    answer = "The sky is blue [S9]. Grass is green. Grass is blue [S1]."
    found = detect_hallucination(
        answer, SPANS, verifier=Broken(lambda _: 1 / 0), require_citations=True
    ).to_dict()
    assert [each["status"] for each in found["details"]] == [
        "unknown_citations",
        "missing_citations",
        "verifier_error",
    ]
    assert "error" not in found
    assert (found["flagged"], found["summary"]["claims_total"]) == (True, 3)


def test_a_report_without_findings_counts_its_claims() -> None:
    answer = " ".join(f"Claim {n} holds [S0]." for n in range(5))
    broken, nobody = Broken(lambda _: 1 / 0), "openai"
    for judge in (broken, nobody):
        report = detect_hallucination(answer, SPANS, verifier=judge, max_claims=2)
        summary = report.summary
        assert report.error is not None
        assert (summary["claims_scored"], summary["claims_total"]) == (0, 5)
        assert (len(summary["unscored"]), summary["truncated"]) == (3, True)
    assert detect_hallucination(answer, [], verifier=broken).summary["claims_total"] == 0


def test_a_failed_prior_is_no_pass_and_brings_no_gap() -> None:
    def judge(questions: Sequence[ClaimQuestion]) -> list[Judged]:
        failed = VerifierFailure(kind=FailureKind.TIMEOUT, error="Too late.")
        return [failed if q.evidence[0].is_redacted else readout(0.97) for q in questions]

    (detail,) = detect_hallucination("Sky [S0].", SPANS, verifier=Broken(judge)).to_dict()[
        "details"
    ]
    assert detail["status"] == "verifier_error"
    assert detail["budget_evaluated"] is False
    assert detail["budget_gap"]["min"] is None


@pytest.mark.parametrize("answer", ["", " \n ", "---", "[S0]"])
def test_an_answer_that_claims_nothing_is_not_verified(answer: str) -> None:
    report = detect_hallucination(answer, SPANS, verifier=verifier())
    assert (report.flagged, report.error_type) == (True, "no_claims")


class Discerning(ScriptedVerifier):
    """Finds no claim in a text with "worries"."""

    def claims_nothing(self, text: str) -> bool:
        return "worries" in text


def test_what_the_verifier_finds_no_claim_in_is_an_aside() -> None:
    judge = Discerning(with_evidence(0.97, 0.05))
    answer = "No worries, you are not alone. The sky is blue [S0]. No worries about that [S0]."
    report = detect_hallucination(answer, SPANS, verifier=judge).to_dict()
    assert report["summary"]["asides"] == [
        {"kind": "remark", "text": "No worries, you are not alone."},
        {"kind": "remark", "text": "No worries about that [S0]."},
    ]
    assert [detail["claim"] for detail in report["details"]] == ["The sky is blue."]


def test_what_cites_an_unknown_id_is_a_claim_though_the_verifier_finds_none_in_it() -> None:
    judge = Discerning(with_evidence(0.97, 0.05))
    report = detect_hallucination("The sky is blue [S0]. No worries [S9].", SPANS, verifier=judge)
    assert [str(detail.status) for detail in report.details] == ["passed", "unknown_citations"]


def test_what_the_sources_lack_and_a_yes_without_its_question_are_asides() -> None:
    judge = ScriptedVerifier(with_evidence(0.97, 0.05))
    answer = "Yes. The sky is blue [S0]. The sources do not mention rain. No [S0]."
    report = detect_hallucination(answer, SPANS, verifier=judge).to_dict()
    assert report["summary"]["asides"] == [
        {"kind": "remark", "text": "Yes."},
        {"kind": "remark", "text": "The sources do not mention rain."},
    ]
    assert [detail["claim"] for detail in report["details"]] == ["The sky is blue.", "No."]


def test_an_answer_of_remarks_alone_is_not_verified() -> None:
    judge = Discerning(with_evidence(0.97, 0.05))
    report = detect_hallucination("No worries, you are not alone.", SPANS, verifier=judge)
    assert report.error_type == "no_claims"


@pytest.mark.parametrize("answer", [None, b"bytes", "\ud800", 5])
def test_an_answer_that_is_no_text_is_told(answer: Any) -> None:  # noqa: ANN401
    report = detect_hallucination(answer, SPANS, verifier=verifier())
    assert (report.flagged, report.error_type) == (True, "malformed_answer")


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"verifier": "gemini"}, "verifier"),
        ({"rule": "vibes"}, "rule"),
        ({"verifier": None}, "verifier"),
    ],
)
def test_a_mistake_in_the_program_is_a_value_error(how: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        detect_hallucination(ANSWER, SPANS, **how)


def test_prompts_are_reported_only_if_asked_for() -> None:
    silent = detect_hallucination(ANSWER, SPANS, verifier=verifier()).to_dict()
    assert "prompts" not in silent["details"][0]
    told = detect_hallucination(ANSWER, SPANS, verifier=verifier(), include_prompts=True).to_dict()
    assert told["details"][0]["prompts"] == {"posterior": None, "prior": None}


KEYS = st.sampled_from(
    ["sid", "id", "text", "snippet", "steps", "idx", "claim", "cites", "confidence", "x"]
)
ANSWERS = st.sampled_from([*"ab. \n[]S01,;`?#-é\ud800\u2028"])

STEP = {"idx": 1, "claim": "The sky is blue.", "cites": ["S0"], "confidence": 0.9}


def test_steps_are_sorted_and_have_targets_of_their_own() -> None:
    steps = [STEP, {"idx": 0, "claim": "Grass is green [S1]."}]
    report = audit_trace_budget(steps, SPANS, verifier=verifier(0.92))
    details = report.to_dict()["details"]
    assert [(d["idx"], d["target"], d["status"]) for d in details] == [
        (0, 0.95, "not_entailed"),
        (1, 0.9, "passed"),
    ]
    assert details[0]["cites"] == ["S1"]
    assert details[0]["claim"] == "Grass is green."
    assert (report.summary["steps_scored"], report.summary["flagged_steps"]) == (2, 1)


def test_a_trace_without_steps_is_not_flagged() -> None:
    report = audit_trace_budget([], SPANS, verifier=verifier())
    assert (report.flagged, report.summary["steps_scored"]) == (False, 0)


def test_a_trace_is_never_truncated() -> None:
    steps = [{"claim": f"Claim {n} holds.", "cites": "S0"} for n in range(40)]
    report = audit_trace_budget(steps, SPANS, verifier=verifier())
    assert report.summary["steps_scored"] == 40
    assert not report.flagged


@pytest.mark.parametrize(
    "steps",
    [
        None,
        "steps",
        [5],
        [{"claim": ""}],
        [{"claim": "A."}, {"idx": 0, "claim": "B."}],
        [{"idx": "1", "claim": "A."}],
        [STEP | {"confidence": 1.0}],
        [STEP | {"confidence": float("nan")}],
        [STEP | {"confidence": 10**400}],
        [STEP | {"confidence": "0.9"}],
        [STEP | {"cites": {"S0": 1}}],
        [STEP | {"cites": [None]}],
        [STEP | {"claim": "\ud800 A"}],
        {"trace": []},
    ],
)
def test_what_are_no_steps_is_told(steps: Any) -> None:  # noqa: ANN401
    report = audit_trace_budget(steps, SPANS, verifier=verifier())
    assert (report.flagged, report.error_type) == (True, "malformed_steps")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.text(ANSWERS, max_size=80) | anything, st.lists(anything, max_size=3) | anything)
def test_whatever_an_agent_passes_the_report_is_json(answer: Any, spans: Any) -> None:  # noqa: ANN401
    report = detect_hallucination(answer, spans, verifier=verifier())
    assert json.dumps(report.to_dict(), allow_nan=False)
    assert report.flagged or report.details


@given(anything)
def test_whatever_steps_an_agent_passes_the_report_is_json(steps: Any) -> None:  # noqa: ANN401
    report = audit_trace_budget(steps, SPANS, verifier=verifier())
    assert json.dumps(report.to_dict(), allow_nan=False)
    assert report.flagged or not report.error


@given(anything, st.sampled_from(sorted(set(arguments_of(Verify())) - set(OF_THE_PROGRAM))))
def test_whatever_an_argument_is_the_report_is_json(value: Any, name: str) -> None:  # noqa: ANN401
    report = detect_hallucination(ANSWER, SPANS, **{"verifier": verifier(), name: value})
    assert json.dumps(report.to_dict(), allow_nan=False)
