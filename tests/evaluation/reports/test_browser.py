"""The page in Chromium: it is quiet, it works, and it fits on a phone.

Needs a Chromium and Playwright's Python package: ``pytest -m browser``.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundwire.evaluation.reports.html import to_html
from groundwire.evaluation.reports.summary import summarize
from tests.browser import browser as browser
from tests.browser import each_look, needs_chromium, opened, require_accessible
from tests.evaluation.reports.results import HOSTILE, ROWS, results_of, row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a row of each kind, and one that is hostile and has no place to break a line."""
    folder = tmp_path_factory.mktemp("report")
    wide = "W" * 400
    hostile = row(
        f"1950 {HOSTILE} {wide}", "1950", id=wide, task=HOSTILE, question=wide, column=HOSTILE
    )
    results = results_of([*ROWS, hostile], folder / "results.jsonl")
    page = folder / "report.html"
    page.write_text(to_html(summarize(results)), encoding="utf-8")
    return page


def ids_shown(page: "Page") -> list[str]:
    shown: list[str] = page.locator("article.card:visible h3 bdi").all_text_contents()
    return shown


def wait_for(page: "Page", n: int) -> None:
    page.wait_for_function(
        "n => document.querySelectorAll('.card:not([hidden])').length === n", arg=n
    )


def test_filters_show_what_fits_and_say_how_many(browser: "Browser", report: Path) -> None:
    with opened(browser, report.as_uri()) as page:
        page.select_option("#filter-kind", label="false negative")
        wait_for(page, 1)
        assert ids_shown(page) == ["missed"]
        assert page.inner_text("#shown") == "1 of 8 examples are shown."
        page.select_option("#filter-task", label="Summary")
        wait_for(page, 0)
        assert page.inner_text("#shown") == "No example fits these filters."
        page.click("button[type=reset]")
        wait_for(page, 8)
        page.fill("#filter-words", "LLM-A  Eve")
        wait_for(page, 1)
        assert ids_shown(page) == ["missed"]


def test_a_count_leads_to_the_examples_of_its_kind(browser: "Browser", report: Path) -> None:
    with opened(browser, report.as_uri()) as page:
        page.click("a[data-show=false_positive]")
        wait_for(page, 1)
        assert ids_shown(page) == ["alarm"]


def test_a_link_to_a_row_shows_it_whatever_is_filtered(browser: "Browser", report: Path) -> None:
    with opened(browser, report.as_uri()) as page:
        page.select_option("#filter-kind", label="false negative")
        wait_for(page, 1)
        page.evaluate("location.hash = 'row-1'")
        wait_for(page, 8)
        assert page.locator("#row-1").is_visible()


def test_filters_and_folds_work_from_the_keyboard(browser: "Browser", report: Path) -> None:
    with opened(browser, report.as_uri()) as page:
        page.focus("#filter-words")
        page.keyboard.type("llm-a")
        wait_for(page, 1)
        page.focus("article.card:visible summary")
        page.keyboard.press("Enter")
        page.wait_for_selector("article.card:visible .claim", state="visible")


def test_without_scripts_everything_is_there_but_the_filters(
    browser: "Browser", report: Path
) -> None:
    with opened(browser, report.as_uri(), java_script_enabled=False) as page:
        assert len(ids_shown(page)) == 8
        assert not page.locator("#filters").is_visible()


def test_thousands_of_examples_are_filtered_within_a_moment(
    browser: "Browser", tmp_path: Path
) -> None:
    rows = [row(f"Built in {i}.", id=str(i)) for i in range(3000)]
    results = results_of(rows, tmp_path / "results.jsonl")
    path = tmp_path / "report.html"
    path.write_text(to_html(summarize(results, n_examples=3000)), encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        page.fill("#filter-words", "built in 2999.")
        wait_for(page, 1)
        assert ids_shown(page) == ["2999"]


@each_look
def test_no_rule_of_accessibility_is_broken(
    browser: "Browser", report: Path, width: int, scheme: str
) -> None:
    # axe is put into the page from outside, which the page's policy would refuse.
    with opened(browser, report.as_uri(), width=width, scheme=scheme, bypass_csp=True) as page:
        require_accessible(page)
