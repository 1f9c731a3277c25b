"""A configuration written out: as YAML under our names, or as plain data. Secrets stay ``***``."""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from groundwire.config.kinds import Secret
from groundwire.config.read import Config
from groundwire.config.tree import SECTIONS, SETTINGS
from groundwire.config.upstreams import upstream_data
from groundwire.policy.decisions import Decision, Rule
from groundwire.policy.policy import HallucinationPlugin, Overrides
from groundwire.policy.signals import Condition, SignalRules


def to_data(config: Config) -> dict[str, Any]:
    """As JSON data: each setting with its origin, then signals, decisions and tenants."""
    return {
        "formats": [str(each) for each in config.formats],
        "warnings": list(config.warnings),
        "settings": {
            path: {
                "value": written(config, path),
                "source": config.origins[path].source,
                "name": config.origins[path].name or path,
                "format": str(config.origins[path].format),
            }
            for path in SETTINGS
        },
        "signals": signals_data(config.signals),
        "decisions": [decision_data(each) for each in config.decisions],
        "tenants": {
            name: overrides_data(own) | _given(keys=_hidden(config.tenant_keys.get(name, ())))
            for name, own in config.tenants.items()
        },
        "upstreams": [
            upstream_data(each) | {"api_key": None if each.api_key is None else repr(each.api_key)}
            for each in config.upstreams
        ],
    }


def to_yaml(config: Config) -> str:
    """As a file that reads back the same, but for secrets; each value says where it is from."""
    return "".join(f"{line}\n" for line in _lines(config))


def written(config: Config, path: str) -> object:
    """The value of a setting as plain data."""
    return SETTINGS[path].kind.write(config.value(path))


def signals_data(rules: SignalRules) -> dict[str, Any]:
    """Signals as they stand in a file; what is not used is left out."""
    data = {
        "fact_check": [_given(name=name, description=text) for name, text in rules.fact_check],
        "keywords": [
            _given(
                name=each.name,
                words=list(each.words),
                patterns=list(each.patterns),
                operator=str(each.operator),
                case_sensitive=each.is_case_sensitive,
            )
            for each in rules.keywords
        ],
        "domains": [
            {"name": each.name, "description": each.description, "threshold": each.threshold}
            for each in rules.domains
        ],
        "embeddings": [
            {
                "name": each.name,
                "examples": list(each.examples),
                "threshold": each.threshold,
                "aggregation": str(each.aggregation),
            }
            for each in rules.embeddings
        ],
        "languages": [{"name": each.name, "codes": list(each.codes)} for each in rules.languages],
        "hallucination": [
            {
                "name": each.name,
                "label": str(each.label or "any"),
                "min_severity": each.min_severity,
            }
            for each in rules.hallucination
        ],
    }
    return _given(**data)


def decision_data(decision: Decision) -> dict[str, Any]:
    """A decision as it stands in a file."""
    data: dict[str, Any] = {"name": decision.name, "priority": decision.priority}
    if decision.description:
        data["description"] = decision.description
    if decision.rule is not None:
        data["rules"] = rule_data(decision.rule)
    if decision.plugin is not None:
        configuration = plugin_data(decision.plugin)
        data["plugins"] = [{"type": "hallucination", "configuration": configuration}]
    return data


def rule_data(rule: Rule | Condition) -> dict[str, Any]:
    """A rule as it stands in a file."""
    if isinstance(rule, Condition):
        return {"type": str(rule.type), "name": rule.name}
    return {
        "operator": str(rule.operator),
        "conditions": [rule_data(each) for each in rule.conditions],
    }


def plugin_data(plugin: HallucinationPlugin) -> dict[str, Any]:
    """A plugin's configuration as it stands in a file."""
    return {
        "enabled": plugin.enabled,
        "explain": plugin.explain,
        "action": str(plugin.action),
        "unverified_action": str(plugin.unverified_action),
        "include_details": plugin.include_details,
    }


def overrides_data(own: Overrides) -> dict[str, Any]:
    """What a tenant has of its own."""
    values = {each.name: getattr(own, each.name) for each in fields(Overrides)}
    return {
        name: str(value) if isinstance(value, str) else value
        for name, value in values.items()
        if value is not None
    }


def _lines(config: Config) -> Iterator[str]:
    for section in SECTIONS:
        yield f"{section}:"
        for setting in SETTINGS.values():
            if setting.section == section:
                value = config.value(setting.path)
                # A secret is no value to read back: its line is a comment.
                text = (
                    f"# {setting.name}: {value}"
                    if isinstance(value, Secret)
                    else f"{setting.name}: {_inline(written(config, setting.path))}"
                )
                yield f"  {text}".ljust(40) + _origin(config, setting.path)
    if signals := signals_data(config.signals):
        yield "signals:"
        for key, rules in signals.items():
            yield f"  {key}:"
            for rule in rules:
                name = f"signals.{key}.{rule['name']}"
                yield f"    - {_inline(rule)}{_origin(config, name)}"
    if config.decisions:
        yield "decisions:"
        for each in config.decisions:
            yield f"  - {_inline(decision_data(each))}{_origin(config, f'decisions.{each.name}')}"
    if config.tenants:
        yield "tenants:"
        for name, own in config.tenants.items():
            if keys := _hidden(config.tenant_keys.get(name, ())):
                yield f"  # keys: [{', '.join(keys)}]"
            yield f"  {_inline(name)}: {_inline(overrides_data(own))}" + _origin(
                config, f"tenants.{name}"
            )
    if config.listed:
        yield "upstreams:"
        for upstream in config.listed:
            if upstream.api_key is not None:
                yield f"  # api_key: {upstream.api_key}"
            yield f"  - {_inline(upstream_data(upstream))}" + _origin(
                config, f"upstreams.{upstream.name}"
            )


def _hidden(keys: tuple[Secret, ...]) -> list[str]:
    return [repr(each) for each in keys]


def _origin(config: Config, name: str) -> str:
    return f"  # {_visible(str(config.origins.get(name, 'built in')))}"


def _inline(value: object) -> str:
    return _visible(json.dumps(value, ensure_ascii=False))  # JSON is YAML


def _visible(text: str) -> str:
    """Escape what could move a cursor or end a line, as YAML does; JSON's pairs are not YAML's."""
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - plain data
    return {name: value for name, value in values.items() if value not in ([], "", None)}
