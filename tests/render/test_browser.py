"""The pages of ``check --html`` and ``verify --html`` in Chromium."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundwire import Detector
from groundwire.detection.example import Example
from groundwire.render import to_html
from groundwire.render.verification_page import report_to_html
from groundwire.verify.rule import ClaimStatus
from tests.browser import browser as browser
from tests.browser import each_look, needs_chromium, opened, picture, require_accessible
from tests.render.test_verification import SPANS, detail, report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_chromium

EXAMPLE = Example.of(
    sources=[
        "The Eiffel Tower was built from 1887 to 1889 by the company of Gustave Eiffel. It is "
        "330 metres tall and stands in Paris, France.",
        "The tower has three levels for visitors. About seven million people visit it every year. "
        + "It is painted every seven years. " * 80,
    ],
    question="What should I know about the Eiffel Tower?",
    answer="""\
# The Eiffel Tower

It was built in **1950** by the company of *Gustave Eiffel*, and stands in Paris, France.

| Fact | Value |
| --- | --- |
| Height | 500 metres |
| Levels | three levels for visitors |

- About seven million people visit it every year.
""",
)


@pytest.fixture(scope="module")
def checked(detector: Detector, tmp_path_factory: pytest.TempPathFactory) -> str:
    detection = detector.detect(
        sources=EXAMPLE.sources, question=EXAMPLE.question, answer=EXAMPLE.answer
    )
    return written(
        to_html(detection, question=EXAMPLE.question, sources=EXAMPLE.sources), tmp_path_factory
    )


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> str:
    details = [
        detail(idx=at, status=status, unknown=["S9"] if at else [])
        for at, status in enumerate((ClaimStatus.PASSED, ClaimStatus.CONTRADICTED))
    ]
    return written(report_to_html(report(*details), SPANS), tmp_path_factory)


def written(page: str, folders: pytest.TempPathFactory) -> str:
    file = folders.mktemp("page") / "page.html"
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


def test_words_and_evidence_light_up_together(browser: "Browser", checked: str) -> None:
    with opened(browser, checked) as page:
        page.hover("#mark-1")
        lit = page.locator(".evidence.lit").all_text_contents()
        assert any("1887 to 1889" in each for each in lit)
        page.mouse.move(0, 0)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.parentElement.id") == "mark-1"
        assert page.locator(".evidence.lit").all_text_contents() == lit
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#finding-1"


def test_a_claim_and_what_it_cites_light_up_together(browser: "Browser", verified: str) -> None:
    with opened(browser, verified) as page:
        page.hover("#span-1")
        assert page.locator(".finding.lit").count() == 2
        assert page.locator("table").is_hidden()


@pytest.mark.parametrize("kind", ["checked", "verified"])
def test_everything_is_there_without_scripts(
    browser: "Browser", kind: str, request: pytest.FixtureRequest
) -> None:
    with opened(browser, request.getfixturevalue(kind), java_script_enabled=False) as page:
        assert page.locator(".finding").first.is_visible()
        assert page.locator(".source").first.is_visible()


@each_look
@pytest.mark.parametrize("kind", ["checked", "verified"])
def test_no_rule_of_accessibility_is_broken(
    browser: "Browser",
    kind: str,
    width: int,
    scheme: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    address = request.getfixturevalue(kind)
    # axe is put into the page from outside, which the page's policy would refuse.
    with opened(browser, address, width=width, scheme=scheme, bypass_csp=True) as page:
        if kind == "checked" and width > 500 and scheme == "light":
            page.hover("#mark-1")
            picture(page, "check-page", tmp_path)
        require_accessible(page)
