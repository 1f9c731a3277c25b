import pytest

from groundwire.config import Config, Format, overrides_from_metadata, parse, read_overrides
from groundwire.config.names import DVARA
from groundwire.errors import ConfigError
from groundwire.policy.policy import (
    Action,
    OnError,
    Overrides,
    SourceLimits,
    resolve,
    resolve_limits,
)

PREFIX = "DVARA_LLM_GATEWAY_GUARDRAIL_GROUNDING_"
ALL = {
    "enabled": "true",
    "similarity-threshold": "0.65",
    "action": "BLOCK",
    "max-sources": "20",
    "max-source-length": "5000",
}


def read(text: str = "", **environ: str) -> Config:
    return parse(text, name="application.yml", environ={PREFIX + k: v for k, v in environ.items()})


def problems(text: str = "", **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, **environ)
    return str(caught.value)


NESTED = "dvara: {llm-gateway: {guardrail: {grounding: {%s}}}}"
SPELLINGS = {
    "nested": NESTED % ", ".join(f"{name}: {value}" for name, value in ALL.items()),
    "dotted": "\n".join(f"{DVARA}.{name}: {value}" for name, value in ALL.items()),
    "half": "dvara.llm-gateway.guardrail:\n"
    + "\n".join(f"  grounding.{name}: {value}" for name, value in ALL.items()),
    "quoted": NESTED % ", ".join(f"{name}: '{value}'" for name, value in ALL.items()),
    "snake": NESTED % ", ".join(f"{k.replace('-', '_')}: {v}" for k, v in ALL.items()),
    "camel": (NESTED % "enabled: on, similarityThreshold: 0.65, action: block, maxSources: 20, "
    "maxSourceLength: 5000").replace("llm-gateway", "llmGateway"),
}  # fmt: skip


def is_all(config: Config) -> bool:
    return (
        config.check.enabled
        and config.similarity.threshold == 0.65
        and config.check.action is Action.BLOCK
        and config.limits == SourceLimits(max_sources=20, max_source_chars=5000)
        and config.formats == (Format.DVARA,)
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_key_is_read_however_it_is_nested(spelling: str) -> None:
    assert is_all(read(SPELLINGS[spelling]))


def test_every_variable_is_read() -> None:
    assert is_all(read(**{k.upper().replace("-", "_"): v for k, v in ALL.items()}))


def test_the_defaults_under_its_names_are_its_own() -> None:
    config = read(f"{DVARA}: {{action: LOG}}")
    assert not config.check.enabled
    assert config.check.action is Action.LOG
    assert config.check.on_error is OnError.ALLOW
    assert config.check.unverified_action is Action.NONE
    assert config.detector.name == "similarity"
    assert (config.similarity.threshold, config.similarity.embedder) == (0.7, "hash")
    assert config.limits == SourceLimits(max_sources=50, max_source_chars=10_000)
    assert config.similarity.all_short == "grounded"
    assert str(config.origins["check.enabled"]) == "default under dvara's names"


def test_under_our_names_checking_is_on_and_logs() -> None:
    config = parse("", name="")
    assert config.check.enabled
    assert config.check.action is Action.LOG
    assert config.check.on_error is OnError.AUTO
    assert config.check.unverified_action is None
    assert config.detector.name == "reader"
    assert config.limits == SourceLimits()


@pytest.mark.parametrize(("word", "is_on"), [
    ("yes", True), ("no", False), ("on", True), ("off", False), ("true", True), ("false", False),
    ("ON", True), ("No", False), ("True", True),
])  # fmt: skip
def test_a_boolean_may_be_spelled_as_in_yaml_1_1(word: str, *, is_on: bool) -> None:
    assert read(f"{DVARA}.enabled: {word}").check.enabled is is_on
    assert read(ENABLED=word).check.enabled is is_on
    assert overrides_from_metadata({"grounding.enabled": word})[0].enabled is is_on


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_limit_of_0_or_less_is_none(limit: str) -> None:
    config = read(f"{DVARA}: {{max-sources: {limit}, max-source-length: {limit}}}")
    assert config.limits == SourceLimits()


@pytest.mark.parametrize("word", ["LOG", "FLAG", "BLOCK", "log", "Block"])
def test_its_actions_are_read_in_any_case(word: str) -> None:
    assert read(f"{DVARA}.action: {word}").check.action == word.lower()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enabled", "maybe"),
        ("action", "blok"),
        ("max-sources", "fifty"),
        ("max-source-length", "1.5"),
        ("similarity-threshold", "7"),
        ("similarity-threshold", ".nan"),
    ],
)
def test_a_bad_value_in_a_file_or_a_variable_stops_the_start(name: str, value: str) -> None:
    assert f"application.yml:1: {DVARA}.{name} = " in problems(f"{DVARA}.{name}: {value}")
    variable = name.upper().replace("-", "_")
    assert problems(**{variable: value}).startswith(f"{PREFIX}{variable}: ")


