"""Sign-in at an OpenID Connect provider, with a real one on this machine."""

import asyncio
import json
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from groundwire.config import parse
from groundwire.control.accounts import Account, Accounts, Identity
from groundwire.control.audit.control_events import login_failed
from groundwire.errors import MissingExtraError
from groundwire.gateway.console.oidc import MAX_WAITING
from groundwire.gateway.console.oidc import Provider as OpenIdProvider
from groundwire.gateway.console.services import MAX_OF_ADDRESS, MAX_OF_NAME
from groundwire.gateway.http.problems import Problem
from tests.gateway.console import provider as parts
from tests.gateway.console.desk import PASSWORD, Desk, desk
from tests.gateway.console.provider import CALLBACK, CLIENT, KEY, SECRET, Provider, providing
from tests.gateway.console.test_hostile import CORPUS, plain, some_or_all

pytestmark = pytest.mark.merge

#: Changes the answer to a code.
Answer = Callable[[dict[str, Any]], Any]

GROUPS = "admins: console-admins, reviewers: [judges, rita], viewers: 'staff, guests'"


def settings(issuer: str, more: str = GROUPS) -> str:
    return (
        f"oidc: {{issuer: '{issuer}', client_id: {CLIENT}, client_secret: '{SECRET}', "
        f"redirect_uri: '{CALLBACK}', {more}}}"
    )


@pytest.fixture(scope="module")
def served() -> Iterator[Provider]:
    with providing() as provider:
        yield provider


@pytest.fixture(scope="module")
def shared(served: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("oidc"), settings(served.url)) as made:
        made.add("anna")
        yield made


_NUMBERS = count(1)


@pytest.fixture
def provider(served: Provider) -> Provider:
    """The provider, which does as it should; somebody else signs in for each test."""
    fresh = Provider(url=served.url)
    fresh.claims["sub"] = f"number {next(_NUMBERS)}"
    for each in fields(fresh):
        setattr(served, each.name, getattr(fresh, each.name))
    return served


@pytest.fixture
def console(shared: Desk, provider: Provider) -> Desk:
    """A console with the account anna, before a fresh browser at another address."""
    shared.move(f"at {provider.claims['sub']}")
    return shared


def recorded(console: Desk, provider: Provider, *types: str) -> list[dict[str, Any]]:
    """What is on record, of some types, about whoever signs in in this test."""
    console.run(console.control.audit.settle([login_failed("elsewhere", 1, trace_id="")]))
    address, person = f"at {provider.claims['sub']}", provider.claims["sub"]
    found = [each["payload"] for each in console.events(*types)]
    return [
        each for each in found if address == each.get("address") or person == each.get("subject")
    ]


def accounts_of(console: Desk, *subjects: str) -> list[Account]:
    """The accounts of people by the provider's name for them."""
    found = console.run(Accounts(console.control.store).all())
    return [each for each in found if each.identity and each.identity.subject in subjects]


def left(console: Desk, **query: str) -> str:
    """Press the button, and return the URL at the provider."""
    answer = console.get("/sign-in/provider", params=query)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def agreed(url: str) -> str:
    """Sign in at the provider, and return the path and query to which it sends the browser."""
    answer = httpx.get(url)
    assert answer.status_code == 302, answer.text
    back = answer.headers["location"]
    assert back.startswith(f"{CALLBACK}?code=")
    return back.partition("/console")[2]


def arrived(console: Desk, **query: str) -> httpx.Response:
    """Sign in, there and back."""
    return console.get(agreed(left(console, **query)))


