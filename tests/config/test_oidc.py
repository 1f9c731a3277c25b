"""Settings of the sign-in at an OpenID Connect provider."""

import pytest

from groundwire.config import parse
from groundwire.config.findings import findings
from groundwire.errors import ConfigError

ISSUER = "https://login.example.com/realms/acme"
CALLBACK = "https://gateway.example.com/console/sign-in/callback"
WHOLE = f"oidc: {{issuer: '{ISSUER}', client_id: console, redirect_uri: '{CALLBACK}'}}"


def test_there_is_no_provider_unless_one_is_set() -> None:
    assert parse("", name="c.yaml").oidc.issuer is None


def test_the_secret_comes_from_the_environment_and_is_not_shown() -> None:
    environ = {"GROUNDWIRE_OIDC_CLIENT_SECRET": "s3cret"}
    own = parse(WHOLE, name="c.yaml", environ=environ).oidc
    assert own.client_secret is not None
    assert (own.client_secret.reveal(), "s3cret" in repr(own)) == ("s3cret", False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("issuer", "http://login.example.com"),
        ("issuer", "https://login.example.com?x=1"),
        ("issuer", "https://me:pass@login.example.com"),
        ("issuer", "login.example.com"),
        ("redirect_uri", "http://gateway.example.com/console/sign-in/callback"),
        ("redirect_uri", "https://gateway.example.com/callback"),
        ("redirect_uri", "https://evil.example/x?/console/sign-in/callback"),
        ("redirect_uri", "https://a@evil.example/console/sign-in/callback"),
        ("scope", "profile email"),
        ("scope", "openidx"),
    ],
)
def test_what_would_be_unsafe_or_cannot_work_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"oidc\.{name} = .* is not possible"):
        parse(f"oidc.{name}: '{value}'", name="c.yaml")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("issuer", "http://127.0.0.1:8080"),
        ("issuer", "http://localhost/realms/x"),
        ("redirect_uri", "http://127.0.0.1:8090/console/sign-in/callback"),
        ("redirect_uri", "https://gateway.example.com:8443/console/sign-in/callback"),
        ("scope", "openid"),
        ("scope", "profile openid groups"),
    ],
)
def test_what_is_safe_is_accepted(name: str, value: str) -> None:
    config = parse(WHOLE, name="c.yaml", environ={f"GROUNDWIRE_OIDC_{name.upper()}": value})
    assert config.value(f"oidc.{name}") == value


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_a_provider_needs_the_other_settings_too(name: str) -> None:
    text = WHOLE.replace(f"{name}: ", "admins: ")
    with pytest.raises(ConfigError, match=rf"c\.yaml:1: oidc\.issuer needs oidc\.{name}"):
        parse(text, name="c.yaml")


def test_a_provider_at_which_nobody_gets_a_role_is_a_finding() -> None:
    (found,) = findings(parse(WHOLE, name="c.yaml"))
    assert (found.code, found.where) == ("nobody_signs_in", "c.yaml:1")
    config = parse(WHOLE, name="c.yaml", environ={"GROUNDWIRE_OIDC_VIEWERS": "staff, guests"})
    assert (config.oidc.viewers, findings(config)) == (("staff", "guests"), ())
