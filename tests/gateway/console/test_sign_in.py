"""Who gets in, how long, and what others can make their browser send."""

import re
from pathlib import Path

import pytest

from groundwire.control.accounts import AccountRole
from groundwire.control.audit.control_events import login_failed
from groundwire.gateway.console import audit, budget, people, review, sign_in, tenants
from groundwire.gateway.console.services import MAX_OF_ADDRESS, MAX_OF_NAME, Throttle
from tests.gateway.console.desk import PASSWORD, Desk, desk

PAGES = ["", "/people", "/account", "/no/such/page"]


@pytest.mark.parametrize("path", PAGES)
def test_nobody_sees_a_page_before_signing_in(console: Desk, path: str) -> None:
    answer = console.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/console/sign-in?next=%2Fconsole")


def test_who_signs_in_gets_to_the_page_that_was_asked_for(console: Desk) -> None:
    form = {"name": " Anna ", "password": PASSWORD, "next": "/console/people?x=1"}
    answer = console.post("/sign-in", form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/people?x=1")
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=lax", "Path=/console"):
        assert part in cookie
    assert "Secure" not in cookie
    assert console.get("/people").status_code == 200
    event = console.events("ADMIN_LOGIN")[-1]["payload"]
    assert (event["actor"], event["role"]) == ("account:anna", "admin")


def test_behind_tls_the_cookie_is_for_tls_alone(console: Desk) -> None:
    tls = {"X-Forwarded-Proto": "https"}
    form = {"name": "anna", "password": PASSWORD}
    assert "Secure" in console.post("/sign-in", form, headers=tls).headers["set-cookie"]


@pytest.mark.parametrize(
    "after", ["https://evil.example/", "//evil.example", "/\\evil.example", "/console\n/", "/x"]
)
def test_signing_in_leads_to_no_other_website(console: Desk, after: str) -> None:
    form = {"name": "anna", "password": PASSWORD, "next": after}
    assert console.post("/sign-in", form).headers["location"] == "/console"


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(console: Desk) -> None:
    answers = [console.sign_in("anna", "wrong"), console.sign_in("nobody", "wrong")]
    assert [each.status_code for each in answers] == [401, 401]
    pages = [each.text.replace("anna", "").replace("nobody", "") for each in answers]
    assert pages[0] == pages[1]
    console.sign_in("anna")  # so that the try does not count below


def test_passwords_cannot_be_tried_without_end(tmp_path: Path) -> None:
    with desk(tmp_path) as console:
        console.add("anna")
        tries = [console.sign_in("anna", f"wrong {n}").status_code for n in range(MAX_OF_NAME)]
        assert set(tries) == {401}
        assert console.sign_in("anna").status_code == 429  # even the right one
        assert console.sign_in("otto", "wrong").status_code == 401


def test_an_address_may_not_try_many_names_and_a_right_password_is_forgotten() -> None:
    throttle = Throttle()
    assert not any(throttle.is_over(f"name {n}", "a") for n in range(MAX_OF_ADDRESS))
    assert throttle.is_over("another", "a")
    assert not throttle.is_over("another", "b")
    for _ in range(2 * MAX_OF_ADDRESS):
        assert not throttle.is_over("anna", "c")
        throttle.forget("anna", "c")


def test_signing_out_ends_the_session(console: Desk) -> None:
    console.sign_in()
    cookies = dict(console.client.cookies)
    assert console.post("/sign-out").headers["location"] == "/console/sign-in"
    console.client.cookies.update(cookies)
    assert console.get("/people").status_code == 303


@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        ({}, None, 403),  # no token
        ({}, "0" * 64, 403),  # of another session
        ({"Sec-Fetch-Site": "cross-site"}, "", 403),
        ({"Sec-Fetch-Site": "same-site"}, "", 403),
        ({"Origin": "https://evil.example"}, "", 403),
        ({"Content-Type": "text/plain"}, "", 415),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://tls.example"}, "", 303),
        ({"Origin": "http://127.0.0.1:8090"}, "", 303),
    ],
)
def test_forms_of_other_websites_do_nothing(
    console: Desk, headers: dict[str, str], token: str | None, status: int
) -> None:
    console.sign_in()
    form = {"role": "viewer", "do": "role"} | ({} if token == "" else {"token": token or ""})
    assert console.post("/people/vic", form, headers=headers).status_code == status