def test_whoever_signs_in_at_the_provider_has_an_account_with_the_role_of_a_group(
    console: Desk, provider: Provider
) -> None:
    answer = arrived(console, next="/console/people?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/people?x=1")
    cookies = answer.headers.get_list("set-cookie")
    assert any("groundwire_session=" in each and "HttpOnly" in each for each in cookies)
    assert any('groundwire_sign_in=""' in each and "Max-Age=0" in each for each in cookies)
    subject = provider.claims["sub"]
    name = Identity(issuer=provider.url, subject=subject, called="Anna").account
    assert name.startswith("oidc:anna-")
    page = console.get("/account").text
    assert name in page
    assert "Change your password" not in page
    made, entered = recorded(console, provider, "ACCOUNT_CREATED", "ADMIN_LOGIN")
    assert made == {
        **{"actor": f"account:{name}", "account": name, "role": "admin"},
        **{"issuer": provider.url, "subject": subject},
    }
    assert (entered["actor"], entered["role"]) == (f"account:{name}", "admin")
    assert SECRET not in str(console.events())
    # The session is as any other: forms need its token.
    assert console.post("/people", {"name": "x", "role": "viewer", "token": ""}).status_code == 403
    assert console.post("/people", {"name": "otto", "role": "viewer"}).status_code == 200
    assert console.post("/sign-out").status_code == 303
    assert console.get("/people").status_code == 303


def test_the_request_has_pkce_and_is_bound_to_the_browser(console: Desk) -> None:
    one, other = (parse_qs(urlsplit(left(console)).query) for _ in range(2))
    assert one["code_challenge_method"] == ["S256"]
    assert one["redirect_uri"] == [CALLBACK]
    assert one["scope"] == ["openid profile"]
    for name in ("state", "nonce", "code_challenge"):
        assert len(one[name][0]) >= 43
        assert one[name] != other[name]
    assert len({one[name][0] for name in ("state", "nonce", "code_challenge")}) == 3


def test_the_person_is_known_by_issuer_and_subject_alone(console: Desk, provider: Provider) -> None:
    arrived(console)
    (before,) = accounts_of(console, provider.claims["sub"])
    provider.claims |= {"preferred_username": "Anna Smith", "email": "other@example.com"}
    arrived(console)
    (same,) = accounts_of(console, provider.claims["sub"])
    assert before.name == same.name
    entered = recorded(console, provider, "ADMIN_LOGIN")
    assert [each["actor"] for each in entered] == [f"account:{same.name}"] * 2
    provider.claims |= {"sub": "4711", "preferred_username": "Anna", "email": "anna@example.com"}
    arrived(console)
    (other,) = accounts_of(console, "4711")
    assert other.name.startswith("oidc:anna-")
    assert other.name != same.name


def test_an_account_with_a_password_is_never_that_of_a_provider(
    console: Desk, provider: Provider
) -> None:
    provider.claims["preferred_username"] = "anna"
    arrived(console)
    name = accounts_of(console, provider.claims["sub"])[0].name
    assert name != "anna"
    console.client.cookies.clear()
    for password in ("", "x"):  # an account of a provider has no password that is right
        assert console.sign_in(name, password).status_code == 401
    assert console.sign_in("anna").status_code == 303
    answer = console.post(f"/people/{name}", {"do": "password"})
    assert (answer.status_code, "can only be removed" in answer.text) == (422, True)
    assert console.post("/people", {"name": name, "role": "admin"}).status_code == 422
    assert console.post(f"/people/{name}", {"do": "remove"}).status_code == 303


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["guests"], "viewer"),
        (["guests", "rita"], "reviewer"),
        (["judges", "console-admins"], "admin"),
        ("staff", "viewer"),
    ],
)
def test_the_highest_role_of_all_groups_holds(
    console: Desk, provider: Provider, groups: object, role: str
) -> None:
    provider.claims["groups"] = groups
    assert arrived(console).status_code == 303
    assert recorded(console, provider, "ACCOUNT_CREATED")[0]["role"] == role


@pytest.mark.parametrize(
    "groups", [None, [], "", "console", ["Staff"], {"staff": 1}, 7, [["staff"], None]]
)
def test_whoever_has_no_group_with_a_role_is_refused(
    console: Desk, provider: Provider, groups: object
) -> None:
    provider.claims["groups"] = groups
    answer = arrived(console)
    assert (answer.status_code, "you have no role in this console" in answer.text) == (403, True)
    assert is_refused(console, provider)


def is_refused(console: Desk, provider: Provider) -> bool:
    """Whether a refusal is on record; nobody has an account or a session by it."""
    assert accounts_of(console, str(provider.claims["sub"])) == []
    assert console.get("/people").status_code == 303
    return len(recorded(console, provider, "ADMIN_LOGIN_FAILED")) == 1


