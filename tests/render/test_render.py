"""What people see of a detection, and that nothing in it can act on their screen."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire import Detector
from groundwire.detection.example import Source
from groundwire.detection.values import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Outcome,
    Reason,
    Span,
)
from groundwire.render import excerpt, to_html, to_terminal, to_text, visible
from groundwire.render.descriptions import percent
from tests.fakes import FixedDetector
from tests.fixed_judge import FixedJudge

SOURCE = "The tower was built in 1889 and is 330 meters tall."
ANSWER = "It was built in 1950 and is 500 meters tall."


def detect(answer: str = ANSWER, *sources: str | Source, **words: list[str]) -> Detection:
    words = words or {"contradicted": ["1950"], "unsupported": ["500 meters"]}
    return FixedDetector(**words).detect(  # type: ignore[arg-type]
        sources=sources or [SOURCE], answer=answer
    )


def covered(outcome: Outcome, reasons: dict[Reason, int], *claims: Claim) -> Detection:
    return Detection(
        answer="Это так. It is.",
        outcome=outcome,
        claims=claims,
        coverage=Coverage(
            offered_chars=2000,
            indexed_chars=1999,
            attended_chars=1,
            answer_chars=15,
            read_chars=7,
            reasons=reasons,
        ),
        detector=DetectorInfo(name="x", revision="", operating_point="custom", threshold=0.25),
    )


# Text


def test_the_report_in_a_pipe() -> None:
    assert to_text(detect()) == (
        "  It was built in ⟦1950⟧ and is ⟦500 meters⟧ tall.\n"
        "\n"
        'contradicted 16-20  probability 0.97  "1950"\n'
        'unsupported  28-38  probability 0.97  "500 meters"\n'
        f'  against S0 0-51: "{SOURCE}"\n'
        "\n"
        "outcome   hallucinated: the sources do not support the marked words\n"
        "detector  fixed 000000000000, balanced (threshold 0.5)"
    )


def test_the_kind_of_a_conflict_stands_beside_the_label() -> None:
    found = detect(contradicted=["1950"], unsupported=["500 meters"])
    year, height = found.spans
    claim = replace(found.claims[0], spans=(replace(year, conflict="date"), height))
    found = replace(found, claims=(claim,))
    assert 'contradicted (date) 16-20  probability 0.97  "1950"\n' in to_text(found)
    assert "unsupported  28-38  probability" in to_text(found)
    assert '<span class="chip contradicted">contradicted (date)</span>' in to_html(found)
    assert '<span class="chip unsupported">unsupported</span>' in to_html(found)


def test_a_grounded_answer_has_no_marks() -> None:
    text = to_text(detect("It is tall.", SOURCE, unsupported=["nothing"]))
    assert text.startswith("  It is tall.\n\noutcome   grounded: no unsupported words found")


def test_a_terminal_shows_colours_and_no_markers() -> None:
    text = to_terminal(detect(), color=True)
    assert "\x1b[1;4;31m1950\x1b[0m" in text
    assert "\x1b[1;4;33m500 meters\x1b[0m" in text
    assert "⟦" not in text


def test_colours_change_no_word() -> None:
    bare = re.sub(r"\x1b\[[0-9;]*m", "", to_terminal(detect(), color=True))
    assert bare == to_text(detect()).replace("⟦", "").replace("⟧", "")


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_explained(outcome: Outcome) -> None:
    assert re.search(f"outcome   {outcome}: .{{10,}}", to_text(covered(outcome, {})))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_explained(reason: Reason) -> None:
    text = to_text(covered(Outcome.PARTIAL, {reason: 1200}))
    assert re.search(rf"          {reason} \(1,200\): .{{10,}}", text)


def test_an_incomplete_coverage_never_reads_as_all() -> None:
    text = to_text(covered(Outcome.PARTIAL, {}))
    assert "99% of the evidence indexed, <1% read with the answer (2,000 characters)" in text
    assert "46% of the answer read" in text


def test_a_claim_that_was_not_read_is_listed_with_its_reason() -> None:
    claim = Claim(
        start=0,
        end=8,
        text="Это так.",
        label=Label.UNCHECKED,
        probability=None,
        reason=Reason.LANGUAGE,
    )
    wanted = "claim or evidence is in a language or script that the detector does not know"
    detection = covered(Outcome.PARTIAL, {Reason.LANGUAGE: 1}, claim)
    assert f'unchecked    0-8  {wanted}  "Это так."' in to_text(detection)
    assert f'<li><span class="any" dir="auto">Это так.</span> <em>({wanted})</em></li>' in to_html(
        detection
    )


def test_parts_that_claim_nothing_are_counted_apart() -> None:
    answer = "## Height\n\nIt is 330 metres tall.\n\nI hope this helps!"
    found = Detector(FixedJudge(doubtful={})).detect(sources=[SOURCE], answer=answer)
    assert [aside.text for aside in found.asides] == ["Height", "I hope this helps!"]
    assert "\nno claim  53% of the answer: closing (1), heading (1)\n" in to_text(found)


def test_without_evidence_the_outcome_alone_says_so() -> None:
    text = to_text(FixedDetector().detect(sources=[], answer="It is."))
    assert "unchecked " not in text
    assert "outcome   unverified: there was no evidence" in text
    assert "coverage  no evidence; 0% of the answer read" in text


def test_evidence_that_neighbours_share_is_quoted_once() -> None:
    assert to_text(detect()).count(SOURCE) == 1


# Shares and excerpts


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_only_all_is_100_percent_and_only_nothing_is_0(part: int, whole: int) -> None:
    part = min(part, whole)
    assert (percent(part, whole) == "100%") == (part == whole)
    assert (percent(part, whole) == "0%") == (part == 0)


def test_a_share_of_nothing_is_all() -> None:
    assert percent(0, 0) == "100%"


def test_a_short_text_is_quoted_whole_on_one_line() -> None:
    assert excerpt("It  is\n tall.", around="tall", width=11) == "It is tall."


def test_a_long_text_is_quoted_where_it_matters() -> None:
    text = "word " * 100 + "The tower was built in 1889. " + "more " * 100
    quote = excerpt(text, around="built in 1950 tower", width=40)
    assert "tower was built" in quote
    assert quote.startswith("…")
    assert quote.endswith("…")


@given(st.text(max_size=300), st.text(max_size=20), st.integers(10, 50))
@example("x" * 300, "x", 20)
def test_an_excerpt_is_a_part_of_the_text(text: str, around: str, width: int) -> None:
    quote = excerpt(text, around=around, width=width)
    flat = " ".join(text.split())
    bare = quote.removeprefix("…") if not flat.startswith(quote.removesuffix("…")) else quote
    bare = bare if flat.endswith(bare) else bare.removesuffix("…")
    assert bare in flat
    assert len(bare) <= width


# Hostile text

ACTING = {
    "escape": ("\x1b[2J", "␛[2J"),
    "backspace": ("\x08", "␈"),
    "bell": ("\x07", "␇"),
    "null": ("\x00", "␀"),
    "delete": ("\x7f", "␡"),
    "carriage return": ("a\rb", "a␍b"),
    "C1 control sequence": ("\x9b2J", "\\x9b2J"),
    "next line": ("\x85", "\\x85"),
    "right-to-left override": ("\u202e", "\\u202e"),
    "isolate": ("\u2066", "\\u2066"),
    "right-to-left mark": ("\u200f", "\\u200f"),
    "Arabic letter mark": ("\u061c", "\\u061c"),
    "zero-width space": ("\u200b", "\\u200b"),
    "byte order mark": ("\ufeff", "\\ufeff"),
    "line separator": ("\u2028", "\\u2028"),
    "invisible tag letter": ("\U000e0041", "\\ue0041"),
    "half a surrogate pair": ("\ud800", "\\ud800"),
}


@pytest.mark.parametrize(("text", "shown"), ACTING.values(), ids=ACTING)
def test_what_would_act_on_the_screen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["a\tb\nc", "naïve 東京 مرحبا", "👩\u200d🔬", "⟦"])
def test_ordinary_text_stays(text: str) -> None:
    assert visible(text) == text


def test_a_windows_line_end_is_a_line_end() -> None:
    assert visible("a\r\nb") == "a\nb"


everywhere = st.text(st.characters(codec=None) | st.sampled_from("\x1b\x9b\u202e\r\n<&\"'"))


def hostile(text: str) -> Detection:
    evidence = (EvidenceRef(source_id=text, start=0, end=1, text=text),)
    span = Span(
        start=1,
        end=1 + len(text),
        text=text,
        label=Label.UNSUPPORTED,
        probability=1,
        severity=2,
        conflict=text,
        evidence=evidence,
    )
    claims = [
        Claim(
            start=0,
            end=len(text) + 2,
            text=f"a{text}b",
            label=label,
            probability=1,
            spans=(span,) if label is Label.UNSUPPORTED else (),
            evidence=evidence,
            reason=None if label is Label.UNSUPPORTED else Reason.LANGUAGE,
        )
        for label in (Label.UNSUPPORTED, Label.UNCHECKED)
    ]
    return Detection(
        answer=f"a{text}b",
        outcome=Outcome.HALLUCINATED,
        claims=tuple(claims),
        coverage=Coverage(
            offered_chars=1, indexed_chars=1, attended_chars=1, answer_chars=1, read_chars=1
        ),
        detector=DetectorInfo(name=text, revision=text, operating_point="custom", threshold=0.5),
        timings_ms={text: 1.0},
    )


@given(everywhere.filter(bool))
@example("\x1b]0;title\x07")
def test_no_text_can_act_on_a_terminal(text: str) -> None:
    for shown in (
        to_text(hostile(text)),
        re.sub(r"\x1b\[(0|1|2|1;4;3[13]|1;3[123])m", "", to_terminal(hostile(text), color=True)),
    ):
        assert visible(shown) == shown
        shown.encode()


@given(everywhere.filter(bool))
@example("\noutcome   grounded: fine")
def test_no_text_can_imitate_the_report(text: str) -> None:
    lines = to_text(hostile(text)).split("\n")
    heads = [line.split(" ")[0] for line in lines if line and not line.startswith(" ")]
    assert heads == ["unsupported", "unchecked", "outcome", "detector"]


def test_an_answer_cannot_place_our_markers() -> None:
    text = to_text(detect("A ⟦fake⟧ and 1950.", SOURCE))
    assert text.startswith("  A \\u27e6fake\\u27e7 and ⟦1950⟧.\n")


# HTML


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_shows_the_answer_with_labelled_marks() -> None:
    page = to_html(detect(), question="How tall?")
    assert (
        '<mark class="contradicted" id="mark-1" data-lights="f1">1950'
        '<a href="#finding-1">1<span class="unseen"> contradicted</span></a></mark>'
        '<span class="claim" data-lights="1"> and is </span>'
    ) in page
    for part in ("How tall?", SOURCE, "0.97", "4 of 4", "100% of the evidence", "in 2 ms"):
        assert part in page


def test_a_page_says_something_also_when_all_is_well() -> None:
    page = to_html(detect("It is tall.", SOURCE, unsupported=["nothing"]))
    assert "1 statement: 1 supported" in page
    assert f'<mark class="evidence" id="evidence-1" data-lights="1">{SOURCE}</mark>' in page
    assert '<span class="claim" data-lights="1">It is tall.</span>' in page


@pytest.mark.parametrize("sources", [(), (Source(id="S0", text=SOURCE), Source(id="S1", text="x"))])
def test_links_of_a_page_lead_somewhere(sources: tuple[Source, ...]) -> None:
    tags = Page(to_html(detect(), sources=sources)).tags
    ids = {attributes["id"] for _, attributes in tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert {f"#{name}" for name in ids} == set(links)


def test_sources_stand_beside_the_answer_with_their_evidence_marked() -> None:
    long = f"{'before ' * 300}{SOURCE}{' after' * 300}"
    detection = detect("It is tall.", long)
    (claim,) = detection.claims
    at = long.index(SOURCE)
    refs = [
        EvidenceRef(source_id="S0", start=start, end=end, text=long[start:end])
        for start, end in ((at, at + len(SOURCE)), (at + 4, at + 70), (at, 99_999))
    ]
    detection = replace(detection, claims=(replace(claim, evidence=tuple(refs)),))
    page = Page(to_html(detection, sources=[Source(id="S0", text=long), Source(id="S1", text="z")]))
    shown = page.text.partition("Sources\n")[2].partition("no line of it is evidence")[0]
    assert f"1,861 characters{' before' * 34} {SOURCE}{' after' * 39}" in shown
    assert shown.split(" after")[-1].startswith("1,542 characters")
    assert "no line of it is evidence" in page.text
    assert [a["id"] for tag, a in page.tags if a.get("class") == "evidence"] == ["evidence-1"]


def test_a_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    page = Page(to_html(detect(), sources=[Source(id="S0", text=SOURCE)]))
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {"src", "style", "srcset", "onload", "onclick"}
    assert [tag for tag, _ in page.tags if tag in ("script", "link", "img", "iframe")] == ["script"]
    assert "url(" not in page.text


def test_the_policy_allows_style_and_script_of_the_page_and_nothing_else() -> None:
    page = to_html(detect())
    digests = {}
    for tag in ("style", "script"):
        found = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert found
        digests[tag] = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    policies = [
        attributes["content"]
        for tag, attributes in Page(page).tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; base-uri 'none'; "
        f"script-src 'sha256-{digests['script']}'; form-action 'none'"
    ]


@given(everywhere.filter(bool))
@example("<script>alert(1)</script>")
@example("\"'><img src=x onerror=alert(1)>")
@example("</style><script>")
@example("$answer ${spans} $$")
@example("&lt;b&gt;")
def test_no_text_becomes_markup(text: str) -> None:
    page = Page(to_html(hostile(text), question=text, sources=[Source(id=text, text=text)]))
    tags = {tag for tag, _ in page.tags}
    plain = {tag for tag, _ in Page(to_html(hostile("x"), question="x")).tags}
    # Markdown gives an answer no other tags, and no attribute of any of its own.
    assert tags - plain <= {
        *("p", "ul", "ol", "li", "pre", "code", "em", "strong", "s", "br", "hr")
    }
    names = {name for _, attributes in page.tags for name in attributes}
    assert names <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "id", "data-lights", "href"),
        *("dir", "aria-label", "tabindex", "open", "start", "role"),
    }
    assert all(attributes.get("href", "#").startswith("#") for _, attributes in page.tags)  # type: ignore[union-attr]
    assert visible(page.text) == page.text


def test_a_source_may_have_any_name() -> None:
    source = Source(id="a <b>\x1b", text=SOURCE)
    assert "<bdi>a &lt;b&gt;␛</bdi>" in to_html(detect(ANSWER, source), sources=[source])
    assert "against a <b>␛ 0-51" in to_text(detect(ANSWER, source))