def test_no_form_of_any_page_is_taken_without_its_token(console: Desk) -> None:
    console.sign_in()
    modules = (audit, budget, people, review, sign_in, tenants)
    found = [each for module in modules for each in module.routes if "POST" in each.methods]
    assert len(found) > 15
    for route in found:
        path = re.sub(r"\{\w+\}", "acme", route.path.removeprefix("/console"))
        if path != "/sign-in":  # whoever signs in has no session yet
            assert console.post(path, {"token": "0" * 64}).status_code == 403, path


def test_a_form_with_too_many_fields_is_refused(console: Desk) -> None:
    form = {str(number): "" for number in range(201)}
    assert console.post("/sign-in", form).status_code == 413


def test_another_website_signs_nobody_in(console: Desk) -> None:
    form = {"name": "anna", "password": PASSWORD}
    answer = console.post("/sign-in", form, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@pytest.mark.parametrize("name", ["rita", "vic"])
def test_only_admins_change_people_tenants_keys_and_budgets(console: Desk, name: str) -> None:
    paths = [
        re.sub(r"{\w+}", "anna", route.path).removeprefix("/console")
        for page in (people, tenants, budget)
        for route in page.routes
        if "POST" in (route.methods or ())
    ]
    assert {"/people", "/tenants/anna/try", "/tenants/anna/keys/anna"} < {*paths}
    console.sign_in(name)
    assert "Add somebody" not in console.get("/people").text
    for path in paths:
        answer = console.post(path, {"id": "anna"})
        assert answer.status_code == 403, path
        assert "This takes the role admin" in answer.text
    assert console.events("TENANT_CREATED", "KEY_CREATED", "KEY_REVOKED") == []


def test_an_admin_adds_changes_and_removes_people_and_each_is_on_record(console: Desk) -> None:
    console.sign_in()
    made = console.post("/people", {"name": "Otto@Example.com", "role": "viewer"})
    password = made.text.partition('<code class="secret">')[2].partition("<")[0]
    assert len(password) == 20
    assert console.post("/people", {"name": "otto@example.com", "role": "admin"}).status_code == 422
    console.post("/people/otto@example.com", {"do": "role", "role": "reviewer"})
    again = console.post("/people/otto@example.com", {"do": "password"})
    assert password not in again.text
    assert console.sign_in("otto@example.com", password).status_code == 401
    console.sign_in()
    console.post("/people/otto@example.com", {"do": "remove"})
    found = console.events("ACCOUNT_CREATED", "ACCOUNT_UPDATED", "ACCOUNT_REMOVED")[-4:]
    assert {each["payload"]["actor"] for each in found} == {"account:anna"}
    assert [
        (each["type"], each["payload"]["role"], each["payload"].get("has_new_password"))
        for each in found
    ] == [
        ("ACCOUNT_CREATED", "viewer", None),
        ("ACCOUNT_UPDATED", "reviewer", False),
        ("ACCOUNT_UPDATED", "reviewer", True),
        ("ACCOUNT_REMOVED", "reviewer", None),
    ]
    assert password not in str(found)
    for form in ({"do": "password"}, {"do": "role", "role": "admin"}):
        assert console.post("/people/otto@example.com", form).status_code == 404
    assert "otto@example.com" not in console.get("/people").text


def test_nobody_removes_or_demotes_themselves(console: Desk) -> None:
    console.sign_in()
    answer = console.post("/people/anna", {"do": "remove"})
    assert (answer.status_code, "removes their own account" in answer.text) == (409, True)
    for form in ({"do": "role", "role": "viewer"}, {"do": "password"}):
        assert console.post("/people/ANNA", form).status_code == 409


@pytest.mark.parametrize("name", ["", "-", "Ä", "a b", "a" * 65, "<b>"])
def test_a_name_that_is_none_is_told_at_the_form(console: Desk, name: str) -> None:
    console.sign_in()
    answer = console.post("/people", {"name": name, "role": "viewer"})
    assert (answer.status_code, "A name has 1 to 64 letters" in answer.text) == (422, True)


def test_people_change_their_own_password_which_ends_other_sessions(tmp_path: Path) -> None:
    with desk(tmp_path) as console:
        console.add("vic", AccountRole.VIEWER)
        console.sign_in("vic")
        elsewhere = dict(console.client.cookies)
        console.client.cookies.clear()
        console.sign_in("vic")
        for password, new, words in (
            ("wrong", "a new password", "The current password is another one."),
            (PASSWORD, "short", "12 to 200 characters"),
        ):
            answer = console.post("/account", {"password": password, "new": new})
            assert (answer.status_code, words in answer.text) == (422, True)
        console.run(console.control.audit.settle([login_failed("elsewhere", 1, trace_id="")]))
        failed = [each["payload"]["address"] for each in console.events("ADMIN_LOGIN_FAILED")]
        assert failed == ["127.0.0.1", "elsewhere"]
        answer = console.post("/account", {"password": PASSWORD, "new": "a new password"})
        assert answer.headers["location"] == "/console/account?done=password"
        assert "other sessions have ended" in console.get("/account?done=password").text
        console.client.cookies.clear()
        console.client.cookies.update(elsewhere)
        assert console.get("/account").status_code == 303
        assert console.sign_in("vic").status_code == 401
        assert console.sign_in("vic", "a new password").status_code == 303


def test_a_local_demo_needs_no_account_and_answers_this_machine_alone(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as console:
        assert console.get("/people").status_code == 200
        assert console.post("/people", {"name": "otto", "role": "viewer"}).status_code == 200
        assert console.get("/people", headers={"Host": "evil.example"}).status_code == 403
        assert console.events("ACCOUNT_CREATED")[-1]["payload"]["actor"] == "local-demo"


def test_in_a_local_demo_who_signs_in_has_the_role_of_the_account(tmp_path: Path) -> None:
    with desk(tmp_path, is_local_demo=True) as console:
        assert 'href="/console/sign-in"' in console.get("/account").text
        assert console.get("/sign-in").status_code == 200
        console.add("rita", AccountRole.REVIEWER)
        assert console.sign_in("rita").status_code == 303
        assert "Change your password" in console.get("/account").text
        assert console.post("/people", {"name": "otto", "role": "viewer"}).status_code == 403
        assert console.post("/sign-out").status_code == 303
        console.get("/people")
        assert console.post("/people", {"name": "otto", "role": "viewer"}).status_code == 200


def test_the_sign_in_page_says_how_the_first_account_is_made(tmp_path: Path) -> None:
    with desk(tmp_path) as console:
        assert "groundwire accounts set NAME --role admin" in console.get("/sign-in").text


def test_a_browser_at_the_root_finds_the_console_and_programs_the_api(console: Desk) -> None:
    at_root = console.client.get("/", headers={"Accept": "text/html"})
    assert console.run(at_root).headers["location"] == "/console"
    assert console.run(console.client.get("/")).status_code == 401


def test_pages_have_a_strict_policy_and_are_not_kept(console: Desk) -> None:
    headers = console.get("/sign-in").headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert console.get("/assets/look.css").headers["content-type"].startswith("text/css")
    for name in ("console.html", "nothing.css", "..%2Flook.css", "%00.css"):
        assert console.get(f"/assets/{name}").status_code in (303, 404)
