"""The page: it stands alone, all is told, and nothing in it acts."""

import base64
import hashlib
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from groundwire.evaluation.reports.curves import Curve
from groundwire.evaluation.reports.html import to_html
from groundwire.evaluation.reports.plots import at, of_curve, top_of
from groundwire.evaluation.reports.summary import Summary, summarize
from tests.evaluation.reports.results import HOSTILE, ROWS, row, summary_of

#: Elements without an end.
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """What a browser makes of a page, as far as tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def attributes(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def within(self, tag: str) -> str:
        return "".join(text for name, text in self.texts if name == tag)


@pytest.fixture(scope="module")
def page(summary: Summary) -> Page:
    return Page(to_html(summary))


def test_it_loads_nothing_and_names_its_style_and_script_by_their_hashes(page: Page) -> None:
    (policy,) = (each["content"] for each in page.attributes("meta") if "http-equiv" in each)
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed == {
        "default-src": "'none'",
        "style-src": f"'{_hash(page.within('style'))}'",
        "script-src": f"'{_hash(page.within('script'))}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {"src", "style", "srcset", "action"}
    assert not [name for name in names if name.startswith("on")]
    assert all(each["href"].startswith("#") for each in page.attributes("a"))


def test_its_elements_close_and_its_ids_are_unique(page: Page) -> None:
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_links_and_labels_lead_to_what_is_there(page: Page) -> None:
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert {each["href"].removeprefix("#") for each in page.attributes("a")} <= ids
    assert {each["for"] for each in page.attributes("label")} <= ids


def test_each_example_is_a_card_that_filters_can_read(page: Page) -> None:
    cards = page.attributes("article")
    assert [(each["data-kind"], each["data-task"], each["data-outcome"]) for each in cards] == [
        ("false_negative", "QA", "grounded"),
        ("false_positive", "Summary", "hallucinated"),
        ("failed", "QA", ""),
        ("unchecked", "QA", "unverified"),
        ("true_positive", "QA", "hallucinated"),
        ("not_flagged", "QA", "grounded"),
        ("true_negative", "Summary", "grounded"),
    ]
    assert [each["name"] for each in page.attributes("select")] == ["kind", "task", "outcome"]


def test_marks_stand_in_words_as_well(summary: Summary) -> None:
    text = to_html(summary)
    assert '<mark class="found">1950<small>found</small></mark>' in text
    assert '<mark class="missed">by Eve<small>missed</small></mark>' in text
    assert '<mark class="extra">1950<small>extra</small></mark>' in text


def test_rows_without_a_verdict_are_on_the_page(summary: Summary) -> None:
    text = to_html(summary)
    assert "1 check failed (missed if hallucinated, else in no score)" in text
    assert "1 answer was not checked at all (missed if hallucinated, else in no score)" in text
    assert "The detector failed on 'BOOM'." in unescape(text)


def test_what_was_not_read_is_counted_among_all_that_have_a_label(
    summary: Summary, tmp_path: Path
) -> None:
    assert (summary.scores["n_answers"], summary.scores["n_scored"]) == (6, 5)
    assert "<p>2 of 6 labelled answers were not read in full.</p>" in to_html(summary)
    whole = to_html(summary_of([row("Built in 1889.")], tmp_path))
    assert "<p>All labelled answers were read in full.</p>" in whole


def test_a_grounded_answer_without_a_verdict_is_in_none_of_the_four_counts(
    summary: Summary,
) -> None:
    # One of each kind, and the hallucinated one whose check failed is among the missed.
    assert re.findall(r'aria-label="(\d) (\w+) (\w+)s"', to_html(summary)) == [
        *(("1", "true", "positive"), ("2", "false", "negative")),
        *(("1", "false", "positive"), ("1", "true", "negative")),
    ]
    assert "1 of 3 hallucinated answers were flagged, and 1 of 2 others." in to_html(summary)


def test_where_nothing_was_checked_there_is_a_page(tmp_path: Path) -> None:
    text = to_html(summary_of([row("It is 330 meters tall.", sources=[])], tmp_path))
    assert "0 of 0 hallucinated answers were flagged, and 0 of 0 others." in text


def test_an_answer_of_which_nothing_was_checked_has_no_doubt(summary: Summary) -> None:
    _, _, card = to_html(summary).partition('id="row-6"')
    facts, _, _ = card.partition("</article>")
    assert "outcome unverified" in facts
    assert "highest doubt" not in facts


def test_counts_lead_to_the_examples_that_are_on_the_page(results: Path) -> None:
    links = Page(to_html(summarize(results, n_examples=1))).attributes("a")
    assert [each["data-show"] for each in links if "data-show" in each] == ["false_negative"]


def test_what_is_left_out_is_told(results: Path) -> None:
    text = to_html(summarize(results, n_examples=2))
    assert "2 rows are on this page; 5 are left out" in text


def test_hostile_text_is_text(tmp_path: Path) -> None:
    hostile = row(f"1950 {HOSTILE}", "1950", id=HOSTILE, task=HOSTILE, question=HOSTILE, x=HOSTILE)
    hostile["sources"] = [{"id": HOSTILE, "text": HOSTILE}]
    text = to_html(summary_of([hostile, *ROWS], tmp_path))
    page = Page(text)
    assert page.open == []
    assert len(page.attributes("script")) == 1
    assert page.attributes("img") == []
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ufffe\ud800]", text)
    text.encode()


def test_only_what_an_answer_level_label_says_is_claimed(tmp_path: Path) -> None:
    known = {"id": "a", "sources": ["A."], "answer": "In 1950.", "label": True}
    text = to_html(summary_of([known], tmp_path))
    assert '<mark class="flagged">1950<small>flagged</small></mark>' in text
    assert "Known of the answer as a whole: hallucinated." in text


def test_results_without_a_labelled_row_make_a_page(tmp_path: Path) -> None:
    text = to_html(summary_of([ROWS[-1]], tmp_path))
    assert "none could be scored" in text
    assert Page(text).open == []


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_low_curve_fills_its_plot_and_says_so() -> None:
    curve = Curve(
        name="Risk",
        axes=("x", "y"),
        points=((0.5, 0.05), (1.0, 0.1)),
        at=(0.5, 0.05),
        chance=((0, 0.1), (1, 0.1)),
        is_fitted=True,
    )
    assert top_of(curve) == 0.1
    plot = of_curve(curve, "says")
    assert plot.dots == [((0.5, 0.5), "at the threshold: 50.0 and 5.0 %")]
    # From the middle of the square to its upper right corner.
    assert [at(point) for point in plot.lines[1][0]] == [("194", "128"), ("338", "12")]


def test_a_plot_is_drawn_with_its_axes_and_all_its_marks(page: Page, summary: Summary) -> None:
    pictures = page.attributes("svg")
    assert len(pictures) == 3 + bool(summary.scores["calibration"])
    classes = Counter(each.get("class") for each in page.attributes("polyline"))
    assert classes["axis"] == len(pictures)
    assert classes["curve"] == 3
    labels = {text for tag, text in page.texts if tag == "text"}
    assert {"0", "25", "50", "75", "100", "Recall (%)"} <= labels