def test_another_role_ends_the_sessions_before(console: Desk, provider: Provider) -> None:
    arrived(console)
    elsewhere = dict(console.client.cookies)
    provider.claims["groups"] = ["guests"]
    arrived(console)
    (changed,) = recorded(console, provider, "ACCOUNT_UPDATED")
    assert (changed["role_before"], changed["role"]) == ("admin", "viewer")
    assert console.get("/people").status_code == 200
    console.client.cookies.clear()
    console.client.cookies.update(elsewhere)
    assert console.get("/people").status_code == 303


def test_whoever_has_lost_all_groups_loses_the_sessions_before(
    console: Desk, provider: Provider
) -> None:
    arrived(console)
    assert console.get("/people").status_code == 200
    provider.claims["groups"] = []
    assert arrived(console).status_code == 403
    assert console.get("/people").status_code == 303


def test_browsers_that_others_send_back_lock_nobody_out(console: Desk, provider: Provider) -> None:
    found = {console.get("/sign-in/callback").status_code for _ in range(MAX_OF_ADDRESS + 1)}
    assert found == {400}
    assert arrived(console).status_code == 303


@pytest.mark.parametrize("after", ["//[x", "https://elsewhere.example", "/console/" + "é" * 999])
def test_an_odd_page_to_go_on_to_ends_no_sign_in(
    console: Desk, provider: Provider, after: str
) -> None:
    answer = arrived(console, next=after)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/console")


PUBLIC = KEY.as_dict(private=False)

#: An ID token that is not valid, and the words of the page that tell why.
BAD_CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "wrong nonce": ({"nonce": "0" * 64}, "invalid_claim nonce"),
    "no nonce": ({"nonce": None}, "nonce"),
    "another issuer": ({"iss": "https://evil.example"}, "invalid_claim iss"),
    "issuer with a slash": ({"iss": "/"}, "invalid_claim iss"),
    "no issuer": ({"iss": None}, "iss"),
    "another audience": ({"aud": "another-console"}, "invalid_claim aud"),
    "other audiences": ({"aud": ["a", "b"], "azp": CLIENT}, "invalid_claim aud"),
    "no audience": ({"aud": None}, "aud"),
    "audiences without azp": ({"aud": [CLIENT, "another"]}, "missing_claim azp"),
    "azp of another": ({"aud": [CLIENT, "another"], "azp": "another"}, "invalid_claim azp"),
    "azp of another, one audience": ({"azp": "another"}, "invalid_claim azp"),
    "expired": ({"exp": int(time.time()) - 120}, "expired_token exp"),
    "never expires": ({"exp": None}, "exp"),
    "expiry as text": ({"exp": "9999999999"}, "invalid_claim exp"),
    "from the future": ({"iat": int(time.time()) + 86_400}, "invalid_claim iat"),
    "not valid yet": ({"nbf": int(time.time()) + 86_400}, "invalid_claim nbf"),
    "no subject": ({"sub": None}, "sub"),
    "empty subject": ({"sub": ""}, "sub"),
    "subject as number": ({"sub": 815}, "sub"),
    "long subject": ({"sub": "x" * 256}, "sub"),
    "subject with a null": ({"sub": "x\x00"}, "sub"),
    "subject that is not ASCII": ({"sub": "ä"}, "sub"),
}


@pytest.mark.parametrize("name", BAD_CLAIMS)
def test_an_id_token_with_wrong_claims_is_refused(
    console: Desk, provider: Provider, name: str
) -> None:
    wrong, words = BAD_CLAIMS[name]
    wrong = {k: provider.url + v if v == "/" else v for k, v in wrong.items()}
    provider.changed = lambda claims: {
        each: value for each, value in (claims | wrong).items() if value is not None
    }
    require_refused(console, provider, arrived(console), words)


def require_refused(console: Desk, provider: Provider, answer: httpx.Response, words: str) -> None:
    assert answer.status_code == 401
    assert "You are not signed in" in answer.text
    assert words in answer.text
    assert "groundwire_session" not in answer.headers.get("set-cookie", "")
    assert is_refused(console, provider)


