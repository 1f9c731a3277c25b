"""Each response names its trace, and no error escapes."""

import http.client
import logging
import re

import pytest

from groundwire.config import parse
from tests.gateway.client import fetch
from tests.gateway.conftest import Running
from tests.gateway.keys import KEY
from tests.gateway.shell import SECRET, shell

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def url(running: Running) -> str:
    return running(shell(parse(f"gateway.api_key: {KEY}", name="")))


def test_each_response_names_a_trace_of_its_own(url: str) -> None:
    ids = [fetch(f"{url}{path}").headers["X-Trace-ID"] for path in ("/livez", "/livez", "/v1/a")]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", each) for each in ids)


def test_the_clients_is_taken(url: str) -> None:
    reply = fetch(f"{url}/v1/a", headers=AUTHORIZED | {"X-Trace-ID": "Order_7-b"})
    assert reply.headers["X-Trace-ID"] == reply.json()["trace_id"] == "Order_7-b"


@pytest.mark.parametrize("given", ["", " ", "a b", "a\tb", "x" * 65, "\u00e9", "a,b", "{}", "../x"])
def test_one_that_cannot_stand_in_a_log_is_not(url: str, given: str) -> None:
    reply = fetch(f"{url}/livez", headers={"X-Trace-ID": given})
    assert re.fullmatch(r"[0-9a-f]{32}", reply.headers["X-Trace-ID"])


@pytest.mark.parametrize("prefix", ["", "order-", "gwa_"])
def test_one_that_holds_a_key_is_not(url: str, prefix: str) -> None:
    given = prefix + "gw_" + "aB3_-" * 4
    reply = fetch(f"{url}/v1/a", headers=AUTHORIZED | {"X-Trace-ID": given})
    assert re.fullmatch(r"[0-9a-f]{32}", reply.json()["trace_id"])
    assert reply.headers["X-Trace-ID"] == reply.json()["trace_id"]
    short = fetch(f"{url}/livez", headers={"X-Trace-ID": "gw_order_7"})
    assert short.headers["X-Trace-ID"] == "gw_order_7"


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        ("0af7651916cd43dd8448eb211c80319c", False),
    ],
)
def test_a_trace_that_other_services_began_goes_on(url: str, given: str, is_taken: bool) -> None:
    found = fetch(f"{url}/livez", headers={"traceparent": given}).headers["X-Trace-ID"]
    assert (found in given) == is_taken
    own = fetch(f"{url}/livez", headers={"traceparent": given, "X-Trace-ID": "mine"})
    assert own.headers["X-Trace-ID"] == "mine"


def test_of_two_none_is(url: str) -> None:
    reply = fetch(f"{url}/livez", headers=[("X-Trace-ID", "a"), ("X-Trace-ID", "b")])
    assert reply.headers.get_all("X-Trace-ID") not in (["a"], ["b"], ["a", "b"])


def test_an_error_is_told_without_what_it_says(url: str, caplog: pytest.LogCaptureFixture) -> None:
    reply = fetch(f"{url}/v1/boom", headers=AUTHORIZED)
    assert reply.status == 500
    assert reply.error == {
        "message": "Something went wrong in the gateway.",
        "type": "server_error",
        "param": None,
        "code": "internal_error",
        "trace_id": reply.headers["X-Trace-ID"],
        "next_step": "Try again; if it stays, report it with the trace id.",
    }
    assert f"{reply.headers['X-Trace-ID']} failed: RuntimeError at " in caplog.text
    assert SECRET not in reply.text + caplog.text


def test_a_response_that_fails_half_way_does_not_look_whole(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(http.client.IncompleteRead):
        fetch(f"{url}/v1/broken", headers=AUTHORIZED)
    assert "failed: RuntimeError at " in caplog.text
    assert SECRET not in caplog.text
