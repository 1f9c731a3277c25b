"""Writes a configuration as YAML text or JSON data; secrets are shown as ``***``.

Settings have Groundwire's names, even if they were read under those of another system.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from groundwire.config.kinds import Secret, written
from groundwire.config.read import Config
from groundwire.config.tree import SECTIONS, SETTINGS
from groundwire.config.upstreams import Upstream
from groundwire.policy.decisions import Decision, Rule
from groundwire.policy.signals import Condition, HallucinationRule, KeywordRule, SignalRules


def to_data(config: Config) -> dict[str, Any]:
    """Return a configuration as JSON data; each setting has its origin."""
    return {
        "formats": [str(each) for each in config.formats],
        "warnings": list(config.warnings),
        "settings": {
            path: {
                "value": written(config.value(path)),
                "source": config.origins[path].source,
                "name": config.origins[path].name or path,
                "format": str(config.origins[path].format),
            }
            for path in SETTINGS
        },
        "signals": signals_data(config.signals),
        "decisions": [decision_data(each) for each in config.decisions],
        "tenants": {
            name: _plain(own) | _given({"keys": written(config.tenant_keys.get(name, ()))})
            for name, own in config.tenants.items()
        },
        "upstreams": [
            _plain(each) | {"api_key": written(each.api_key)} for each in config.upstreams
        ],
    }


def to_yaml(config: Config) -> str:
    """Return a configuration as the text of a YAML file, with the origins as comments.

    Reading the file gives the same configuration, except for secrets and ``store.url``, which are
    only comments in the file.
    """
    return "".join(f"{line}\n" for line in _lines(config))


def signals_data(rules: SignalRules) -> dict[str, Any]:
    """Return the rules of signals as the data of the section ``signals``, without empty lists."""
    fact_check = [_given({"name": name, "description": text}) for name, text in rules.fact_check]
    rest = {
        each.name: [_plain(rule) for rule in getattr(rules, each.name)]
        for each in fields(SignalRules)
        if each.name != "fact_check"
    }
    return _given({"fact_check": fact_check, **rest})


def decision_data(decision: Decision) -> dict[str, Any]:
    """Return a decision as an item of the list ``decisions``."""
    data: dict[str, Any] = {"name": decision.name, "priority": decision.priority}
    if decision.description:
        data["description"] = decision.description
    if decision.rule is not None:
        data["rules"] = rule_data(decision.rule)
    if decision.plugin is not None:
        data["plugins"] = [{"type": "hallucination", "configuration": _plain(decision.plugin)}]
    return data


def rule_data(rule: Rule | Condition) -> dict[str, Any]:
    """Return a rule or a condition as the data of the key ``rules`` of a decision."""
    if isinstance(rule, Condition):
        return {"type": str(rule.type), "name": rule.name}
    return {
        "operator": str(rule.operator),
        "conditions": [rule_data(each) for each in rule.conditions],
    }


def _plain(value: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass of settings
    """Return the fields of ``value`` that are set, by their names in a file, without API keys."""
    data = {each.name: written(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, KeywordRule):
        data["case_sensitive"] = data.pop("is_case_sensitive")
    if isinstance(value, HallucinationRule):
        data["label"] = data["label"] or "any"
    if isinstance(value, Upstream):
        del data["api_key"]
    return _given(data)


def _lines(config: Config) -> Iterator[str]:
    for section in SECTIONS:
        yield f"{section}:"
        for setting in SETTINGS.values():
            if setting.section == section:
                value = config.value(setting.path)
                # The line of a secret is a comment, since *** cannot be read back.
                text = (
                    f"# {setting.name}: {value}"
                    if isinstance(value, Secret)
                    else f"{setting.name}: {_inline(written(value))}"
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
            if keys := written(config.tenant_keys.get(name, ())):
                yield f"  # keys: [{', '.join(keys)}]"
            yield f"  {_inline(name)}: {_inline(_plain(own))}" + _origin(config, f"tenants.{name}")
    if config.listed:
        yield "upstreams:"
        for upstream in config.listed:
            if upstream.api_key is not None:
                yield f"  # api_key: {upstream.api_key}"
            yield f"  - {_inline(_plain(upstream))}" + _origin(config, f"upstreams.{upstream.name}")


def _origin(config: Config, name: str) -> str:
    return f"  # {_visible(str(config.origins.get(name, 'built in')))}"


def _inline(value: object) -> str:
    return _visible(json.dumps(value, ensure_ascii=False))  # JSON is valid YAML


def _visible(text: str) -> str:
    r"""Replace unprintable characters, such as line ends, by the escapes ``\UXXXXXXXX`` of YAML."""
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _given(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value not in ([], "", None)}
