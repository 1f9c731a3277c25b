"""Opens pages in Chromium for tests: no console messages, no foreign requests, accessible.

The tests need Chromium and Playwright's Python package, and run with ``pytest -m browser``.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
TIMEOUT_MS = 20_000
#: The folder to write pictures to; set it to ``docs/images`` to draw those of the documentation.
PICTURES = os.environ.get("GROUNDWIRE_PICTURES")

needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path"),
]
#: Desktop and phone, light and dark; two of the four before a merge.
each_look = pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.nightly),
        pytest.param(390, "light", marks=pytest.mark.nightly),
    ],
)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A browser for the tests of a module."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=TIMEOUT_MS
        )
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: "Browser",
    address: str,
    *,
    width: int = 1280,
    scheme: str = "light",
    also: str | None = None,
    refusal: int | None = None,
    **options: Any,  # noqa: ANN401 - of a context
) -> Iterator["Page"]:
    """Open a page in a fresh profile, and close it after the block.

    The page may not write to the console, and may only send requests to its own server, and to the
    server ``also``. Chromium itself notes responses of the status ``refusal`` there.
    """
    # Types of Playwright are known only where it is installed, so they are not named here.
    options |= {"color_scheme": scheme}
    context = browser.new_context(
        viewport={"width": width, "height": 844 if width < 500 else 800}, **options
    )
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    harmless = (
        f"Failed to load resource: the server responded with a status of {refusal} ",
        "Autofocus processing was blocked",  # the test was faster than the browser
    )
    assert [each for each in said if not each.startswith(harmless)] == []
    own = address if address.startswith("file:") else "/".join(address.split("/")[:3])
    assert [each for each in asked if not each.startswith((own, also or own))] == []
    context.close()


def require_accessible(page: "Page") -> None:
    """Fail if the page, with everything unfolded, breaks a rule of axe-core or is too wide."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    viewport = page.viewport_size
    assert viewport is not None
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def picture(page: "Page", name: str, folder: Path, *, height: int = 580) -> None:
    """Take a screenshot and require a small file.

    The picture is written to the folder of the documentation if that is asked for, otherwise to
    ``folder``.
    """
    file = Path(PICTURES or folder) / f"{name}.png"
    viewport = page.viewport_size
    assert viewport is not None
    page.screenshot(path=file, clip={"x": 0, "y": 0, "width": viewport["width"], "height": height})
    assert file.stat().st_size < 120_000
