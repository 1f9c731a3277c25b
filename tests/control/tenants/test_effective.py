"""What holds for a tenant, and who says so: the same that requests are treated by."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Pipeline, Source
from groundwire.config import Config, parse
from groundwire.config.tenants import KINDS
from groundwire.config.tree import SETTINGS
from groundwire.control.tenants.directory import Directory
from groundwire.control.tenants.effective import Effective, effective, setting_of
from groundwire.control.tenants.record import TenantRecord, TenantSnapshot
from groundwire.errors import ConfigError
from groundwire.policy.policy import (
    HallucinationPlugin,
    Overrides,
    Policy,
    SourceLimits,
    resolve,
    resolve_limits,
)

FILE = """\
check:
  action: header
  on_error: warn
evidence: {max_sources: 7}
tenants:
  acme:
    min_severity: 3
    max_source_chars: 0
    action: body
decisions:
  - name: strict
    rules: {operator: AND, conditions: [{type: fact_check, name: needs_fact_check}]}
    plugins: [{type: hallucination, configuration: {enabled: true, hallucination_action: body}}]
  - name: says nothing
    rules: {operator: AND, conditions: [{type: fact_check, name: needs_fact_check}]}
"""


def by_name(config: Config, record: TenantRecord) -> dict[str, Effective]:
    return {each.name: each for each in effective(config, record)}


def stored(policy: dict[str, Any], metadata: dict[str, str]) -> TenantRecord:
    return TenantRecord(id="acme", policy=policy, metadata=metadata, version=1)


def test_each_value_says_where_it_is_from() -> None:
    config = parse(FILE, name="groundwire.yaml", environ={"GROUNDWIRE_CHECK_ENABLED": "yes"})
    record = stored({"explain": False}, {"grounding.action": "BLOCK", "grounding.max-sources": "2"})
    found = by_name(config, record)
    assert list(found) == list(KINDS)
    told = {name: (each.value, each.origin) for name, each in found.items()}
    assert told["explain"] == (False, "policy")
    assert told["action"] == ("block", "metadata")
    assert told["max_sources"] == (2, "metadata")
    assert told["min_severity"] == (3, "configuration (groundwire.yaml:6)")
    assert told["max_source_chars"] == (None, "configuration (groundwire.yaml:6)")
    assert told["on_error"] == ("warn", "configuration (groundwire.yaml:3)")
    assert told["enabled"] == (True, "configuration (GROUNDWIRE_CHECK_ENABLED)")
    assert told["include_details"] == (False, "default")
    assert told["contradicted_action"] == (None, "default")


def test_of_an_unknown_tenant_the_configuration_as_a_whole_holds() -> None:
    config = parse(FILE, name="groundwire.yaml")
    found = by_name(config, TenantRecord(id="another", version=1))
    assert (found["action"].value, found["action"].origin) == (
        "header",
        "configuration (groundwire.yaml:2)",
    )
    assert found["max_sources"].value == 7


def test_defaults_of_another_systems_names_are_told_as_such() -> None:
    text = "dvara: {llm-gateway: {guardrail: {grounding: {action: BLOCK}}}}"
    found = by_name(parse(text, name="application.yaml"), TenantRecord(id="acme"))
    assert (found["enabled"].value, found["enabled"].origin) == (
        False,
        "default under dvara's names",
    )
    assert found["action"].origin.startswith("configuration (application.yaml:1 (dvara.llm-gateway")


def test_metadata_that_cannot_be_meant_are_told_where_they_would_count() -> None:
    record = stored({}, {"grounding.action": "blok", "grounding.enabled": "perhaps"})
    found = by_name(parse(FILE, name="groundwire.yaml"), record)
    assert found["action"].value == "body"  # of the file
    assert found["action"].warning is not None
    assert "'blok' is not possible; did you mean 'block'?" in found["action"].warning
    assert found["enabled"].warning is not None
    assert found["explain"].warning is None


def test_a_stored_field_that_cannot_be_read_is_told_and_inherits() -> None:
    found = by_name(Config(), stored({"action": "explode"}, {"grounding.action": "blok"}))
    assert (found["action"].value, found["action"].origin) == ("log", "default")
    assert found["action"].warning is not None
    assert "'explode'" in found["action"].warning
    assert "'blok'" in found["action"].warning


def test_decisions_are_named_where_they_may_say_otherwise() -> None:
    found = by_name(parse(FILE, name="groundwire.yaml"), stored({"explain": True}, {}))
    assert found["enabled"].decisions == ("strict",)
    assert found["unverified_action"].decisions == ("strict",)
    assert found["action"].decisions == ()  # the tenant says so itself
    assert found["explain"].decisions == ()
    assert found["on_error"].decisions == ()  # no decision says anything about it
    assert found["max_sources"].decisions == ()


def test_every_field_has_a_setting_that_holds_without_it() -> None:
    assert {setting_of(name) for name in KINDS} <= set(SETTINGS)
    assert len({setting_of(name) for name in KINDS}) == len(KINDS)


ACTION = st.sampled_from(["none", "log", "flag", "header", "body", "block"])
OWN = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "action": ACTION,
        "contradicted_action": ACTION,
        "unverified_action": ACTION,
        "partial_action": ACTION,
        "on_error": st.sampled_from(["allow", "warn", "auto", "block"]),
        "min_severity": st.integers(0, 4),
        "include_details": st.booleans(),
        "explain": st.booleans(),
        "max_sources": st.integers(0, 3),
        "max_source_chars": st.integers(0, 3),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "grounding.enabled": st.sampled_from(["true", "OFF", "perhaps"]),
        "grounding.action": st.sampled_from(["BLOCK", "log", "blok"]),
        "grounding.max-sources": st.sampled_from(["2", "0", "-1", "fifty"]),
        "grounding.max-source-length": st.sampled_from(["5", "0", ""]),
        "grounding.similarity-threshold": st.just("0.5"),
    },
)
CHECKS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "action": ACTION,
        "partial_action": ACTION,
        "min_severity": st.integers(0, 4),
    },
)


@given(CHECKS, st.none() | OWN, st.none() | st.tuples(OWN, METADATA))
def test_it_is_what_requests_are_treated_by(
    checks: dict[str, Any],
    configured: dict[str, Any] | None,
    kept: tuple[dict[str, Any], dict[str, str]] | None,
) -> None:
    text = f"check: {checks}\nevidence: {{max_sources: 2}}\n"
    if configured is not None:
        text += f"tenants: {{acme: {configured}}}\n"
    config = parse(text, name="groundwire.yaml")
    directory, record = Directory(config), TenantRecord(id="acme")
    if kept is not None:
        record = stored(*kept)
        directory.apply(TenantSnapshot(revision=1, tenants={"acme": record}))

    own = directory.get("acme")
    policy, limits = resolve(config.policy, tenant=own), resolve_limits(config.limits, own)
    for each in effective(config, record):
        if each.name in Policy.__dataclass_fields__:
            assert each.value == getattr(policy, each.name), each
        elif each.name in SourceLimits.__dataclass_fields__:
            assert each.value == getattr(limits, each.name), each
        else:
            assert each.value == config.value(setting_of(each.name)), each


@given(OWN, METADATA)
def test_where_no_decision_is_named_none_changes_anything(
    policy: dict[str, Any], metadata: dict[str, str]
) -> None:
    config, record = parse(FILE, name="groundwire.yaml"), stored(policy, metadata)
    directory = Directory(config)
    directory.apply(TenantSnapshot(revision=1, tenants={"acme": record}))
    own = directory.get("acme")
    plugin = next(each.plugin for each in config.decisions if each.plugin is not None)
    others = [
        replace(plugin, enabled=not config.check.enabled, explain=False, include_details=True),
        HallucinationPlugin(enabled=True),
    ]
    plain = resolve(config.policy, tenant=own)
    for other in others:
        decided = resolve(config.policy, plugins=[other], tenant=own)
        for each in effective(config, record):
            if each.name in Policy.__dataclass_fields__ and not each.decisions:
                assert getattr(decided, each.name) == getattr(plain, each.name), each


POINTS = ("", "operating_point: precision", "operating_point: 0.9")


@pytest.mark.filterwarnings("ignore::groundwire.config.findings.ConfigWarning")
@pytest.mark.parametrize(
    ("text", "first"),
    [(f"detector: {{name: reader, {each}}}", "reader") for each in POINTS]
    + [("detector: {name: reader}\nsimilarity: {threshold: 0.9}", "reader")]
    + [("detector: {name: 'similarity:hash'}", "similarity:hash")]
    + [("detector: {name: similarity}\nsimilarity: {threshold: 0.9}", "similarity")],
)
def test_where_a_tenants_detector_flags_is_told_as_it_flags(text: str, first: str) -> None:
    config = parse(f"gate: {{enabled: false}}\n{text}", name="groundwire.yaml")
    policies: list[dict[str, Any]] = [
        {},
        *({"detector": each} for each in ("reader", "similarity", "similarity:hash")),
        {"detector": "reader", "operating_point": "recall"},
        {"detector": "similarity", "operating_point": "balanced"},
        {"detector": "similarity:hash", "similarity_threshold": 0.4},
        {"operating_point": "balanced"},
    ]
    with Pipeline.load(config) as pipeline:
        for policy in policies:
            record = stored(policy, {})
            context = pipeline.open_answer(
                [Source(text="A.")], tenant="acme", overrides=record.overrides
            )
            detection = pipeline.detect(context, "The tower is made of iron.").detection
            assert detection is not None
            detector = detection.detector
            found = by_name(config, record)
            point, threshold = found["operating_point"].value, found["similarity_threshold"].value
            if threshold is not None:
                point = threshold
            if isinstance(point, str):
                assert (policy, detector.operating_point) == (policy, point)
            else:
                assert (policy, detector.threshold) == (policy, point)
            beside = policy.get("detector", first) != first
            for name in ("operating_point", "similarity_threshold"):
                if beside and found[name].origin.startswith("configuration"):
                    assert found[name].value == config.value(setting_of(name)) == threshold


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"detector": "gone/model"}, "detector = 'gone/model' is not possible."),
        (
            {"detector": "similarity", "operating_point": 0.5},
            "operating_point = 0.5 is a thresh",
        ),
        ({"similarity_threshold": 0.5}, "similarity_threshold = 0.5 is a threshold of simil"),
    ],
)
def test_what_no_detector_can_do_is_told(policy: dict[str, Any], said: str) -> None:
    warning = by_name(Config(), stored(policy, {}))["detector"].warning
    assert warning is not None
    assert warning.startswith(said)
    assert warning.endswith("Answers of this tenant cannot be checked.")


def test_what_the_loaded_detectors_cannot_do_is_told() -> None:
    def check(own: Overrides) -> None:
        raise ConfigError([f"operating_point = {own.operating_point!r} is not possible."])

    record = stored({"operating_point": "precision"}, {})
    found = {each.name: each for each in effective(Config(), record, check=check)}
    assert found["detector"].warning == (
        "operating_point = 'precision' is not possible. Answers of this tenant cannot be checked."
    )


@pytest.mark.parametrize("name", sorted(set(KINDS) - set(Policy.__dataclass_fields__)))
def test_fields_beyond_the_policy_are_the_tenants_else_the_settings(name: str) -> None:
    config = Config()
    (found,) = (each for each in effective(config, TenantRecord(id="acme")) if each.name == name)
    assert found.value == config.value(setting_of(name))
    assert found.origin == "default"
