"""The console's form for a tenant's settings; values in it are written as in the configuration."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundwire.config import Config
from groundwire.config.fields import describe_refused
from groundwire.config.kinds import KindError, written
from groundwire.config.tenants import KINDS, METADATA
from groundwire.config.tree import PRESETS, SETTINGS
from groundwire.control.tenants.effective import Effective, effective, setting_of
from groundwire.control.tenants.record import TenantRecord

#: The fields that most tenants need, in order; the page hides the others at first.
MAIN = (
    *("enabled", "action", "operating_point", "detector"),
    *("max_sources", "max_source_chars", "on_error", "release"),
)

#: Name of a field → its key in a tenant's metadata, as clients of DVARA (another gateway) use it.
_KEYS = {name: key for key, (name, _) in METADATA.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of the form.

    Attributes:
        name: The name of the field, as in a policy.
        text: A description of the setting.
        value: The text in the field: the tenant's own value, or the value that a person sent.
        own: The tenant's own value as it is stored; empty if the tenant inherits the value.
        inherited: The value in effect if the tenant has no value of its own.
        options: The values to choose from, if they can be listed.
        suggestions: Valid values to suggest, if others are valid too.
        legal: The valid values in words that follow "must be"; may be empty.
        warning: Why the tenant's stored value is ignored, or why the tenant's answers cannot be
            checked; may be empty.
        problem: Why the value that was sent is refused; empty if no value is refused.
    """

    name: str
    text: str
    value: str
    own: str
    inherited: Effective
    options: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    legal: str = ""
    warning: str = ""
    problem: str = ""

    @property
    def is_main(self) -> bool:
        """Whether most tenants need this field."""
        return self.name in MAIN


def form_of(
    config: Config,
    record: TenantRecord,
    *,
    sent: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> list[FormField]:
    """Return the fields of a tenant's form; the fields that most tenants need come first.

    ``sent`` has texts to show in place of the tenant's own values, and ``problems`` the reasons why
    such texts are refused, both by field.
    """
    others = {key: value for key, value in record.metadata.items() if key not in METADATA}
    bare = effective(config, replace(record, policy={}, metadata=others))
    warnings = {each.name: each.warning or "" for each in effective(config, record)}
    own = _own(record)
    fields = [
        FormField(
            name=each.name,
            # The form does not take null, so a part of the text that begins with "; null" is left
            # out.
            text=SETTINGS[setting_of(each.name)].text.partition("; null")[0].rstrip(".") + ".",
            value=(own if sent is None else sent).get(each.name, own[each.name]),
            own=own[each.name],
            inherited=each,
            warning=warnings[each.name],
            problem=(problems or {}).get(each.name, ""),
            **_control(config, each.name),
        )
        for each in bare
    ]
    return sorted(fields, key=lambda each: MAIN.index(each.name) if each.is_main else len(MAIN))


def preset(name: str) -> dict[str, str]:
    """Return the values of a preset, by field; empty if there is no preset of this name."""
    return {path.partition(".")[2]: str(value) for path, value in PRESETS.get(name, {}).items()}


def read_form(form: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the values in a form that was sent.

    Returns:
        The valid values by field, ``None`` for a value to inherit; and the reasons why other
        values are refused, also by field.
    """
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, kind in KINDS.items():
        raw = form.get(name, "").strip()
        try:
            values[name] = kind.read(raw) if raw else None
        except KindError as error:
            problems[name] = describe_refused(raw, error)
    return values, problems


def changed_fields(form: Mapping[str, str]) -> dict[str, str]:
    """Return the values, by field, that a person has changed in a form.

    The form's field ``seen`` has the values with which the form was shown, as JSON.
    """
    try:
        seen = json.loads(form.get("seen", "{}"))
    except ValueError:
        seen = {}
    before = seen if isinstance(seen, dict) else {}
    return {name: form[name] for name in KINDS if name in form and form[name] != before.get(name)}


def changes_of(
    fields: Sequence[FormField], in_effect: Mapping[str, Effective], values: Mapping[str, Any]
) -> dict[str, tuple[str, str]]:
    """Return the present and the new value of each field that a form would change.

    ``values`` are those that :func:`read_form` has read from the form.
    """
    found = {}
    for each in fields:
        value = values[each.name]
        then = each.inherited.value if value is None else value
        pair = _text(in_effect[each.name].value), _text(then)
        if pair[0] != pair[1]:
            found[each.name] = pair
    return found


def split(
    record: TenantRecord, values: Mapping[str, Any]
) -> tuple[dict[str, object], dict[str, object]]:
    """Divide values into changes to the policy and to the metadata; leave out unchanged values.

    Clients of DVARA, another gateway, use the metadata. So a field that has a key there is changed
    in the metadata. But if the policy has the field, it is changed in the policy, which takes
    precedence. A field that is removed from the policy is removed from the metadata too.
    """
    policy: dict[str, object] = {}
    metadata: dict[str, object] = {}
    own = _own(record)
    for name, value in values.items():
        text = _text(value)
        if text == own[name]:
            continue
        if name in _KEYS and name not in record.policy:
            is_dvaras = name == "action" and text in ("log", "flag", "block")
            metadata[_KEYS[name]] = (text.upper() if is_dvaras else text) or None
        else:
            policy[name] = written(value)
            if value is None and name in _KEYS:
                metadata[_KEYS[name]] = None
    return policy, metadata


def _own(record: TenantRecord) -> dict[str, str]:
    return {name: _text(getattr(record.overrides, name)) for name in KINDS}


def _text(value: object) -> str:
    """Return a value as the text of a form field; empty for ``None``."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return str(written(value))


def _control(config: Config, name: str) -> dict[str, Any]:
    """Return the attributes of :class:`FormField` that say which values a setting may have."""
    if name == "detector":
        return {"suggestions": config.detectors.names}
    branches = KINDS[name].schema()
    branches = branches.get("anyOf", [branches])
    words = tuple(word for each in branches for word in each.get("enum", ()))
    if any(each["type"] == "boolean" for each in branches):
        return {"options": ("true", "false")}
    if all("enum" in each for each in branches):
        return {"options": words}
    if words:
        return {"suggestions": words, "legal": KINDS[name].legal}
    return {"legal": KINDS[name].legal}