OTHER = RSAKey.generate_key(2048, {"kid": "first"})


#: How an ID token is signed that is not valid, and the words of the page that tell why.
BAD_SIGNATURES: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "alg none": (lambda claims: written({"alg": "none"}, claims), "unsupported_algorithm"),
    "alg None": (lambda claims: written({"alg": "None"}, claims), "unsupported_algorithm"),
    "alg none with a signature": (
        lambda claims: written({"alg": "none", "kid": "first"}, claims, signature_of(claims)),
        "unsupported_algorithm",
    ),
    "no alg": (lambda claims: written({"kid": "first"}, claims), "missing_algorithm"),
    "alg as list": (lambda claims: written({"alg": ["RS256"]}, claims), "not valid"),
    # The oldest attack on such tokens: the public key as the secret of an HMAC.
    "the public key as a secret": (
        lambda claims: parts.signed(claims, key=OctKey.import_key(str(PUBLIC["n"])), alg="HS256"),
        "unsupported_algorithm",
    ),
    "the secret of the client": (
        lambda claims: parts.signed(claims, key=OctKey.import_key(SECRET * 2), alg="HS256"),
        "unsupported_algorithm",
    ),
    "another key": (lambda claims: parts.signed(claims, key=OTHER), "bad_signature"),
    "another key, which it names": (
        lambda claims: jwt.encode(
            {"alg": "RS256", "kid": "first", "jwk": OTHER.as_dict(private=False)}, claims, OTHER
        ),
        "bad_signature",
    ),
    "an unknown key": (
        lambda claims: jwt.encode({"alg": "RS256", "kid": "x"}, claims, KEY),
        "invalid_key_id",
    ),
    "half a signature": (lambda claims: parts.signed(claims)[:-99], "bad_signature"),
    "no signature": (
        lambda claims: written({"alg": "RS256", "kid": "first"}, claims),
        "bad_signature",
    ),
    "other claims": (
        lambda claims: written(
            {"alg": "RS256", "kid": "first"}, claims | {"groups": "x"}, signature_of(claims)
        ),
        "bad_signature",
    ),
    "an unknown extension": (
        lambda claims: written({"alg": "RS256", "crit": ["x"], "x": 1}, claims),
        "unsupported_header",
    ),
    "no token": (lambda claims: "no.token", "not valid"),
    "nothing": (lambda claims: "", "not valid"),
}


def written(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    """Write a token with any header and signature."""
    coded = (urlsafe_b64encode(json.dumps(each).encode()) for each in (header, claims))
    return ".".join([*(each.decode().rstrip("=") for each in coded), signature])


def signature_of(claims: dict[str, Any]) -> str:
    return parts.signed(claims).rpartition(".")[2]


@pytest.mark.parametrize("name", BAD_SIGNATURES)
def test_an_id_token_with_a_wrong_signature_is_refused(
    console: Desk, provider: Provider, name: str
) -> None:
    provider.signed, words = BAD_SIGNATURES[name]
    require_refused(console, provider, arrived(console), words)


@pytest.mark.parametrize(
    ("alg", "key"),
    [
        ("PS256", KEY),
        ("RS512", KEY),
        ("ES256", ECKey.generate_key("P-256", {"kid": "first"})),
        ("Ed25519", OKPKey.generate_key("Ed25519", {"kid": "first"})),
        pytest.param(
            "EdDSA",
            OKPKey.generate_key("Ed25519", {"kid": "first"}),
            marks=pytest.mark.filterwarnings("ignore:EdDSA is deprecated"),
        ),
    ],
)
def test_other_signatures_are_accepted_and_keys_are_those_of_now(
    console: Desk, provider: Provider, alg: str, key: Key
) -> None:
    provider.signed = lambda claims: parts.signed(claims, key=key, alg=alg)
    provider.keys = [OTHER.as_dict(private=False)]
    assert arrived(console).status_code == 401
    provider.keys = [OTHER.as_dict(private=False) | {"kid": "old"}, key.as_dict(private=False)]
    assert arrived(console).status_code == 303


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": "0" * 64}, "begun in another browser"),
        ({"state": ""}, "begun in another browser"),
        ({"code": "invented"}, "the error invalid_grant"),
        ({"iss": "https://evil.example"}, "another provider"),
        ({"code": None, "error": "access_denied"}, "the error access_denied"),
        ({"code": None, "error": "<b>x</b>"}, "none that is known"),
        ({"code": None}, "none that is known"),
    ],
)
def test_a_wrong_way_back_is_refused(
    console: Desk, provider: Provider, change: dict[str, str | None], words: str
) -> None:
    query = parse_qs(urlsplit(agreed(left(console))).query)
    changed = {name: values[0] for name, values in query.items()} | change
    answer = console.get(
        "/sign-in/callback", params={name: value for name, value in changed.items() if value}
    )
    assert (answer.status_code in (400, 401), words in answer.text) == (True, True)
    assert (is_refused(console, provider), provider.n_codes) == (True, 0)


