import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.kinds import Secret
from groundwire.config.upstreams import Upstream
from groundwire.gateway.upstream.asking import UpstreamRequest
from groundwire.gateway.upstream.headers import HOP_BY_HOP, Pairs, coming_back, going_up

names = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12)
values = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"))
pairs = st.lists(st.tuples(names, values), max_size=8)


def up(*headers: tuple[str, str], api_key: str | None = None, passes: bool = False) -> Pairs:
    return going_up(headers, api_key=api_key, passes_authorization=passes)


def back(*headers: tuple[str, str], status: int = 200) -> Pairs:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return coming_back(raw, status=status)


def test_what_is_about_the_connection_stays() -> None:
    assert up(("Connection", "close, X-Mine"), ("X-Mine", "1"), ("TE", "trailers")) == []
    assert back(("Connection", "x-mine"), ("X-Mine", "1"), ("Keep-Alive", "5")) == []


def test_repeated_headers_and_their_order_are_kept() -> None:
    headers = [("set-cookie", "a=1"), ("x-b", "2"), ("set-cookie", "c=3")]
    assert back(*headers) == headers
    assert up(("X-A", "1"), ("x-a", "2")) == [("x-a", "1"), ("x-a", "2")]


def test_the_key_of_the_gateway_never_leaves() -> None:
    given_headers = (
        ("Authorization", "Bearer gw_1"),
        ("X-API-Key", "gw_1"),
        ("X-Groundwire-Key", "gw_1"),
        ("api-key", "gw_1"),
    )
    assert up(*given_headers) == []
    assert up(*given_headers, api_key="sk-up") == [("authorization", "Bearer sk-up")]


@pytest.mark.parametrize("name", ["X-Goog-Api-Key", "X-Foo", "Authorization", "Referer"])
@pytest.mark.parametrize("around", ["{}", "a b c d {}", "Basic,{}", 'key="{}"', "x?api_key={}&a=b"])
@pytest.mark.parametrize("prefix", ["gw_", "gwa_"])
def test_nor_does_one_that_a_gateway_made_wherever_it_stands(
    name: str, around: str, prefix: str
) -> None:
    key = prefix + "aB3_-" * 8
    assert up((name, around.format(key)), passes=True) == []


@pytest.mark.parametrize("value", ["gw_short", "bgw_" + "a" * 43, "Bearer sk-" + "a" * 43, "gwb_"])
def test_what_is_no_key_of_a_gateway_goes_up(value: str) -> None:
    assert up(("X-Foo", value)) == [("x-foo", value)]


def test_a_caller_who_has_a_key_for_the_upstream_uses_it() -> None:
    own = ("authorization", "Bearer sk-own")
    assert up(own, ("X-Groundwire-Key", "gw_1"), api_key="sk-up", passes=True) == [own]
    assert up(("x-api-key", "sk-own"), api_key="sk-up", passes=True) == [("x-api-key", "sk-own")]


def test_a_caller_who_has_none_gets_that_of_the_configuration() -> None:
    assert up(api_key="sk-up", passes=True) == [("authorization", "Bearer sk-up")]


@pytest.mark.parametrize("name", ["Cookie", "Host", "Content-Length", "X-HTTP-Method-Override"])
def test_what_the_upstream_must_not_have_from_the_caller_stays(name: str) -> None:
    assert up((name, "1")) == []


def test_another_accept_encoding_stands_in_place_of_the_callers() -> None:
    given_headers = [("accept-encoding", "zstd"), ("Accept-Encoding", "br")]
    pairs = going_up(
        given_headers, api_key=None, passes_authorization=False, accept_encoding="gzip"
    )
    assert pairs == [("accept-encoding", "gzip")]
    assert [value for _, value in up(*given_headers)] == ["zstd", "br"]


@pytest.mark.parametrize(
    "name", ["X-Trace-ID", "x-vsr-hallucination-detected", "X-Groundwire-Outcome", "Date"]
)
def test_an_upstream_says_nothing_in_our_name(name: str) -> None:
    assert back((name, "forged")) == []


def test_a_length_stays_where_it_is_that_of_the_body() -> None:
    assert back(("Content-Length", "5")) == [("content-length", "5")]
    assert back(("Content-Length", "5"), status=304) == []
    assert back(("Content-Length", "5"), ("Transfer-Encoding", "chunked")) == []


def test_a_header_that_could_end_a_line_is_left_out() -> None:
    assert coming_back([(b"x-a", b"1\r\nset-cookie: b"), (b"bad name", b"1")], status=200) == []


@given(pairs, st.booleans())
def test_what_goes_up_is_of_the_caller_and_never_hop_by_hop(given_: Pairs, passes: bool) -> None:
    result = up(*given_, passes=passes)
    assert [pair for pair in given_ if pair in result] == result
    assert not {name for name, _ in result} & HOP_BY_HOP


@given(pairs)
def test_what_comes_back_is_lower_case_and_fits_in_a_line(given_: Pairs) -> None:
    result = back(*given_)
    assert all(name == name.lower() for name, _ in result)
    assert not any(set(value) & {"\r", "\n", "\0"} for _, value in result)
    assert set(result) <= {(name.lower(), value) for name, value in given_}


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("api.anthropic.com", ["x-api-key"]),
        ("notanthropic.com", ["x-api-key", "authorization"]),
        ("127.0.0.1", ["x-api-key", "authorization"]),
    ],
)
def test_only_anthropic_itself_gets_its_key_in_one_header(host: str, names: list[str]) -> None:
    request = UpstreamRequest(
        method="POST",
        path="messages",
        query="",
        headers=(),
        body=b"{}",
        model=None,
        passes_authorization=False,
    )
    upstream = Upstream(name="a", url=f"https://{host}/v1", api_key=Secret("sk-up"))
    assert sorted(name for name, _ in request.headers_for(upstream)) == sorted(names)
