"""Whose request it is, and who is not let in."""

import logging
from base64 import b64encode

import pytest

from groundwire.config import Config, parse
from groundwire.config.keys import key_hash
from groundwire.config.kinds import is_loopback_host
from groundwire.gateway.middleware.auth import host_of
from tests.gateway.client import Reply, fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY, OTHER_KEY
from tests.gateway.shell import shell

CONFIG = parse(f"gateway.api_key: {KEY}\ntenants: {{acme: {{keys: {OTHER_KEY}}}}}", name="c.yaml")


@pytest.fixture
def url(running: Running) -> str:
    return running(shell(CONFIG))


@pytest.fixture
def demo(running: Running) -> str:
    return running(shell(Config(), is_local_demo=True))


def whose(reply: Reply) -> tuple[str, bool]:
    assert reply.status == 200, reply.text
    data = reply.json()
    return data["tenant"], data["passes_authorization"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {OTHER_KEY}"},
        {"authorization": f"bearer  {OTHER_KEY} "},
        {"X-API-Key": OTHER_KEY},
        {"x-groundwire-key": OTHER_KEY},
        {"Authorization": "Bearer sk-upstream", "X-API-Key": OTHER_KEY},
        {"Authorization": f"Bearer {OTHER_KEY}", "X-API-Key": "sk-ant-upstream"},
    ],
)
def test_a_key_comes_in_one_of_three_headers(url: str, headers: dict[str, str]) -> None:
    reply = fetch(f"{url}/v1/models", headers=headers)
    assert whose(reply)[0] == "acme"
    assert reply.json()["key_id"] == key_hash(OTHER_KEY)[:12]


@pytest.mark.parametrize("path", ["/v1/messages", "/openai/v1/messages"])
def test_a_request_without_a_key_is_refused_in_the_form_of_its_api(url: str, path: str) -> None:
    refused = fetch(f"{url}{path}")
    assert (refused.status, refused.json()["type"]) == (401, "error")
    assert "type" not in fetch(f"{url}/v1/chat/completions").json()


def test_with_a_header_of_our_own_authorization_is_the_upstreams(url: str) -> None:
    own = {"X-Groundwire-Key": KEY}
    assert whose(fetch(f"{url}/v1/a", headers=own | {"Authorization": "Bearer sk-1"})) == (
        "default",
        True,
    )
    assert whose(fetch(f"{url}/v1/a", headers={"Authorization": f"Bearer {KEY}"}))[1] is False
    assert whose(fetch(f"{url}/v1/a", headers={"X-API-Key": KEY}))[1] is False


@pytest.mark.parametrize("token", [KEY, OTHER_KEY, "gw_of_another_gateway"])
def test_a_key_of_ours_never_goes_to_the_upstream(url: str, demo: str, token: str) -> None:
    both = {"X-Groundwire-Key": KEY, "Authorization": f"Bearer {token}"}
    assert whose(fetch(f"{url}/v1/a", headers=both))[1] is False
    if token.startswith("gw_of"):
        assert whose(fetch(f"{demo}/v1/a", headers=both))[1] is False


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key", "api-key"])
@pytest.mark.parametrize("scheme", ["", "Bearer ", "Basic "])
def test_nor_does_one_that_was_put_where_the_upstreams_goes(
    url: str, demo: str, name: str, scheme: str
) -> None:
    misplaced = {name: f"{scheme}{KEY}"}
    assert whose(fetch(f"{url}/v1/a", headers={"X-Groundwire-Key": KEY} | misplaced))[1] is False
    assert whose(fetch(f"{demo}/v1/a", headers=misplaced))[1] is False


@pytest.mark.parametrize("login", ["{}:any", "any:{}"])
def test_nor_does_one_within_a_login(url: str, demo: str, login: str) -> None:
    encoded = b64encode(login.format(KEY).encode()).decode()
    misplaced = {"Authorization": f"Basic {encoded}"}
    assert whose(fetch(f"{url}/v1/a", headers={"X-Groundwire-Key": KEY} | misplaced))[1] is False
    assert whose(fetch(f"{demo}/v1/a", headers=misplaced))[1] is False
    other = {"Authorization": "Basic " + b64encode(b"me:sk-upstream").decode()}
    assert whose(fetch(f"{url}/v1/a", headers={"X-Groundwire-Key": KEY} | other))[1] is True