def test_another_browser_cannot_end_a_sign_in(console: Desk, provider: Provider) -> None:
    back = agreed(left(console))
    console.client.cookies.clear()
    assert console.get(back).status_code == 400  # no cookie
    left(console)
    assert console.get(back).status_code == 400  # the cookie of another sign-in
    # There is one event for a minute of failures.
    assert (is_refused(console, provider), provider.n_codes) == (True, 0)


def test_a_code_is_of_no_use_without_the_verifier_of_its_browser(
    console: Desk, provider: Provider
) -> None:
    """Whoever steals a code puts it into a sign-in of their own; PKCE and the nonce stop that."""
    stolen = parse_qs(urlsplit(agreed(left(console))).query)["code"][0]
    own = parse_qs(urlsplit(agreed(left(console))).query)["state"][0]
    answer = console.get("/sign-in/callback", params={"code": stolen, "state": own})
    require_refused(console, provider, answer, "the error invalid_grant")
    assert provider.n_codes == 0


def test_a_code_is_accepted_once(console: Desk, provider: Provider) -> None:
    back = agreed(left(console))
    cookies = dict(console.client.cookies)
    assert console.get(back).status_code == 303
    console.client.cookies.clear()
    console.client.cookies.update(cookies)
    answer = console.get(back)
    assert (answer.status_code, "the error invalid_grant" in answer.text) == (401, True)
    assert provider.n_codes == 1
    assert len(recorded(console, provider, "ADMIN_LOGIN_FAILED")) == 1


def test_sign_ins_that_fail_cannot_be_tried_without_end(console: Desk, provider: Provider) -> None:
    back = agreed(left(console)).partition("code=")[0] + "code=x"
    url = f"{back}&state={parse_qs(urlsplit(left(console)).query)['state'][0]}"
    statuses = [console.get(url).status_code for _ in range(MAX_OF_NAME + 1)]
    assert statuses == [401] * MAX_OF_NAME + [429]


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (lambda token: {k: v for k, v in token.items() if k != "id_token"}, 401, "no ID token"),
        (lambda token: token | {"id_token": None}, 401, "no ID token"),
        (lambda token: token | {"id_token": ["x"]}, 401, "no ID token"),
        (lambda token: token | {"more": "x" * 600_000}, 502, "more than 500,000 bytes"),
        (lambda token: [token], 502, "no JSON object"),
    ],
)
def test_an_answer_to_a_code_that_cannot_be_used_is_told(
    console: Desk, provider: Provider, answer: Answer, status: int, words: str
) -> None:
    provider.answered = answer
    found = arrived(console)
    assert (found.status_code, words in found.text) == (status, True)
    assert is_refused(console, provider) == (status == 401)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"issuer": None}, "names another issuer"),
        ({"authorization_endpoint": "http://evil.example/a"}, "authorization_endpoint is no URL"),
        ({"authorization_endpoint": None}, "authorization_endpoint is no URL"),
    ],
)
def test_a_provider_that_describes_itself_wrongly_is_not_used(
    console: Desk, provider: Provider, about: dict[str, Any], words: str
) -> None:
    provider.about = about
    answer = console.get("/sign-in/provider")
    assert (answer.status_code, words in answer.text) == (502, True)


