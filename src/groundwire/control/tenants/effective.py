"""Works out the settings that hold for a tenant, each with its origin."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from groundwire.config import Config, SettingOrigin, overrides_from_metadata
from groundwire.config.kinds import written
from groundwire.config.tenants import KINDS, METADATA
from groundwire.control.tenants.record import TenantRecord, over, read_stored_policy
from groundwire.errors import ConfigError, ModelError
from groundwire.policy.policy import HallucinationPlugin, Overrides

#: Field of a policy → its setting, for all fields whose setting is not ``check.FIELD``.
_SETTINGS = {
    "explain": "explain.enabled",
    "max_sources": "evidence.max_sources",
    "max_source_chars": "evidence.max_source_chars",
    "detector": "detector.name",
    "operating_point": "detector.operating_point",
    "similarity_threshold": "similarity.threshold",
    "release": "gateway.release",
}

#: Fields that are limits. A tenant's policy has 0 for "no limit", the configuration has null.
_LIMITS = frozenset({"max_sources", "max_source_chars"})

#: Fields that a decision (a rule of the configuration for certain requests) can set.
_DECIDED = frozenset(each.name for each in fields(HallucinationPlugin))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """A setting that holds for a tenant.

    Attributes:
        name: Name of the field, as in a policy.
        value: The value as JSON data.
        origin: Where the value comes from, for example ``policy``, ``metadata``,
            ``configuration (groundwire.yaml:3)`` or ``default``.
        warning: A message about a value of the tenant that is ignored because it is not valid. For
            the field ``detector``, it may also say that the tenant's answers cannot be checked.
            ``None`` if there is nothing to say.
        decisions: Names of the decisions that may set another value for a request; empty if the
            tenant has a value of its own, which takes precedence over decisions.
    """

    name: str
    value: Any
    origin: str
    warning: str | None = None
    decisions: tuple[str, ...] = ()


def setting_of(name: str) -> str:
    """Return the path of the setting whose value a tenant without the field ``name`` inherits."""
    return _SETTINGS.get(name, f"check.{name}")


def effective(
    config: Config,
    record: TenantRecord,
    *,
    check: Callable[[Overrides], None] = lambda overrides: None,
) -> tuple[Effective, ...]:
    """Return the settings that hold for a tenant, in the order of the fields of a policy.

    ``check`` must raise ConfigError or ModelError if answers cannot be checked with a tenant's
    settings.
    """
    sources, warnings = dict(_sources(config, record)), dict(_warnings(record))
    own = over(record.overrides, config.tenants.get(record.id))
    found = {name: _effective(config, name, sources, warnings.get(name)) for name in KINDS}
    return tuple(_judging(config, own, found, check).values())


def _judging(
    config: Config, own: Overrides, found: dict[str, Effective], check: Callable[[Overrides], None]
) -> dict[str, Effective]:
    """Adapt the inherited operating point and similarity threshold to the tenant's detector.

    Values that the tenant has set stay. An inherited operating point becomes ``balanced`` if the
    tenant's detector is not the configured one. An inherited similarity threshold becomes ``None``
    if the tenant's detector would not use the threshold, for example because the detector gives
    probabilities. If the detector cannot judge with the tenant's settings, only a warning is added
    to the field ``detector``.
    """
    known = config.detectors
    try:
        name = known.choose(own).detector
        check(own)
    except (ConfigError, ModelError) as error:
        problem = f"{error} Answers of this tenant cannot be checked."
        before = found["detector"].warning
        warning = problem if before is None else f"{before} {problem}"
        return {**found, "detector": replace(found["detector"], warning=warning)}
    is_first, changed = name == known.first, dict[str, Any]()
    beside = known.point_beside(name, config.similarity.threshold)
    if own.operating_point is None and not is_first:
        changed["operating_point"] = "balanced"
    is_inherited = is_first or not isinstance(beside, str)
    if own.similarity_threshold is None and not (
        known.is_comparing(name) and own.operating_point is None and is_inherited
    ):
        changed["similarity_threshold"] = None
    # The configured value is not used, so ``default`` is shown as the origin.
    return found | {
        each: replace(found[each], value=value, origin=str(SettingOrigin()))
        for each, value in changed.items()
    }


def _effective(
    config: Config, name: str, sources: Mapping[str, Overrides], warning: str | None
) -> Effective:
    for where, own in sources.items():
        value = getattr(own, name)
        if value is not None:
            # A tenant's limit of 0 means no limit; it is shown as null, as in the configuration.
            data = None if name in _LIMITS and not value else written(value)
            return Effective(name=name, value=data, origin=where, warning=warning)
    path = setting_of(name)
    origin = config.origins.get(path, SettingOrigin())
    return Effective(
        name=name,
        value=written(config.value(path)),
        origin=str(origin) if origin.is_default else f"configuration ({origin})",
        warning=warning,
        decisions=tuple(
            each.name for each in config.decisions if name in _DECIDED and each.plugin is not None
        ),
    )


def _sources(config: Config, record: TenantRecord) -> Iterator[tuple[str, Overrides]]:
    """Yield the tenant's own settings with their origins, in the order of precedence."""
    yield "policy", read_stored_policy(record.policy)[0]
    yield "metadata", overrides_from_metadata(record.metadata)[0]
    if record.id in config.tenants:
        origin = config.origins.get(f"tenants.{record.id}", SettingOrigin(source="tenants"))
        yield f"configuration ({origin})", config.tenants[record.id]


def _warnings(record: TenantRecord) -> Iterator[tuple[str, str]]:
    """Yield the name of each field for which the tenant has an invalid value, with a warning.

    If both policy and metadata have an invalid value of a field, the field comes twice. The second
    warning then includes the first.
    """
    _, wrong = read_stored_policy(record.policy)
    yield from wrong.items()
    for key, (name, _) in METADATA.items():
        given = {key: record.metadata[key]} if key in record.metadata else {}
        for warning in overrides_from_metadata(given)[1]:
            yield name, f"{wrong[name]} {warning}" if name in wrong else warning
