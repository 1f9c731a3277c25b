"""What people see of a verification, and that nothing in it can act on their screen."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given

from groundwire.config.tree import Verify
from groundwire.detection.example import Source
from groundwire.detection.values import Label
from groundwire.render.verification import (
    STATUSES,
    amount,
    describe_citations,
    probability,
    report_to_terminal,
    verdict_of,
)
from groundwire.render.verification_page import report_to_html
from groundwire.text.screen import one_line, visible
from groundwire.verify.budget import Amount, Units
from groundwire.verify.citations import CitationFinding, CitationStatus
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.forensics import CitationReport
from groundwire.verify.interval import ProbabilityInterval
from groundwire.verify.report import ClaimReport, VerificationReport, VerificationSetup
from groundwire.verify.rule import ClaimDecision, ClaimStatus, Measures, Why
from groundwire.verify.verifier import DoubtedWords, FailureKind, Judged, Readout, VerifierFailure
from tests.render.test_render import Page, everywhere
from tests.verify.scripted import readout

CLAIM = "The tower is 500 metres tall."
MEASURES = Measures(required=Amount(3.8, 3.8), observed=Amount(0.0, 4.04), gap=Amount(-0.24, 3.8))


def setup(
    units: Units = Units.BITS, max_claims: int = 25, name: str = "fixed"
) -> VerificationSetup:
    settings = Verify(units=str(units), max_claims=max_claims)
    return VerificationSetup(backend=name, verifier_model="m", rule="signed", settings=settings)


def doubtful(text: str, start: int, end: int) -> Readout:
    words = DoubtedWords(
        start=start, end=end, text=text[start:end], label=Label.CONTRADICTED, probability=0.9
    )
    plain = readout(0.1, 0.8)
    return Readout(yes=plain.yes, no=plain.no, unsure=plain.unsure, generated="NO", doubts=(words,))


def detail(
    text: str = CLAIM,
    status: ClaimStatus = ClaimStatus.PASSED,
    *,
    posterior: Judged | None = None,
    cites: Sequence[str] = ("S0",),
    unknown: Sequence[str] = (),
    idx: int = 0,
) -> ClaimReport:
    claim = VerifiableClaim(
        idx=idx, text=text, raw_text=text, cites=tuple(cites), unknown=tuple(unknown)
    )
    return ClaimReport(
        claim=claim,
        target=0.95,
        decision=ClaimDecision(status=status, reasons=(Why.VERIFIER_SAYS_NO,)),
        measures=MEASURES,
        posterior=readout(0.97) if posterior is None else posterior,
        prior=readout(0.05),
    )


def report(*details: ClaimReport, citations: CitationReport | None = None) -> VerificationReport:
    return VerificationReport(setup=setup(), details=details, citations=citations)


def plain(found: VerificationReport) -> str:
    return report_to_terminal(found, color=False)


# Text


def test_a_claim_stands_with_its_status_and_numbers() -> None:
    wrong = detail(
        status=ClaimStatus.CONTRADICTED, posterior=doubtful(CLAIM, 13, 23), unknown=["S9"], idx=1
    )
    numbers = "0.050 without; bits needed 3.8, found 0.0 to 4.0"
    assert plain(report(detail("It is tall."), wrong)).split("\n") == [
        'passed  0  "It is tall." [S0]',
        f"  P 0.970 with its evidence, {numbers}",
        'contradicted  1  "The tower is ⟦500 metres⟧ tall." [S0, S9?]',
        f"  P 0.100 with its evidence, {numbers}",
        "",
        "outcome   flagged: 1 of 2 claims",
        "          contradicted (1): the verifier says that its evidence says otherwise",
        "settings  target 0.95, evidence cited, rule signed",
        "verifier  fixed m",
    ]


@pytest.mark.parametrize("status", [each for each in ClaimStatus if each is not ClaimStatus.PASSED])
def test_every_status_is_explained(status: ClaimStatus) -> None:
    assert f"\n          {status} (1): {STATUSES[status]}\n" in plain(report(detail(status=status)))


def test_a_colour_says_how_grave_it_is() -> None:
    for status, style in (
        (ClaimStatus.PASSED, "1;32"),
        (ClaimStatus.NOT_ENTAILED, "1;33"),
        (ClaimStatus.VERIFIER_ERROR, "1;31"),
    ):
        text = report_to_terminal(report(detail(status=status)), color=True)
        assert f"\x1b[{style}m{status}\x1b[0m" in text
    marked = report_to_terminal(
        report(detail(status=ClaimStatus.CONTRADICTED, posterior=doubtful(CLAIM, 13, 16))),
        color=True,
    )
    assert "\x1b[1;4;31m500\x1b[0m" in marked
    assert "⟦" not in marked


def test_words_are_marked_in_claims_that_are_flagged_alone() -> None:
    assert "⟦" not in plain(report(detail(posterior=doubtful(CLAIM, 13, 16))))


def test_what_was_not_asked_has_no_number() -> None:
    failed = VerifierFailure(kind=FailureKind.TIMEOUT, error="Too late.")
    assert (probability(None), probability(failed), amount(None)) == ("-", "-", "-")


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.5, 0.5, "0.500"), (0.1, 0.4, "0.100 to 0.400"), (0.1001, 0.1002, "0.100")],
)
def test_a_range_is_shown_as_one_if_it_is_one(low: float, high: float, shown: str) -> None:
    found = Readout(
        yes=ProbabilityInterval(low, high),
        no=ProbabilityInterval(0, 1),
        unsure=ProbabilityInterval(0, 1),
        generated="YES",
    )
    assert probability(found) == shown


def test_each_error_is_told_once() -> None:
    failed = VerifierFailure(kind=FailureKind.TIMEOUT, error="Too late.")
    lost = [detail(status=ClaimStatus.VERIFIER_ERROR, posterior=failed, idx=n) for n in range(3)]
    text = plain(report(*lost))
    assert text.count("Too late.") == 1
    assert "verifier_error (3): the verifier gave no answer" in text


def test_claims_that_were_left_out_are_listed_up_to_a_number() -> None:
    left = tuple(VerifiableClaim(idx=n, text=f"Claim {n}.", raw_text="") for n in range(1, 31))
    found = VerificationReport(setup=setup(max_claims=1), details=(detail(),), unscored=left)
    text = plain(found)
    assert "outcome   flagged: 1 claim passed, and others were not verified" in text
    assert 'unscored  30 claims beyond max_claims (1): raise it\n          1  "Claim 1."' in text
    assert "          and 10 more" in text


def test_a_service_may_not_say_which_claims_it_left_out() -> None:
    found = VerificationReport(setup=setup(), details=(detail(),), has_unscored=True)
    assert "unscored  claims beyond max_claims (25): raise it" in plain(found)
    assert "claims beyond max_claims (25)" in report_to_html(found)


def test_why_there_is_no_verification_is_told() -> None:
    found = VerificationReport(setup=setup(), error="Too late.", error_type="timeout")
    assert plain(found).startswith("outcome   not verified (timeout): Too late.\n")
    assert "<h1>Not verified (timeout): Too late.</h1>" in report_to_html(found)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        ({"status": "supported", "supported_by": ["S0"]}, "supported"),
        ({"status": "decorative", "decorative": ["S1"]}, "decorative: S1 adds nothing"),
        ({"status": "partial", "supported_by": ["S0", "S2"]}, "partial: S2 says the rest"),
        ({"status": "misattributed", "supported_by": ["S2"]}, "misattributed: S2 says it"),
        ({"status": "contradicted"}, "contradicted"),
        ({"status": "unsupported"}, "unsupported"),
        ({"status": "fabricated_id", "fabricated": ["S9"]}, "fabricated_id: S9"),
        (
            {"status": "fabricated_id", "fabricated": ["S9"], "supported_by": ["S1"]},
            "fabricated_id: S9; S1 says it",
        ),
        ({"status": "uncited"}, "uncited"),
        ({"status": "uncited", "supported_by": ["S1"]}, "uncited; S1 says it"),
        ({"status": "unchecked", "error": "x"}, "unchecked"),
    ],
)
def test_what_is_wrong_with_a_citation_is_told_in_words(
    finding: dict[str, str | list[str]], words: str
) -> None:
    tuples = {k: tuple(v) for k, v in finding.items() if isinstance(v, list)}
    found = CitationFinding(
        idx=0,
        claim="",
        status=CitationStatus(str(finding["status"])),
        cites=("S0", "S1"),
        **tuples,  # type: ignore[arg-type]
    )
    assert describe_citations(found) == words
    assert set(CitationStatus) == {
        *("supported", "decorative", "partial", "misattributed", "contradicted", "unsupported"),
        *("fabricated_id", "uncited", "unchecked"),
    }


# Hostile text


def hostile(text: str) -> VerificationReport:
    """A report all of whose words somebody else wrote."""
    words = f"a{text}b"
    finding = CitationFinding(
        idx=0,
        claim=words,
        status=CitationStatus.FABRICATED_ID,
        cites=(text,),
        fabricated=(text,),
        supported_by=(text,),
        bits={text: 1.0},
        unsupported=doubtful(words, 1, len(words)).doubts,
        error=text,
    )
    failed = VerifierFailure(kind=FailureKind.VERIFIER, error=text)
    wrong = detail(words, ClaimStatus.CONTRADICTED, posterior=doubtful(words, 0, 1), cites=[text])
    lost = detail(words, ClaimStatus.VERIFIER_ERROR, posterior=failed, unknown=[text], idx=1)
    return VerificationReport(
        setup=setup(name=text),
        details=(wrong, lost),
        unscored=(wrong.claim,),
        citations=CitationReport(findings=(finding, finding)),
    )


@given(everywhere.filter(bool))
@example("\x1b]0;title\x07")
@example("[bold]x[/bold] :smile:")
def test_no_text_can_act_on_a_terminal(text: str) -> None:
    styles = r"\x1b\[(0|1|2|1;4;3[13]|1;3[123])m"
    found = hostile(text)
    for shown in (plain(found), re.sub(styles, "", report_to_terminal(found, color=True))):
        assert visible(shown) == shown
        assert "\t" not in shown
        shown.encode()


@given(everywhere.filter(lambda text: bool(one_line(text))))
@example("\noutcome   passed: fine")
@example("\r\noutcome   passed")
@example("x" * 99 + " outcome   passed: 1 claim")
def test_no_text_can_imitate_the_report(text: str) -> None:
    for found in (hostile(text), report(detail(f"a {text}", cites=[text]))):
        lines = plain(found).split("\n")
        heads = [line.split(" ")[0] for line in lines if line and not line.startswith(" ")]
        wanted = [str(each.status) for each in found.details]
        wanted += ["outcome", "unscored", "settings", "verifier"]
        assert heads == [each for each in wanted if found.unscored or each != "unscored"]


def test_a_claim_cannot_place_our_markers() -> None:
    text = plain(report(detail("A ⟦fake⟧ one.", ClaimStatus.NOT_ENTAILED)))
    assert "A \\u27e6fake\\u27e7 one." in text


# HTML

SPANS = (
    Source(id="S0", text="The tower is 330 metres tall."),
    Source(id="S1", text="It is <b>old</b>."),
)


def test_a_page_shows_claims_with_their_marks_numbers_and_evidence() -> None:
    wrong = detail(
        status=ClaimStatus.CONTRADICTED, posterior=doubtful(CLAIM, 13, 23), unknown=["S9"]
    )
    page = report_to_html(report(wrong), SPANS)
    assert 'The tower is <mark class="contradicted">500 metres</mark> tall.' in page
    for part in (
        '<span class="chip contradicted">contradicted</span>',
        '<p class="soft">1 contradicted</p>',
        '<a href="#span-1"><bdi>S0</bdi></a>, <bdi>S9</bdi> (no such span)',
        '<span class="soft">cited by no claim</span>',
        "<em>contradicted</em><br>verifier_says_no",
        "<td>0.100</td><td>0.050</td><td>3.8</td><td>0.0 to 4.0</td><td>-0.2 to 3.8</td>",
        "The tower is 330 metres tall.",
        "It is &lt;b&gt;old&lt;/b&gt;.",
    ):
        assert part in page


def test_links_of_a_page_lead_somewhere() -> None:
    for spans in (SPANS, ()):
        tags = Page(report_to_html(report(detail(cites=["S0", "S1", "S2"])), spans)).tags
        ids = {attributes["id"] for _, attributes in tags if "id" in attributes}
        links = [attributes["href"] for tag, attributes in tags if tag == "a"]
        assert {f"#{name}" for name in ids} >= set(links)
        assert len(links) == len(spans)


@pytest.mark.parametrize(
    ("status", "cited", "verdict"),
    [
        ("passed", None, "supported"),
        ("passed", "supported", "supported"),
        ("passed", "misattributed", "cites the wrong source"),
        ("not_entailed", "misattributed", "cites the wrong source"),
        ("not_entailed", "unsupported", "no evidence"),
        ("missing_citations", None, "no evidence"),
        ("unknown_citations", None, "cites the wrong source"),
        ("contradicted", "misattributed", "contradicted"),
        ("not_a_claim", None, "no claim"),
        ("verifier_error", None, "not verified"),
    ],
)
def test_a_claim_has_a_verdict_in_words_for_people(
    status: str, cited: str | None, verdict: str
) -> None:
    finding = cited and CitationFinding(idx=0, claim="", status=CitationStatus(cited), cites=())
    assert verdict_of(detail(status=ClaimStatus(status)), finding or None) == verdict


def test_numbers_are_folded() -> None:
    page = report_to_html(report(detail()), SPANS)
    assert page.index("<details><summary>Bits and probabilities") < page.index("<table>")


def test_a_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    page = Page(report_to_html(hostile("x"), SPANS))
    assert [tag for tag, _ in page.tags if tag in ("script", "link", "img", "iframe")] == ["script"]
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {"src", "style", "srcset", "onload", "onclick"}


@given(everywhere.filter(bool))
@example("<script>alert(1)</script>")
@example("\"'><img src=x onerror=alert(1)>")
@example("</style><script>")
@example("$answer ${content} $$")
@example("&lt;b&gt;")
def test_no_text_becomes_markup(text: str) -> None:
    page = Page(report_to_html(hostile(text), [Source(id=text, text=text)]))
    other = Page(report_to_html(hostile("x"), [Source(id="x", text="x")]))
    assert page.tags == other.tags
    assert visible(f"a{text}") in page.text
    assert visible(page.text) == page.text