def test_an_unknown_key_names_the_known_ones() -> None:
    assert problems(f"a: 1\n{DVARA}.max-sorces: 1").splitlines()[2] == (
        "application.yml:2: there is no 'max-sorces' in 'dvara.llm-gateway.guardrail.grounding'; "
        "did you mean 'max-sources'? Known: enabled, action, similarity-threshold, max-sources, "
        "max-source-length."
    )
    assert problems(MAX_SORCES="1") == (
        f"{PREFIX}MAX_SORCES: no setting has this variable. Did you mean {PREFIX}MAX_SOURCES?"
    )


def test_a_variable_wins_over_the_file() -> None:
    config = read(f"{DVARA}.action: LOG", ACTION="BLOCK")
    assert config.check.action is Action.BLOCK
    assert str(config.origins["check.action"]) == f"{PREFIX}ACTION"


METADATA = {
    "grounding.enabled": "yes",
    "grounding.action": "FLAG",
    "grounding.max-sources": "5",
    "grounding.max-source-length": "-1",
    "team": "search",
}


def test_a_tenant_overrides_these_four() -> None:
    own, warnings = overrides_from_metadata(METADATA)
    assert own == Overrides(enabled=True, action=Action.FLAG, max_sources=5, max_source_chars=0)
    assert warnings == ()


def test_bad_values_of_a_tenant_warn_and_inherit() -> None:
    own, warnings = overrides_from_metadata(
        {"grounding.action": "blok", "grounding.max-sources": "fifty", "grounding.enabled": True}
    )
    assert own == Overrides(enabled=True)
    assert len(warnings) == 2
    assert "grounding.action = 'blok' is not possible; did you mean 'block'?" in warnings[0]
    assert warnings[1].endswith("The default is inherited.")
    base = read(f"{DVARA}: {{action: BLOCK, max-sources: 3, enabled: true}}")
    assert resolve(base.policy, tenant=own).action is Action.BLOCK
    assert resolve_limits(base.limits, own).max_sources == 3


@pytest.mark.parametrize("value", [None, [], {}, "", 1.5, object(), "9" * 10_000])
@pytest.mark.parametrize("name", [name for name in METADATA if name != "team"])
def test_metadata_never_raises(name: str, value: object) -> None:
    own, warnings = overrides_from_metadata({name: value})
    assert own == Overrides()
    assert len(warnings) == 1


def test_the_similarity_threshold_is_none_of_them() -> None:
    own, warnings = overrides_from_metadata({"grounding.similarity-threshold": "0.5"})
    assert own == Overrides()
    assert "cannot be set per tenant" in warnings[0]


def test_a_tenant_may_turn_on_what_is_off_by_default() -> None:
    base = read(f"{DVARA}.action: LOG")
    own, _ = overrides_from_metadata({"grounding.enabled": "true"})
    assert resolve(base.policy, tenant=own).enabled


def test_our_own_fields_are_strict() -> None:
    assert read_overrides({"action": "BLOCK", "max_sources": 0}) == Overrides(
        action=Action.BLOCK, max_sources=0
    )
    with pytest.raises(ConfigError) as caught:
        read_overrides({"action": "blok", "acton": "log", "max_sources": -1})
    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        "action",
        "there",
        "max_sources",
    ]
    assert "did you mean 'block'?" in str(caught.value)
    assert "did you mean 'action'?" in str(caught.value)
