"""The console in Chromium: every page in each look, and what people do with it."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundwire import Detector
from groundwire.control.accounts import AccountRole, Accounts
from groundwire.control.activity import SLOT_S
from groundwire.control.review.labels import Labels
from groundwire.control.store import Store, tables
from tests.browser import browser as browser
from tests.browser import each_look, needs_chromium, opened, picture, require_accessible
from tests.gateway.admin.plane import Plane, plane, url_of
from tests.gateway.chats import WRONG
from tests.gateway.console.desk import CHEAP, PASSWORD
from tests.gateway.console.provider import CALLBACK, Provider, providing
from tests.gateway.console.test_false_blocks import labelled
from tests.gateway.console.test_oidc import settings
from tests.gateway.wire import Script, completion

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [*needs_chromium, pytest.mark.merge]

BAD = f"The Eiffel Tower was built in {WRONG}."

PAGES = (
    "",
    "/tenants",
    "/tenants/acme",
    "/tenants/acme/budget",
    "/tenants/acme/keys",
    "/audit",
    "/review",
    "/review?view=sample",
    "/people",
    "/account",
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A gateway that has answered, with an account of each role."""
    folder = tmp_path_factory.mktemp("console")
    with plane(folder, "audit: {text: full, sample: 1}", detector=Detector.load()) as started:
        url = url_of(started.control.store)
        with ThreadPoolExecutor(1) as aside:  # the browser has an event loop in this thread
            aside.submit(asyncio.run, people(url)).result()
        started.upstream.script(Script.json(completion(BAD)))
        assert started.chat().status == 200
        started.make_key("acme", name="search")
        yield started


@pytest.fixture(scope="module")
def with_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plane, Provider]]:
    """A gateway where people can sign in at a provider."""
    with providing() as provider, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.close()  # the console takes the port, which the provider has to know
        provider.callback = f"http://127.0.0.1:{port}/console/sign-in/callback"
        yaml = settings(provider.url).replace(CALLBACK, provider.callback)
        environ = {"GROUNDWIRE_ADMIN_PORT": str(port)}
        with plane(tmp_path_factory.mktemp("oidc"), yaml, environ=environ) as started:
            yield started, provider


