"""What is wrong with citations: the rules over probabilities, and the embedded model on a page."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Detector
from groundwire.detection.example import Source
from groundwire.verify.citations import (
    CitationFinding,
    CitationStatus,
    CitationThresholds,
    ClaimProbabilities,
    classify,
)
from groundwire.verify.claims import VerifiableClaim, read_claims
from groundwire.verify.context import Contexts
from groundwire.verify.forensics import check_citations
from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.local import LocalVerifier
from groundwire.verify.verifier import (
    ClaimQuestion,
    FailureKind,
    Judged,
    Readout,
    Verifier,
    VerifierFailure,
)

LEVELS = CitationThresholds(
    supports=0.9, adds_bits=0.01, corroborates=0.9, attributes=1.0, completes=0.5
)


def claim(*cites: str, unknown: Sequence[str] = ()) -> VerifiableClaim:
    return VerifiableClaim(
        idx=0, text="It is tall.", raw_text="It is tall.", cites=cites, unknown=tuple(unknown)
    )


def found(
    readings: ClaimProbabilities, *cites: str, unknown: Sequence[str] = ()
) -> CitationFinding:
    return classify(claim(*cites, unknown=unknown), readings, LEVELS)


def test_what_a_claim_cites_supports_it() -> None:
    finding = found(ClaimProbabilities(cited=0.95, without={"S0": 0.05}), "S0")
    assert (finding.status, finding.supported_by) == (CitationStatus.SUPPORTED, ("S0",))
    assert finding.bits["S0"] == pytest.approx(3.823, abs=1e-3)  # KL(.95 ‖ .05)


def test_a_span_that_adds_no_bits_is_decorative() -> None:
    readings = ClaimProbabilities(
        cited=0.95, without={"S0": 0.2, "S1": 0.95}, alone={"S0": 0.95, "S1": 0.2}
    )
    finding = found(readings, "S0", "S1")
    assert finding.status is CitationStatus.DECORATIVE
    assert (finding.decorative, finding.supported_by) == (("S1",), ("S0",))
    assert finding.bits["S1"] == 0


def test_two_spans_that_both_say_it_are_no_decoration() -> None:
    readings = ClaimProbabilities(
        cited=0.95, without={"S0": 0.95, "S1": 0.95}, alone={"S0": 0.95, "S1": 0.95}
    )
    assert found(readings, "S0", "S1").status is CitationStatus.SUPPORTED


def test_a_span_that_speaks_against_it_has_negative_bits() -> None:
    readings = ClaimProbabilities(
        cited=0.92, without={"S0": 0.2, "S1": 0.97}, alone={"S0": 0.97, "S1": 0.2}
    )
    finding = found(readings, "S0", "S1")
    assert finding.bits["S1"] < 0
    assert finding.decorative == ("S1",)


def test_another_span_supports_it_alone() -> None:
    readings = ClaimProbabilities(
        cited=0.2, alone={"S0": 0.2, "S1": 0.95, "S2": 0.3}, beside={"S1": 0.95, "S2": 0.3}
    )
    finding = found(readings, "S0")
    assert (finding.status, finding.supported_by) == (CitationStatus.MISATTRIBUTED, ("S1",))


def test_two_spans_each_support_a_part() -> None:
    readings = ClaimProbabilities(cited=0.4, alone={"S0": 0.4, "S1": 0.5}, beside={"S1": 0.95})
    finding = found(readings, "S0")
    assert (finding.status, finding.supported_by) == (CitationStatus.PARTIAL, ("S0", "S1"))


def test_what_nothing_supports_is_contradicted_or_not() -> None:
    alone = {"S0": 0.2, "S1": 0.2}
    denied = ClaimProbabilities(cited=0.2, says_no=True, alone=alone, beside={"S1": 0.2})
    silent = ClaimProbabilities(cited=0.2, alone=alone, beside={"S1": 0.2})
    assert found(denied, "S0").status is CitationStatus.CONTRADICTED
    assert found(silent, "S0").status is CitationStatus.UNSUPPORTED


def test_an_id_that_names_nothing_comes_first_and_the_right_span_is_named() -> None:
    readings = ClaimProbabilities(cited=0.99, alone={"S0": 0.99, "S1": 0.95})
    finding = found(readings, "S0", unknown=["S7"])
    assert (finding.status, finding.fabricated) == (CitationStatus.FABRICATED_ID, ("S7",))
    assert finding.supported_by == ("S1",)


def test_a_claim_without_citation_is_uncited_whoever_supports_it() -> None:
    finding = found(ClaimProbabilities(alone={"S0": 0.99, "S1": 0.1}))
    assert (finding.status, finding.supported_by) == (CitationStatus.UNCITED, ("S0",))
    assert found(ClaimProbabilities(alone={"S0": 0.5})).supported_by == ()


p = st.floats(0, 1)


@given(p, p, p, p, st.booleans())
def test_every_reading_has_a_finding(
    cited: float, left: float, other: float, both: float, says_no: bool
) -> None:
    readings = ClaimProbabilities(
        cited=cited,
        says_no=says_no,
        without={"S0": left},
        alone={"S0": cited, "S1": other},
        beside={"S1": both},
    )
    finding = found(readings, "S0")
    is_supported = finding.status in (CitationStatus.SUPPORTED, CitationStatus.DECORATIVE)
    assert is_supported == (cited >= LEVELS.supports)
    assert finding.to_dict()["status"] in list(CitationStatus)


class Scripted:
    """Supports a claim if all words of it stand in the evidence; counts what it is asked."""

    name = model = "scripted"

    def __init__(self) -> None:
        self.asked = 0

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        self.asked += len(questions)
        return [self._answer(question) for question in questions]

    def _answer(self, question: ClaimQuestion) -> Judged:
        if "fails" in question.claim:
            return VerifierFailure(kind=FailureKind.TIMEOUT, error="too slow")
        words = set(question.claim.strip(".").lower().split())
        said = {word for each in question.evidence for word in each.text.lower().split()}
        yes = 0.05 + 0.9 * len(words & said) / len(words)
        rest = ProbabilityInterval.exactly((1 - yes) / 2)
        return Readout(yes=ProbabilityInterval.exactly(yes), no=rest, unsure=rest, generated="YES")


def checked(
    answer: str,
    spans: Mapping[str, str],
    verifier: Verifier,
    thresholds: CitationThresholds = LEVELS,
) -> tuple[CitationFinding, ...]:
    given = [Source(id=sid, text=text) for sid, text in spans.items()]
    contexts = Contexts.of(given, mode="cited", placeholder="[REDACTED]")
    claims = read_claims(answer, span_ids=list(spans))
    return check_citations(claims, contexts.evidence, verifier, thresholds=thresholds)


def test_claims_that_hold_cost_no_search() -> None:
    spans = {"S0": "it is tall", "S1": "it is old", "S2": "it is red"}
    verifier = Scripted()
    (finding,) = checked("It is tall. [S0]", spans, verifier)
    assert (finding.status, verifier.asked) == (CitationStatus.SUPPORTED, 2)


def test_what_fails_is_unchecked() -> None:
    first, second = checked("It fails. [S0] It is tall. [S0]", {"S0": "it is tall"}, Scripted())
    assert (first.status, first.error) == (CitationStatus.UNCHECKED, "too slow")
    assert second.status is CitationStatus.SUPPORTED


SPANS = {
    "S0": "The Eiffel Tower was built from 1887 to 1889 for a world fair in Paris.",
    "S1": "The shop on the harbour sells bread. On Sundays it is closed.",
    "S2": "Hugo Berger has run the ferry between Alwick and Brenport since 1994.",
}
ANSWER = (
    "The Eiffel Tower was built from 1887 to 1889 [S0]. On Sundays the shop on the harbour is "
    "closed [S2]. Hugo Berger has run the ferry to Brenport since 1994 [S2, S1]. The shop sells "
    "bread [S9]. The Eiffel Tower was built in Paris. The ferry has run since 1971 [S2]."
)


def test_the_embedded_model_tells_citations_apart(detector: Detector) -> None:
    findings = checked(ANSWER, SPANS, LocalVerifier.of(detector), CitationThresholds())
    assert [str(finding.status) for finding in findings] == [
        "supported",
        "misattributed",
        "decorative",
        "fabricated_id",
        "uncited",
        "contradicted",
    ]
    assert findings[1].supported_by == ("S1",)
    assert findings[2].decorative == ("S1",)
    assert findings[3].supported_by == ("S1",)
    assert findings[4].supported_by == ("S0",)
    assert [doubt.text for doubt in findings[5].unsupported] == ["1971"]
