"""The sections of the gateway: what answers requests, and whose they are."""

import pytest

from groundwire.config import Config, parse
from groundwire.config.keys import hash_of, key_hash
from groundwire.config.kinds import Secret
from groundwire.config.show import to_data, to_yaml
from groundwire.config.upstreams import Upstream
from groundwire.errors import ConfigError
from groundwire.policy.policy import Action, Overrides

KEY = "gw_0000000000000000"
HASH = f"sha256:{key_hash(KEY)}"
LISTED = "upstreams: [{name: a, url: 'http://a/v1'}, {name: b, url: 'http://b/v1', weight: 3}]"


def problems(text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(text, name="c.yaml", environ=environ)
    return list(caught.value.problems)


def test_one_upstream_is_a_list_of_one() -> None:
    config = parse("upstream: {url: 'https://a/v1', api_key: sk-1}", name="c.yaml")
    assert config.upstreams == (
        Upstream(name="default", url="https://a/v1", api_key=Secret("sk-1")),
    )
    assert Config().upstreams == ()


def test_several_upstreams_know_their_lines() -> None:
    config = parse(
        "upstreams:\n"
        "  - {name: a, url: 'https://a/v1', api_key: sk-1, models: [gpt-*], weight: 3}\n"
        "  - {name: b, url: 'http://10.0.0.7:8000/v1'}\n",
        name="c.yaml",
    )
    one, other = config.upstreams
    assert (one.models, one.weight, one.api_key) == (("gpt-*",), 3, Secret("sk-1"))
    assert (other.models, other.weight, other.api_key) == (("*",), 1, None)
    assert str(config.origins["upstreams.b"]) == "c.yaml:3"


def test_a_variable_wins_over_the_list() -> None:
    config = parse(LISTED, name="c.yaml", environ={"GROUNDWIRE_UPSTREAM_URL": "http://c/v1"})
    assert [each.url for each in config.upstreams] == ["http://c/v1"]
    assert config.warnings == (
        "GROUNDWIRE_UPSTREAM_URL wins over the upstreams listed at c.yaml:1.",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"upstream.url: http://c\n{LISTED}", "c.yaml:1: upstream.url is the only upstream, and"),
        (f"upstream.api_key: sk-1\n{LISTED}", "c.yaml:1: upstream.api_key goes with upstream.url."),
        ("upstreams: [{name: a}]", "c.yaml:1: an upstream has no 'url', and needs one."),
        ("upstreams: [{name: a, url: b}]", "It must be a URL with http:// or https://"),
        ("upstreams: [{name: a, url: 'http://a?key=1'}]", "without user, password, query"),
        ("upstreams: [{name: a b, url: 'http://a'}]", "name = 'a b' is not possible"),
        ("upstreams: {a: b}", "c.yaml:1: upstreams is a list, and this is none."),
        (
            "upstreams:\n- {name: a, url: 'http://a'}\n- {name: a, url: 'http://b'}",
            "c.yaml:3: the name 'a' is taken, at c.yaml:2.",
        ),
        ("upstreams: [{name: a, url: 'http://a', wieght: 2}]", "did you mean 'weight'?"),
        ("gateway: {release: late}", "It must be one of sentence, deferred."),
        ("gateway: {port: 65536}", "a whole number, from 0 to 65535"),
        ("audit: {text: all}", "one of cut, hash, full"),
        ("audit: {redact: 'secret, emial'}", "did you mean 'email'?"),
        ("audit: {redact: 5}", "none, or some of secret, email"),
        ("audit: {redact: null}", "none, or some of secret, email"),
        ("audit: {redact: [5]}", "none, or some of secret, email"),
        ("audit: {redact: []}", "none, or some of secret, email, iban, card, phone, ip with"),
        ("upstream: {connect_timeout_s: 0}", "a number of seconds, above 0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(text: str, problem: str) -> None:
    assert problem in problems(text)[0]


def test_tenants_have_keys_beside_their_overrides() -> None:
    config = parse(
        f"tenants:\n  acme: {{action: block, keys: [{KEY}]}}\n  other: {{keys: '{HASH[:-1]}0'}}\n",
        name="c.yaml",
    )
    assert config.tenants["acme"] == Overrides(action=Action.BLOCK)
    assert config.tenants["other"] == Overrides()
    assert config.keys == {"acme": (Secret(KEY),), "other": (Secret(f"{HASH[:-1]}0"),)}


def test_a_variable_has_a_key_of_the_default_tenant() -> None:
    config = parse("", name="", environ={"GROUNDWIRE_GATEWAY_API_KEY": KEY})
    assert config.keys == {"default": (Secret(KEY),)}


def test_a_key_and_its_hash_are_the_same_key() -> None:
    assert (
        hash_of(Secret(KEY))
        == hash_of(Secret(HASH))
        == hash_of(Secret(f"sha256:{HASH[7:].upper()}"))
    )


def test_two_tenants_cannot_share_a_key() -> None:
    found = problems(f"tenants:\n  a: {{keys: {KEY}}}\n  b: {{keys: '{HASH}'}}\n")
    assert found == ["c.yaml:3: a key of tenant 'b' is also one of 'a'. Remove one."]
    found = problems(f"tenants: {{a: {{keys: {KEY}}}}}", GROUNDWIRE_GATEWAY_API_KEY=KEY)
    assert found == [
        "GROUNDWIRE_GATEWAY_API_KEY: a key of tenant 'default' is also one of 'a'. Remove one."
    ]


SECRET = "secret of ours"  # with spaces: no key


@pytest.mark.parametrize(
    "text",
    [
        f"tenants: {{a: {{keys: ['{SECRET}']}}}}",
        f"gateway.api_key: '{SECRET}'",
        f"upstream.api_key: '{SECRET}'",
        f"upstreams: [{{name: a, url: 'http://a', api_key: '{SECRET}'}}]",
        "upstream.url: http://me:secret@a/v1",
    ],
)
def test_a_secret_that_cannot_be_is_not_told(text: str) -> None:
    assert "secret" not in "".join(problems(text)).replace("a secret", "")


def test_secrets_are_shown_as_stars_and_not_read_back() -> None:
    config = parse(
        f"tenants: {{a: {{keys: [{KEY}]}}}}\n"
        "upstreams: [{name: a, url: 'http://a', api_key: sk-1}]\n",
        name="c.yaml",
        environ={"GROUNDWIRE_GATEWAY_API_KEY": "gw_1111111111111111"},
    )
    shown = to_yaml(config) + str(to_data(config)) + repr(config)
    assert all(secret not in shown for secret in (KEY, "sk-1", "gw_1111111111111111"))
    again = parse(to_yaml(config), name="shown.yaml")
    assert again.keys == {}
    assert [each.url for each in again.upstreams] == ["http://a"]
    assert to_data(config)["tenants"] == {"a": {"keys": ["***"]}}


def test_what_kubernetes_sets_for_a_service_of_our_name_is_none_of_ours() -> None:
    environ = {
        "GROUNDWIRE_GATEWAY_SERVICE_HOST": "10.0.0.1",
        "GROUNDWIRE_GATEWAY_SERVICE_PORT": "8080",
        "GROUNDWIRE_GATEWAY_SERVICE_PORT_HTTP": "8080",
        "GROUNDWIRE_GATEWAY_PORT": "tcp://10.0.0.1:8080",
        "GROUNDWIRE_GATEWAY_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "GROUNDWIRE_GATEWAY_PORT_8080_TCP_ADDR": "10.0.0.1",
    }
    assert parse("", name="", environ=environ) == Config()
    assert parse("", name="", environ={"GROUNDWIRE_GATEWAY_PORT": "81"}).gateway.port == 81


@pytest.mark.parametrize(
    "written", ["IP, email", "[email, ip]", "email,ip,email"], ids=["text", "list", "twice"]
)
def test_what_is_redacted_is_a_list_of_words_however_it_is_written(written: str) -> None:
    config = parse(f"audit: {{redact: {written if '[' in written else repr(written)}}}", name="c")
    assert config.audit.redact == "email,ip"