def day() -> Iterator[dict[str, object]]:
    """The answers of a day, busiest at noon, for pictures."""
    shares = (("grounded", "none", 60), ("skipped", "none", 9), ("unverified", "header", 3))
    this_hour = int(time.time()) // SLOT_S * SLOT_S
    for slot in range(this_hour - 23 * SLOT_S, this_hour + 1, SLOT_S):
        load = 1 + max(0, 9 - abs(slot // SLOT_S % 24 - 12))
        for tenant, model, n in (("acme", "gpt-5.1", 4), ("globex", "claude-sonnet-5", 2)):
            found = ("hallucinated", "block" if tenant == "acme" else "log", 3 + slot // 3600 % 3)
            for outcome, action, share in (*shares, found):
                row = {"slot": slot, "tenant": tenant, "model": model, "outcome": outcome}
                yield {**row, "action": action, "n": max(load * n * share // 20, 1)}


async def people(url: str) -> None:
    async with Store(url) as store:
        async with store.writing() as connection:
            await connection.execute(tables.activity.insert(), list(day()))
        for name, role in (("anna", AccountRole.ADMIN), ("vic", AccountRole.VIEWER)):
            await Accounts(store, hasher=CHEAP).save(name, role=role, password=PASSWORD)


def sign_in(page: "Page", name: str = "anna") -> None:
    page.fill("#name", name)
    page.fill("#password", PASSWORD)
    page.keyboard.press("Enter")
    page.locator(".me").wait_for()


@each_look
def test_no_rule_of_accessibility_is_broken(
    browser: "Browser", own: Plane, width: int, scheme: str, tmp_path: Path
) -> None:
    # axe is put into the page from outside, which the page's policy would refuse.
    with opened(
        browser, f"{own.admin_url}/console", width=width, scheme=scheme, bypass_csp=True
    ) as page:
        require_accessible(page)
        sign_in(page)
        for path in PAGES:
            page.goto(f"{own.admin_url}/console{path}")
            if not path and (width > 500) == (scheme == "light"):
                picture(page, f"console-{'phone' if width < 500 else 'desktop'}-{scheme}", tmp_path)
            require_accessible(page)


@each_look
def test_people_sign_in_at_their_provider(
    browser: "Browser", with_provider: tuple[Plane, Provider], width: int, scheme: str
) -> None:
    own, provider = with_provider
    address = f"{own.admin_url}/console/people"
    with opened(
        browser, address, width=width, scheme=scheme, also=provider.url, bypass_csp=True
    ) as page:
        button = page.get_by_role("link", name="Sign in at 127.0.0.1")
        assert button.is_visible()
        require_accessible(page)
        button.focus()
        page.keyboard.press("Enter")
        page.locator(".me").wait_for()
        assert page.url == address
        assert "oidc:anna-" in page.inner_text(".me")
        require_accessible(page)


@each_look
def test_the_page_of_an_event_breaks_no_rule_either(
    browser: "Browser", own: Plane, width: int, scheme: str, tmp_path: Path
) -> None:
    address = f"{own.admin_url}/console/audit?outcome=hallucinated&when=24h"
    with opened(browser, address, width=width, scheme=scheme, bypass_csp=True) as page:
        sign_in(page)
        page.locator(".events a").last.click()
        page.hover("#mark-1")
        page.locator(".evidence.lit").wait_for()
        assert page.locator(".evidence.lit").count() == 1
        assert page.locator(".finding.lit").get_attribute("id") == "finding-1"
        if (width, scheme) == (1280, "light"):
            picture(page, "console-event", tmp_path)
        require_accessible(page)
        page.go_back()
        page.click("text=Verify the whole trail")
        page.locator("text=The trail is as it was written.").wait_for()
        require_accessible(page)
        page.goto(f"{own.admin_url}/console/review/next")
        page.keyboard.press("r")
        if (width, scheme) == (1280, "light"):
            page.evaluate("scrollTo(0, 0)")
            picture(page, "console-review", tmp_path)
        require_accessible(page)


def select(page: "Page", words: str) -> None:
    """Select words of the answer, as if by mouse."""
    page.evaluate(
        """(words) => {
            const texts = document.createTreeWalker(document.querySelector(".answer"), 4);
            while (texts.nextNode()) {
                const at = texts.currentNode.data.lastIndexOf(words);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(texts.currentNode, at);
                range.setEnd(texts.currentNode, at + words.length);
                document.getSelection().removeAllRanges();
                document.getSelection().addRange(range);
            }
        }""",
        words,
    )


def test_a_reviewer_judges_answers_with_the_keyboard_alone(browser: "Browser", own: Plane) -> None:
    for answer in (BAD, f"{BAD} The tower is in Paris, and Paris is in France."):
        own.upstream.script(Script.json(completion(answer)))
        assert own.chat().status == 200
    with opened(browser, f"{own.admin_url}/console/review") as page:
        sign_in(page)
        address = f"{own.admin_url}/console/review"
        n_waiting = page.locator("tbody tr").count()
        page.locator(f"tbody a:text('{answer}')").focus()
        page.keyboard.press("Enter")
        page.locator(".finding:focus").wait_for()
        select(page, "Paris")
        page.keyboard.press("m")
        assert page.input_value("#missed") == "Paris #2"
        assert page.inner_text("#told") == "Added: Paris #2"
        page.keyboard.press("n")  # nothing is sent while a finding is open
        assert page.inner_text(".finding #told").startswith("Finding 1 is open")
        page.keyboard.press("w")
        page.keyboard.press("r")
        assert page.locator(".judge :checked").count() == page.locator(".judge").count()
        page.keyboard.press("n")
        page.locator("[role=status]:has-text('Your labels are stored: ')").wait_for()
        page.wait_for_load_state()  # keys are heard once the page's script has run
        assert page.url.startswith(f"{address}/")
        seen = page.url
        page.keyboard.press("s")
        page.wait_for_url(lambda url: url != seen)
        page.goto(address)
        assert page.locator("tbody tr").count() == n_waiting - 1


def test_an_admin_sets_a_budget_and_uses_the_threshold_that_keeps_it(
    browser: "Browser", own: Plane, detector: Detector, tmp_path: Path
) -> None:
    own.make_key("globex")
    url = url_of(own.control.store)
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, labels_of_a_sample(url, detector)).result()
    with opened(browser, f"{own.admin_url}/console/tenants/globex/budget") as page:
        sign_in(page)
        page.fill("#budget", "5")
        page.keyboard.press("Enter")
        page.locator("h2:text('At most 5 % of right answers blocked: broken')").wait_for()
        picture(page, "console-budget", tmp_path, height=740)
        page.click("button:text('as the threshold')")
        page.locator("h2:text('the labels support it')").wait_for()
        page.click("text=Audit")
        assert page.locator("td:text('operating point: inherited')").count() == 1


async def labels_of_a_sample(url: str, detector: Detector) -> None:
    async with Store(url) as store:
        groups = ((100, True, None), (12, True, 0.6), (40, False, 0.9))
        for review in labelled(
            *groups,
            detector=detector.info.name,
            revision=detector.info.revision,
            threshold=detector.info.threshold,
        ):
            await Labels(store).save(replace(review, tenant="globex"))


def test_people_are_added_and_sign_in_with_the_keyboard_alone(
    browser: "Browser", own: Plane
) -> None:
    with opened(browser, f"{own.admin_url}/console/people") as page:
        sign_in(page)
        page.focus("#name")
        page.keyboard.type("otto")
        page.keyboard.press("Enter")
        password = page.inner_text(".secret")
        page.click("text=Sign out")
        page.fill("#name", "otto")
        page.fill("#password", password)
        page.keyboard.press("Enter")
        assert "otto" in page.inner_text(".me")
        assert page.locator("text=Add somebody").count() == 0


def test_an_operator_sees_the_effect_and_blocks_the_hallucinations_of_a_tenant(
    browser: "Browser", own: Plane, tmp_path: Path
) -> None:
    secret = own.make_key("blocked")
    own.upstream.script(Script.json(completion(BAD)))
    assert own.chat(key=secret).status == 200
    with opened(browser, f"{own.admin_url}/console/tenants", bypass_csp=True) as page:
        sign_in(page)
        page.click("text=blocked")
        page.select_option("#action", "block")
        page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
        page.click("text=Show the effect first")  # not sent, so that the page stays
        page.locator("#busy:has-text('Stored answers are checked again') progress").wait_for()
        page.reload()
        page.select_option("#action", "block")
        page.click("text=Show the effect first")
        effect = page.inner_text("section[aria-label=Effect]")
        assert "Action if hallucinated: log → block." in effect
        assert "Of 1 stored answer 1 more would be blocked, 0 fewer" in effect
        assert "hallucinated log" in " ".join(effect.lower().split())
        assert page.input_value("#action") == "block"
        picture(page, "console-effect", tmp_path)
        require_accessible(page)
        with page.expect_request(lambda sent: sent.method == "POST") as saved:
            page.click("button:text-is('Save')")
        # --local-demo, and hosts without TLS, accept forms by this header alone.
        assert saved.value.all_headers()["origin"] == own.admin_url
        assert page.inner_text("[role=status]") == "Saved. It holds from now on."
        assert page.input_value("#action") == "block"
        own.upstream.script(Script.json(completion(BAD)))
        assert own.chat(key=secret).status == 403


def test_an_admin_makes_a_tenant_with_a_key_and_deletes_it(browser: "Browser", own: Plane) -> None:
    address = f"{own.admin_url}/console/tenants"
    with opened(browser, address, refusal=422, bypass_csp=True) as page:
        sign_in(page)
        page.fill("#id", "no id")
        page.click("button:text-is('Make it')")
        page.locator("[role=alert]").wait_for()
        require_accessible(page)
        page.fill("#id", "brief")
        page.click("button:text-is('Make it')")
        page.click("text=Fill in strict settings")
        assert page.input_value("#action") == "block"
        require_accessible(page)
        page.fill("#operating_point", "7")
        page.click("button:text-is('Save')")
        assert page.locator("#operating_point[aria-invalid=true]").count() == 1
        require_accessible(page)
        page.fill("#operating_point", "")
        page.click("button:text-is('Save')")
        page.click("nav >> text=Keys")
        page.click("button:text-is('Make it')")
        assert page.inner_text(".secret").startswith("gw_")
        require_accessible(page)
        page.click("nav >> text=Keys")
        assert page.locator(".secret").count() == 0
        page.click("button:has-text('Revoke')")
        page.locator("[role=status]:text('Revoked.')").wait_for()
        assert page.locator("td .chip").all_inner_texts() == ["revoked"]
        page.click("nav >> text=Grounding")
        page.click("text=Rename or delete")
        page.fill("#typed", "brief")
        page.click("button:text-is('Delete')")
        page.locator("[role=status]:text('Removed.')").wait_for()
        assert page.locator("a:text-is('brief')").count() == 0


def test_the_page_of_a_problem_breaks_no_rule(browser: "Browser", own: Plane) -> None:
    address = f"{own.admin_url}/console/audit/nothing"
    with opened(browser, address, refusal=404, bypass_csp=True) as page:
        sign_in(page)
        page.locator("text=There is no event of this id").wait_for()
        require_accessible(page)


def test_the_worst_answer_is_found_and_exported(browser: "Browser", own: Plane) -> None:
    with opened(browser, f"{own.admin_url}/console") as page:
        sign_in(page)
        page.click("nav >> text=Audit")
        page.select_option("#when", "24h")
        page.select_option("#order", "worst")
        page.click("button:text-is('Find')")
        with page.expect_download() as found:
            page.click("text=Export all that match as JSON Lines")
        events = [json.loads(line) for line in found.value.path().read_text().splitlines()]
        assert {each["type"] for each in events} == {"HALLUCINATION_DETECTED"}
        page.locator(".events a").first.click()
        assert WRONG in page.inner_text(".answer")
        page.click("a.button[href^='/console/review/']")  # judged already, or not
        page.locator(".judge").first.wait_for()


def test_people_change_their_own_password(browser: "Browser", own: Plane) -> None:
    with opened(browser, f"{own.admin_url}/console/account") as page:
        sign_in(page, "vic")
        page.fill("#password", PASSWORD)
        page.fill("#new", PASSWORD + "!")
        page.keyboard.press("Enter")
        page.locator("[role=status]:text('Your password is changed')").wait_for()
