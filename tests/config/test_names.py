"""Whatever a setting has for a value, another system's name for it reads back the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import Config, Format, parse
from groundwire.config.kinds import Secret, written
from groundwire.config.names import NAMES, WITHOUT_EFFECT, Alias, same
from groundwire.config.tree import SETTINGS
from groundwire.errors import ConfigError
from tests.tiers import costly

TEXTS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1).filter(
    lambda text: text.lower() not in ("~", "null", "***")
)
#: Values of settings that take neither any text nor a number nor one of some words.
SPECIAL = {
    "gateway.api_key": st.just(Secret("gw_0000000000000000")),
    "admin.api_key": st.just(Secret("gw_0000000000000000")),
    "store.url": st.sampled_from(
        ["sqlite:////data/groundwire.db", "postgresql://gw:a%2Fb@db.example:5433/groundwire"]
    ).map(Secret),
    "upstream.url": st.sampled_from(["https://a.example/v1", "http://10.0.0.7:8000"]),
    "oidc.issuer": st.none(),  # one takes two further settings
    "oidc.redirect_uri": st.just("https://a.example/console/sign-in/callback"),
    "oidc.scope": st.sampled_from(["openid", "openid profile groups"]),
    "otel.endpoint": st.just("http://collector:4318"),
    "verify.base_url": st.sampled_from(["https://a.example/v1", "http://127.0.0.1:1234/v1"]),
    "verify.service_url": st.just("https://a.example/v1"),
    "verify.citation_regex": st.just(r"\[(?P<id>\d+)\]"),
    "audit.redact": st.sampled_from(["none", "secret", "secret,email,ip"]),
    **dict.fromkeys(
        ("gate.device", "detector.device", "explain.device"),
        st.just("cpu") | st.integers(0, 99).map("cuda:{}".format),
    ),
}


def values_of(path: str) -> st.SearchStrategy[Any]:
    kind = SETTINGS[path].kind
    values = SPECIAL[path] if path in SPECIAL else _values(kind.schema())
    if kind.is_secret and path not in SPECIAL:
        values = TEXTS.filter(lambda text: "\x7f" not in text).map(Secret)
    return st.none() | values if kind.is_optional else values


def _values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        return st.one_of([_values(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "string":
        return TEXTS
    if schema["type"] == "array":
        return st.sampled_from([("report",), ("<kb_hit>", "Vorgang")])
    is_low_open, is_high_open = "exclusiveMinimum" in schema, "exclusiveMaximum" in schema
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1e6))
    high = schema.get("maximum", schema.get("exclusiveMaximum", 1e6))
    if schema["type"] == "integer":
        return st.integers(int(low), int(high))
    return st.floats(low, high, exclude_min=is_low_open, exclude_max=is_high_open)


def shapes() -> list[Alias]:
    """One alias for each type of setting; others are read the same way."""
    found = {
        (id(SETTINGS[each.path].kind.type), each.is_shared): each
        for each in NAMES[::-1]
        if each.conversion is same
    }
    return list(found.values())


@costly(0.2)  # of each of some 50 names
@given(st.data())
@pytest.mark.parametrize("alias", shapes(), ids=lambda each: each.name or each.variable)
def test_a_value_written_under_a_name_reads_back_the_same(
    alias: Alias, data: st.DataObject
) -> None:
    value = data.draw(values_of(alias.path))
    is_secret = isinstance(value, Secret)
    plain = value.reveal() if is_secret else written(value)
    if alias.name:
        document = f"{alias.name}: {json.dumps(plain)}"
        assert parse(document, name="").value(alias.path) == value
    if alias.variable:
        listed = ",".join(plain) if isinstance(plain, list) else json.dumps(plain)
        text = plain if isinstance(plain, str) else listed
        more = {"GROUNDWIRE_VERIFY_VERIFIER": "openai"} if alias.is_shared else {}
        config = parse("", name="", environ={alias.variable: text, **more})
        assert config.value(alias.path) == value
        assert config.origins[alias.path].source == alias.variable


def test_the_default_of_a_setting_is_of_its_kind() -> None:
    for setting in SETTINGS.values():
        assert setting.kind.read(written(setting.default)) == setting.default


def test_every_name_stands_once() -> None:
    names = [alias.name for alias in NAMES if alias.name] + list(WITHOUT_EFFECT)
    variables = [alias.variable for alias in NAMES if alias.variable]
    assert len(names) == len(set(names))
    assert len(variables) == len(set(variables))


DIRECTOR = """\
span_detection_enabled: true
span_model: anulum/director-ragtruth-token-modernbert
span_model_revision: 0d5bfc21044de07f764c99a9ca1094ccd516de93
span_token_threshold: 0.95
span_min_tokens: 2
span_max_length: 1024
span_device: -1
on_fail: reject
"""


def test_the_fields_of_director_ai() -> None:
    config = parse(DIRECTOR, name="")
    detector = config.detector
    assert config.check.enabled
    assert config.check.action == "block"
    assert detector.name == "anulum/director-ragtruth-token-modernbert"
    assert detector.revision == "0d5bfc21044de07f764c99a9ca1094ccd516de93"
    assert (detector.operating_point, detector.min_pieces, detector.max_length) == (0.95, 2, 1024)
    assert detector.device == "cpu"
    assert config.formats == (Format.DIRECTOR,)


@pytest.mark.parametrize(
    ("field", "path", "value"),
    [
        ({"span_model": "groundwire"}, "detector.name", "reader"),
        ({"span_model_revision": ""}, "detector.revision", None),
        ({"span_device": 1}, "detector.device", "cuda:1"),
        ({"on_fail": "warn"}, "check.action", "header"),
        ({"on_fail": "raise"}, "check.action", "block"),
        ({"on_fail": "log"}, "check.action", "log"),
        ({"on_fail": "metadata"}, "check.action", "flag"),
    ],
)
def test_what_director_ai_says_differently(
    field: dict[str, object], path: str, value: object
) -> None:
    assert parse(json.dumps(field), name="").value(path) == value


@pytest.mark.parametrize(
    "field", [{"span_token_threshold": 1.5}, {"span_min_tokens": 0}, {"span_device": -2}]
)
def test_what_director_ai_refuses_is_refused(field: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="is not possible"):
        parse(json.dumps(field), name="")


def berry(**arguments: object) -> Config:
    """A configuration with arguments of Berry's tool."""
    return parse(json.dumps({"detect_hallucination": arguments}), name="")


