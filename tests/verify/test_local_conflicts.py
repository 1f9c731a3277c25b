"""The rules beside the model: evidence does not support a claim that it plainly speaks against."""

from dataclasses import replace

import pytest

from groundwire import Detector, detect_hallucination
from groundwire.detection.rules import ConflictKind
from groundwire.detection.values import Label
from groundwire.engine.reader import Reader
from groundwire.verify.citations import CitationFinding, CitationStatus, agreeing
from groundwire.verify.local import DENIED, REPEATED, LocalVerifier, Looked
from groundwire.verify.measured import ClaimMap
from groundwire.verify.rule import ClaimStatus
from groundwire.verify.run import run
from groundwire.verify.subject import AnswerSubject
from groundwire.verify.verifier import ClaimQuestion, EvidenceText, Readout, Verdict

TARGET = 0.95

DENIALS = [
    ("The drug is approved for children.", "The drug is not approved for children."),
    ("Users can delete invoices.", "Users cannot delete invoices."),
    ("The patch fixes the crash.", "The patch doesn't fix the crash, but it fixes the leak."),
    ("Tokens last for 15 minutes.", "It is false that tokens last for 15 minutes."),
    ("The fee rose from 5 to 10 euros.", "The fee fell from 10 to 5 euros."),
    ("The limit is 10 GB.", "The limit is 10 MB."),
    ("All users have access.", "Some users have access."),
]
AGREEMENTS = [
    ("The museum is closed on Mondays.", "The museum is not open on Mondays."),
    ("The patch fixes the leak.", "The patch doesn't fix the crash, but it fixes the leak."),
    ("Users can delete invoices.", "Users can delete invoices. Guests cannot delete invoices."),
    ("There is no recount.", '"recount": false'),
    ("Seven of the ten stayed.", "Three of the guests left on Monday."),
]


@pytest.fixture(scope="module")
def verifier(detector: Detector) -> LocalVerifier:
    return LocalVerifier.of(detector)


def ruled(verifier: LocalVerifier, claim: str, *texts: str) -> list[str]:
    looked = verifier.look(claim, texts)
    assert isinstance(looked, Looked)
    return [claim[each.start : each.end] for each in looked.conflicts]


def said(verifier: LocalVerifier, claim: str, *texts: str) -> Readout:
    evidence = tuple(EvidenceText(sid=f"S{i}", text=t, shown=t) for i, t in enumerate(texts))
    (answer,) = verifier.judge([ClaimQuestion(claim=claim, evidence=evidence)])
    assert isinstance(answer, Readout)
    return answer


@pytest.mark.parametrize(("claim", "text"), DENIALS)
def test_what_the_evidence_says_the_opposite_of_is_answered_with_no(
    verifier: LocalVerifier, claim: str, text: str
) -> None:
    answer = said(verifier, claim, text)
    assert answer.verdict is Verdict.NO
    assert answer.yes.high <= DENIED < TARGET
    assert answer.yes.low + answer.no.low + answer.unsure.low == pytest.approx(1)
    assert any(doubt.label is Label.CONTRADICTED for doubt in answer.doubts)
    assert all(claim[doubt.start : doubt.end] == doubt.text for doubt in answer.doubts)


@pytest.mark.parametrize(("claim", "text"), AGREEMENTS)
def test_in_doubt_no_rule_speaks_against_a_claim(
    verifier: LocalVerifier, claim: str, text: str
) -> None:
    assert ruled(verifier, claim, text) == []


@pytest.mark.parametrize(
    ("claim", "text", "words"),
    [
        ("The drug is not approved.", "The drug is approved.", "not approved"),
        ("The fee rose by 5 euros.", "The fee fell by 5 euros.", "rose"),
        ("It holds 10 GB.", "It holds 10 MB.", "10 GB"),
        ("Anna Berg beat Bob Dahl.", "Bob Dahl beat Anna Berg.", "Anna Berg beat Bob Dahl"),
    ],
)
def test_what_differs_is_named_and_marked(
    verifier: LocalVerifier, claim: str, text: str, words: str
) -> None:
    assert words in ruled(verifier, claim, text)
    (doubt,) = (each for each in said(verifier, claim, text).doubts if words in each.text)
    assert doubt.label is Label.CONTRADICTED


