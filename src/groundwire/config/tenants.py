"""Reads the settings of tenants.

A wrong value is an error. Under the names of DVARA, another gateway, it is only a warning.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from groundwire.config.document import DocumentEntry
from groundwire.config.fields import (
    Problems,
    TableField,
    describe_unknown,
    describe_wrong,
    entries_of,
    read_fields,
)
from groundwire.config.keys import KeyText
from groundwire.config.kinds import Kind, KindError, OneOrMore, Read, Secret, Whole
from groundwire.config.tree import SETTINGS, Budget, Count, Threshold
from groundwire.errors import ConfigError
from groundwire.policy.policy import Overrides


def _read_detector(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip() or not raw.isprintable():
        raise ValueError(raw)
    return raw


#: The type of a tenant's ``detector``, which is a name. Whether the name is valid depends on
#: ``detector.name``, and is checked later.
_DETECTOR = Read(
    _read_detector,
    "one of reader, similarity, similarity:neural, similarity:hash, or what detector.name says",
)

#: The settings that a tenant can have, and their types.
KINDS: dict[str, Kind] = {
    "enabled": Kind(bool),
    **dict.fromkeys(
        ("action", "contradicted_action", "unverified_action", "partial_action"),
        SETTINGS["check.action"].kind,
    ),
    "on_error": SETTINGS["check.on_error"].kind,
    "min_severity": SETTINGS["check.min_severity"].kind,
    "include_details": Kind(bool),
    "explain": Kind(bool),
    "max_sources": Kind(Count),  # 0 means no limit, here and in max_source_chars
    "max_source_chars": Kind(Count),
    "detector": Kind(Annotated[str, _DETECTOR]),
    "operating_point": SETTINGS["detector.operating_point"].kind,
    "similarity_threshold": Kind(Threshold),
    "release": SETTINGS["gateway.release"].kind,
    "false_block_budget": Kind(Budget),
}

#: The type of a tenant's API keys in a configuration file.
KEYS = Kind(Annotated[tuple[KeyText, ...], OneOrMore()])

_WHOLE = Kind(Whole)

#: DVARA's keys in the metadata of a tenant → the setting, and the type of its values.
METADATA: Mapping[str, tuple[str, Kind]] = {
    "grounding.enabled": ("enabled", KINDS["enabled"]),
    "grounding.action": ("action", KINDS["action"]),
    "grounding.max-sources": ("max_sources", _WHOLE),
    "grounding.max-source-length": ("max_source_chars", _WHOLE),
}


def read_overrides(values: Mapping[str, object]) -> Overrides:
    """Read the settings of a tenant under Groundwire's names.

    Raises:
        ConfigError: If a name is unknown or a value is wrong; the error lists all problems.
    """
    problems: list[str] = []
    read: dict[str, Any] = {}
    for name, raw in values.items():
        if name not in KINDS:
            problems.append(describe_unknown(f"field {name!r}", name, KINDS))
            continue
        try:
            read[name] = KINDS[name].read(raw)
        except KindError as error:
            problems.append(describe_wrong(name, raw, error))
    if problems:
        raise ConfigError(problems)
    return Overrides(**read)


def overrides_from_metadata(metadata: Mapping[str, object]) -> tuple[Overrides, tuple[str, ...]]:
    """Read the settings of a tenant from its metadata, under DVARA's names; never raises an error.

    Returns:
        The settings, and a warning for each unknown name with the prefix ``grounding.`` and for
        each wrong value. A setting with a wrong value is left unset. A limit below 0 becomes 0: no
        limit. Names with other prefixes are ignored.
    """
    read: dict[str, Any] = {}
    warnings: list[str] = []
    for name, raw in metadata.items():
        if not str(name).startswith("grounding."):
            continue  # not a setting of Groundwire
        if name not in METADATA:
            warnings.append(
                f"{name!r} cannot be set per tenant and is ignored. Known: {', '.join(METADATA)}."
            )
            continue
        field, kind = METADATA[name]
        try:
            value = kind.read(raw)
        except KindError as error:
            warnings.append(f"{describe_wrong(name, raw, error)} The default is inherited.")
            continue
        read[field] = max(0, value) if kind is _WHOLE else value
    return Overrides(**read), tuple(warnings)


def read_tenants(
    entry: DocumentEntry, problems: Problems
) -> tuple[dict[str, Overrides], dict[str, tuple[Secret, ...]]]:
    """Read the section ``tenants``; return settings and API keys of the tenants, by their ids.

    A tenant with a wrong setting is left out, and its errors are added to ``problems``.
    """
    tenants: dict[str, Overrides] = {}
    tenant_keys: dict[str, tuple[Secret, ...]] = {}
    fields = [TableField(name, kind) for name, kind in (KINDS | {"keys": KEYS}).items()]
    for each in entries_of(entry.part, where="tenants", problems=problems):
        values = read_fields(each.part, fields, where=f"tenant {each.key!r}", problems=problems)
        if values is not None:
            problems.places[f"tenants.{each.key}"] = each.place
            if keys := values.pop("keys", ()):
                tenant_keys[each.key] = keys
            tenants[each.key] = Overrides(**values)
    return tenants, tenant_keys