@pytest.mark.parametrize("around", ["a b c d {}", "Basic,{}", 'Digest key="{}"', "a={};b=c"])
def test_nor_does_a_configured_one_whatever_stands_around_it(running: Running, around: str) -> None:
    own = "key-of-a-customer"
    url = running(shell(parse(f"gateway.api_key: {own}", name="c.yaml")))
    for key, passes in ((own, False), (f"{own}s", True)):
        misplaced = {"X-Groundwire-Key": own, "Authorization": around.format(key)}
        assert whose(fetch(f"{url}/v1/a", headers=misplaced))[1] is passes


def test_credentials_of_too_many_words_stay(url: str) -> None:
    for n_words, passes in ((60, True), (2_000, False)):
        many = " ".join(f"w{n}" for n in range(n_words))
        reply = fetch(f"{url}/v1/a", headers={"X-Groundwire-Key": KEY, "Authorization": many})
        assert whose(reply)[1] is passes


@pytest.mark.parametrize(
    "path", ["/v1/models", "/api/v1/nli", "/", "/v1", "//v1/models", "/livez/"]
)
def test_without_a_key_nothing_but_probes_is_answered(url: str, path: str) -> None:
    reply = fetch(f"{url}{path}")
    assert reply.status == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"
    assert reply.error["code"] == "missing_api_key"
    assert reply.error["type"] == "authentication_error"
    assert reply.error["trace_id"] == reply.headers["X-Trace-ID"]
    assert "Authorization: Bearer" in reply.error["next_step"]
    assert fetch(f"{url}/livez").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer gw_unknown_secret"},
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Bearer {KEY[:-1]}"},
        {"X-API-Key": "gw_unknown_secret"},
        {"X-Groundwire-Key": "gw_unknown_secret", "Authorization": f"Bearer {KEY}"},
        {"Authorization": "Bearer \u00ff\u00fe"},
        {"Authorization": f"Bearer sha256:{key_hash(KEY)}"},
    ],
)
def test_an_unknown_key_is_refused_and_not_repeated(
    url: str, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        reply = fetch(f"{url}/v1/models", headers=headers)
    assert reply.status == 401
    assert reply.error["code"] == "invalid_api_key"
    for value in headers.values():
        assert value.removeprefix("Bearer ") not in reply.text + caplog.text


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", f"Basic {KEY}", KEY])
def test_what_is_no_bearer_is_no_key(url: str, value: str) -> None:
    reply = fetch(f"{url}/v1/models", headers={"Authorization": value})
    assert (reply.status, reply.error["code"]) == (401, "missing_api_key")


# The local demo.


def test_the_demo_needs_no_key_and_passes_authorization_on(demo: str) -> None:
    assert whose(fetch(f"{demo}/v1/a")) == ("default", True)
    assert whose(fetch(f"{demo}/v1/a", headers={"Authorization": "Bearer sk-1"})) == (
        "default",
        True,
    )


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""]
)
def test_the_demo_is_called_by_the_name_of_this_machine(demo: str, host: str) -> None:
    for path in ("/v1/models", "/metrics"):
        reply = fetch(f"{demo}{path}", host=host)
        assert (reply.status, reply.error["code"]) == (403, "host_not_local")
    assert fetch(f"{demo}/v1/models", host="localhost:1").status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
def test_the_demo_serves_no_pages_of_websites(demo: str, origin: str) -> None:
    reply = fetch(f"{demo}/v1/models", headers={"Origin": origin})
    assert (reply.status, reply.error["code"]) == (403, "origin_not_local")
    local = {"Origin": "http://localhost:3000"}
    assert fetch(f"{demo}/v1/models", headers=local).status == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("app.localhost", True),
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("::1", True),
        ("[::1]", True),
        ("", False),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("127.0.0.1.example", False),
        ("2130706433", False),
        ("localhost.example", False),
    ],
)
def test_what_names_this_machine(host: str, expected: bool) -> None:
    assert is_loopback_host(host) is expected


@pytest.mark.parametrize(
    ("authority", "host"),
    [("a:80", "a"), ("a", "a"), ("[::1]:80", "[::1]"), ("::1", "::1"), ("a:b", "a:b"), ("", "")],
)
def test_the_host_of_an_authority(authority: str, host: str) -> None:
    assert host_of(authority) == host