@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri"])
def test_secrets_go_to_no_address_without_tls(console: Desk, provider: Provider, name: str) -> None:
    back = agreed(left(console))
    provider.about = {name: "http://192.0.2.1/x"}
    answer = console.get(back)
    assert (answer.status_code, f"its {name} is no URL with https://" in answer.text) == (502, True)


@pytest.mark.parametrize("status", [302, 404, 500, 503])
def test_a_provider_that_fails_is_told_and_passwords_still_work(
    console: Desk, provider: Provider, status: int
) -> None:
    back = agreed(left(console))
    provider.status = status
    for path in ("/sign-in/provider", back):
        answer = console.get(path)
        assert (answer.status_code, "cannot be used" in answer.text) == (502, True)
        assert "Accounts with a password can sign in" in answer.text
    assert recorded(console, provider, "ADMIN_LOGIN_FAILED") == []
    assert console.sign_in("anna", PASSWORD).status_code == 303


def test_a_provider_that_is_down_is_told_and_passwords_still_work(tmp_path: Path) -> None:
    with desk(tmp_path, settings("http://127.0.0.1:9")) as console:
        console.add("anna")
        answer = console.get("/sign-in/provider")
        assert (answer.status_code, "does not answer" in answer.text) == (502, True)
        assert "Sign in at 127.0.0.1" in console.get("/sign-in").text
        assert console.sign_in("anna", PASSWORD).status_code == 303


def test_without_a_provider_there_is_no_button_and_no_page(tmp_path: Path) -> None:
    with desk(tmp_path) as console:
        assert "Sign in at" not in console.get("/sign-in").text
        for path in ("/sign-in/provider", "/sign-in/callback?code=x&state=x"):
            assert console.get(path).status_code == 404


@pytest.mark.parametrize(
    ("methods", "name"),
    [(None, "basic"), (["client_secret_post"], "post"), (["client_secret_basic"], "basic")],
)
def test_the_secret_is_sent_as_the_provider_wants_it(
    console: Desk, provider: Provider, methods: list[str] | None, name: str
) -> None:
    provider.about = {"token_endpoint_auth_methods_supported": methods}
    assert arrived(console).status_code == 303
    assert provider.authenticated == f"client_secret_{name}"


@some_or_all
def test_what_comes_back_stays_text(console: Desk, provider: Provider, step: int) -> None:
    names = ("state", "code", "error", "error_description", "iss", "next")
    for number, text in enumerate(CORPUS[::step]):
        console.move(f"10.0.0.{number}")
        plain(console.get("/sign-in", params={"next": text}).text)
        plain(console.get("/sign-in/callback", params=dict.fromkeys(names, text)).text)
        left(console, next=text)
        plain(console.get("/sign-in/callback", params=dict.fromkeys(names, text)).text)
        provider.claims |= {"sub": f"{text.encode().hex()[:250]}{step}", "preferred_username": text}
        answer = arrived(console, next=text)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console")
        plain(console.get("/account").text)
    plain(console.get("/people").text)


def test_without_the_extra_the_start_says_which_one_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "groundwire.gateway.console.oidc", raising=False)
    monkeypatch.setitem(sys.modules, "authlib.oauth2.client", None)
    with desk(tmp_path) as console:  # nobody asked for it
        assert console.get("/sign-in").status_code == 200
    with (
        pytest.raises(MissingExtraError, match=r"oidc\.issuer needs .*pip install '\.\[oidc\]'"),
        desk(tmp_path, settings("https://login.example.com")),
    ):
        pass


@pytest.mark.asyncio
async def test_requests_that_wait_for_a_slow_provider_are_limited() -> None:
    released = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await released.wait()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        oidc = OpenIdProvider(parse(settings(url), name="").oidc)
        waiting = [asyncio.create_task(oidc.leave("secret")) for _ in range(MAX_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refused:
            await oidc.leave("secret")
        assert "too many sign-ins" in refused.value.message
        released.set()
        for failed in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(failed, Problem)
            assert "does not answer" in failed.message
        with pytest.raises(Problem) as freed:
            await oidc.leave("secret")
        assert "does not answer" in freed.value.message