def test_the_documented_call_of_berry() -> None:
    verify = berry(require_citations=True, context_mode="cited", default_target=0.9).verify
    assert (verify.require_citations, verify.context_mode, verify.target) == (True, "cited", 0.9)


def test_the_defaults_of_verification_are_those_of_berrys_page() -> None:
    verify = parse("", name="").verify
    assert (verify.target, verify.max_claims, verify.require_citations) == (0.95, 25, False)
    assert (verify.context_mode, verify.timeout_s, verify.claim_split) == ("cited", 60, "sentences")
    assert (verify.units, verify.placeholder, verify.temperature) == ("bits", "[REDACTED]", 0)
    assert (verify.max_concurrency, verify.top_logprobs, verify.max_prompt_chars) == (8, 10, 3000)
    assert (verify.max_group_size, verify.max_group_prompt_chars) == (8, 24_000)
    assert verify.verifier == "local"


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("cite", "cited"),
        ("citations", "cited"),
        ("cites", "cited"),
        ("full", "all"),
        ("auto", "auto"),
    ],
)
def test_berrys_words_for_the_context(word: str, mode: str) -> None:
    assert berry(context_mode=word).verify.context_mode == mode


@pytest.mark.parametrize(
    "argument",
    [
        {"default_target": 0},
        {"default_target": 1},
        {"max_claims": 0},
        {"context_mode": "everything"},
        {"claim_split": "words"},
        {"citation_regex": r"\[\d+\]"},
        {"citation_regex": "("},
        {"units": "bytes"},
        {"top_logprobs": 0},
        {"top_logprobs": 21},
        {"max_concurrency": 65},
        {"max_group_size": 0},
        {"max_group_prompt_chars": 999},
        {"verifier": "local"},  # no argument of its tool
    ],
)
def test_what_berry_refuses_is_refused(argument: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"is not possible|there is no"):
        berry(**argument)


@pytest.mark.parametrize(
    "url", ["http://berry.example:8000", "ftp://a", "a", "http://", "https://"]
)
def test_evidence_never_leaves_unencrypted(url: str) -> None:
    with pytest.raises(ValueError, match="https://, or with http:// on this machine"):
        parse(f"verify.service_url: '{url}'", name="")


def test_plain_http_is_for_the_host_that_is_named() -> None:
    text = "verify: {service_url: 'http://berry.svc:8000', plain_http_host: berry.svc}"
    assert parse(text, name="").verify.service_url == "http://berry.svc:8000"
    with pytest.raises(ValueError, match="plain_http_host"):
        parse(text.replace("host: berry.svc", "host: svc"), name="")


def test_variables_of_others_count_only_for_a_verifier_that_leaves_the_machine() -> None:
    environ = {"OPENAI_BASE_URL": "http://somewhere.else", "OPENAI_API_KEY": "sk-1"}
    assert parse("", name="", environ=environ).verify.api_key is None
    with pytest.raises(ValueError, match="OPENAI_BASE_URL"):
        parse("verify.verifier: openai", name="", environ=environ)
    own = {
        **environ,
        "GROUNDWIRE_VERIFY_API_KEY": "sk-2",
        "GROUNDWIRE_VERIFY_BASE_URL": "https://a",
    }
    assert parse("verify.verifier: openai", name="", environ=own).verify.api_key == Secret("sk-2")


def test_a_text_that_reads_as_nothing_is_no_text() -> None:
    assert SETTINGS["detector.revision"].kind.read("NULL") is None