@pytest.mark.parametrize("claim", ["Refunds take 14 days.", "42 x 7"])
def test_a_line_word_for_word_is_answered_with_yes(
    detector: Detector, verifier: LocalVerifier, claim: str
) -> None:
    text = f"The guide has a line on it.\n\n{claim}\n\nNothing else is said of the matter."
    assert said(verifier, claim, text).yes.low >= REPEATED > TARGET
    # Whatever the model says of it.
    assert isinstance(detector.backend, Reader)
    unsure = ClaimMap(weights=(0, 0, 0), offset=0, bare_offset=0, provenance={})
    undecided = LocalVerifier(detector.backend, unsure)
    assert said(undecided, claim, text).yes.low == REPEATED
    assert said(undecided, claim.replace("i", "y").replace("4", "5"), text).yes.high <= 0.5


def test_words_of_a_line_alone_are_left_to_the_model(verifier: LocalVerifier) -> None:
    looked = verifier.look("The drug is safe.", ["Some believe that the drug is safe."])
    assert isinstance(looked, Looked)
    assert verifier.probability(looked) == verifier.claim_map.probability(looked.measured)


def test_what_only_stands_nowhere_is_left_to_the_model(verifier: LocalVerifier) -> None:
    looked = verifier.look("The shop sells 40 cups.", ["The shop sells 50 cups."])
    assert isinstance(looked, Looked)
    assert [each.kind for each in looked.scores.conflicts] == [ConflictKind.NUMBER]
    assert looked.conflicts == ()
    assert verifier.probability(looked) == verifier.claim_map.probability(looked.measured)


@pytest.mark.parametrize(("claim", "text"), DENIALS[:2])
def test_a_detector_without_rules_does_not_take_them_from_its_verifier(
    detector: Detector, verifier: LocalVerifier, claim: str, text: str
) -> None:
    assert isinstance(detector.backend, Reader)
    without = LocalVerifier(replace(detector.backend, finds_conflicts=False), verifier.claim_map)
    assert ruled(without, claim, text) == ruled(verifier, claim, text) != []


def test_a_statement_that_is_denied_elsewhere_in_the_same_span_does_not_support(
    verifier: LocalVerifier,
) -> None:
    claim = "Tokens last for 15 minutes."
    for after in (
        "Tokens do not last for 15 minutes.",
        "Do not write that tokens last for 15 minutes.",
    ):
        assert said(verifier, claim, f"Tokens last for 60 minutes. {after}").yes.high < TARGET


def test_without_evidence_nothing_is_denied(verifier: LocalVerifier) -> None:
    assert ruled(verifier, "The meeting does not start at 10:30.") == []
    assert said(verifier, "The meeting does not start at 10:30.").no.high == 0


def test_evidence_without_a_word_is_empty_and_no_foreign_script() -> None:
    for text in ("...", "— * —", "🎉🎉"):
        report = detect_hallucination("It is tall. [S0]", [{"sid": "S0", "text": text}])
        assert [detail.status for detail in report.details] == [ClaimStatus.EMPTY_CONTEXT]


def test_what_cannot_be_read_says_who_may_choose_another_verifier() -> None:
    report = detect_hallucination("它很高。 [S0]", [{"sid": "S0", "text": "它很高。"}])
    assert report.flagged
    assert report.error is not None
    assert "Whoever runs this can choose a verifier" in report.error


def test_no_row_is_refuted_and_called_supported() -> None:
    """With all spans a claim may fail that what it cites supports; a target may be higher."""
    spans = [{"sid": "S0", "text": "Tokens last for 60 minutes."}]
    subject = AnswerSubject("Tokens last for 60 minutes. [S0]")
    for target in (0.5, 0.95, 0.999999):
        report = run(subject, spans, {"default_target": target}, "local", with_citations=True)
        assert report.citations is not None
        (detail,), (finding,) = report.details, report.citations.findings
        has_passed = detail.status is ClaimStatus.PASSED
        assert has_passed == (finding.status is CitationStatus.SUPPORTED)


@pytest.mark.parametrize("status", list(CitationStatus))
def test_what_was_refuted_rests_on_nothing_that_it_cites(status: CitationStatus) -> None:
    finding = CitationFinding(idx=0, claim="It is tall.", status=status, supported_by=("S0",))
    refuted = agreeing(finding, ClaimStatus.CONTRADICTED)
    assert refuted.status not in (CitationStatus.SUPPORTED, CitationStatus.DECORATIVE)
    assert agreeing(finding, ClaimStatus.PASSED) == finding
