"""The playground in Chromium: its verdict follows the keys, and nothing hostile runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundwire import Detector
from groundwire.gateway.playground.app import Playground, examples
from tests.browser import browser as browser
from tests.browser import each_look, needs_chromium, opened, picture, require_accessible
from tests.gateway.playground.test_app import HOSTILE, MESSAGES
from tests.gateway.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(detector: Detector) -> Iterator[str]:
    with serving(Playground(detector).app(is_local=True)) as url:
        yield f"{url}/"


def marked(page: "Page") -> list[str]:
    found: list[str] = page.locator("#result .answer mark").evaluate_all(
        "marks => marks.map((each) => each.firstChild.textContent)"
    )
    return found


def wait_for_marks(page: "Page", *words: str) -> None:
    """Wait until as many stretches are marked, each with one of these words in it."""
    page.wait_for_function(
        """words => {
          const marks = Array.from(document.querySelectorAll('#result .answer mark'));
          return !document.querySelector('#result.waiting') && marks.length === words.length
            && marks.every((each, at) => each.textContent.includes(words[at]));
        }""",
        arg=list(words),
    )


def test_the_verdict_follows_the_keys(browser: "Browser", address: str) -> None:
    with opened(browser, address) as page:
        page.fill("#answer", "")
        page.locator("#status").filter(has_text="Write an answer").wait_for()
        page.locator("#answer").press_sequentially("It is 330 metres tall, and was built in 1950.")
        wait_for_marks(page, "1950")
        assert "hallucinated" in page.inner_text("#status")
        page.fill("#answer", "It is 330 metres tall, and was built in 1889.")
        wait_for_marks(page)
        page.fill("#source-1", "It is 330 metres tall. It was built in 1920.")
        wait_for_marks(page, "1889")


def test_the_newest_text_wins(browser: "Browser", address: str) -> None:
    with opened(browser, address) as page:
        late: list[Route] = []

        def hold(route: "Route") -> None:
            if "1950" in (route.request.post_data or ""):
                late.append(route)
            else:
                route.continue_()

        page.route("**/check", hold)
        page.fill("#answer", "It was built in 1950.")
        page.wait_for_timeout(600)
        page.fill("#answer", "It is 330 metres tall.")
        wait_for_marks(page)
        (route,) = late
        route.fulfill(body='<div data-says="late">late</div>', content_type="text/html")
        page.wait_for_timeout(200)
        assert "330 metres" in page.inner_text("#result .answer")
        assert "late" not in page.inner_text("#status")


def test_the_slider_marks_more_and_less_and_reads_nothing_again(
    browser: "Browser", address: str
) -> None:
    with opened(browser, f"{address}?example=travel") as page:
        before = marked(page)
        assert before
        page.focus("#threshold")
        page.keyboard.press("End")
        wait_for_marks(page)
        assert page.inner_text("#at") == "1.00"
        assert page.locator("[aria-pressed=true]").count() == 0
        assert "nothing read again" in page.inner_text("#status")
        page.click("button[data-point=balanced]")
        wait_for_marks(page, *before)
        assert page.inner_text("[aria-pressed=true]") == "balanced"


def test_a_chat_is_taken_apart_and_a_source_is_added_and_removed(
    browser: "Browser", address: str
) -> None:
    with opened(browser, address) as page:
        page.click("text=Paste a chat instead")
        page.fill("#chat", json.dumps(MESSAGES))
        page.click("#divide")
        wait_for_marks(page, "1950")
        assert page.input_value("#answer") == "It was built in 1950."
        page.click("#add")
        page.keyboard.type("Others say that it was built in 1950.")
        wait_for_marks(page)
        page.locator("button[data-remove]").last.click()
        wait_for_marks(page, "1950")


def test_it_says_when_its_server_is_gone(browser: "Browser", detector: Detector) -> None:
    with serving(Playground(detector).app(is_local=True)) as url, opened(browser, url) as page:
        page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('gone')); }")
        page.fill("#answer", "It was built in 1950.")
        page.locator("#status.wrong").filter(has_text="does not answer").wait_for()


def test_a_check_is_copied(browser: "Browser", address: str) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with opened(browser, address, permissions=allowed) as page:
        page.click("text=Copy this check")
        page.click("button[data-copy=test]")
        page.locator("#status").filter(has_text="Copied.").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert "def test_the_answer_is_grounded(grounded):" in copied
        assert examples()["travel"]["question"] in copied


def test_words_and_evidence_light_up_together(browser: "Browser", address: str) -> None:
    with opened(browser, f"{address}?example=travel") as page:
        page.hover("#mark-1")
        lit = page.locator("#result .evidence.lit").all_text_contents()
        assert any("330 metres" in each for each in lit)
        page.mouse.move(0, 0)
        page.focus("#mark-1 a")
        assert page.locator("#result .evidence.lit").count() == len(lit)
        assert page.locator("#finding-1.lit").count() == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_runs(browser: "Browser", address: str, text: str) -> None:
    with opened(browser, address) as page:
        page.fill("#source-1", f"{text} It is 5.")
        page.fill("#question", text)
        page.fill("#answer", f"{text} It was built in 1950.")
        page.locator("#result .answer").filter(has_text="1950").wait_for()
        page.hover("#result .answer")
        assert page.locator("#result script, #result img, #result iframe, #result b").count() == 0


@each_look
def test_no_rule_of_accessibility_is_broken(
    browser: "Browser", address: str, width: int, scheme: str, tmp_path: Path
) -> None:
    # axe is put into the page from outside, which the page's policy would refuse.
    with opened(browser, address, width=width, scheme=scheme, bypass_csp=True) as page:
        if (width > 500) == (scheme == "light"):
            page.hover("#mark-1")
            picture(page, f"playground-{'phone' if width < 500 else 'desktop'}-{scheme}", tmp_path)
        require_accessible(page)
