"""Reads a file and environment variables into one configuration, or reports the errors in them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from groundwire.config.document import DocumentEntry, DocumentTable, Part, Scalar, read_document
from groundwire.config.fields import HIDDEN, Problems, conflict, plain
from groundwire.config.keys import DEFAULT_TENANT, shared_key
from groundwire.config.kinds import ENCRYPTED, KindError, Secret, is_encrypted
from groundwire.config.names import DEFAULTS, DVARA, NAMES, VARIABLES, WITHOUT_EFFECT, Alias, Format
from groundwire.config.rules import LEGACY_KEYS, RuleReader
from groundwire.config.tenants import read_tenants
from groundwire.config.tree import PRESETS, SECTIONS, SETTINGS, Sections
from groundwire.config.upstreams import DEFAULT_UPSTREAM, Upstream, read_upstreams
from groundwire.detection.values import FrozenMapping
from groundwire.errors import ConfigError
from groundwire.policy.decisions import Decision
from groundwire.policy.detector_selection import Detectors
from groundwire.policy.policy import Overrides, Policy, SourceLimits
from groundwire.policy.signals import SignalRules


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOrigin:
    """The place that the value of a setting comes from.

    Attributes:
        source: The place in words, such as ``default``, ``groundwire.yaml:3`` or a variable's name.
        name: The name in the file, if it is another system's name; else empty.
        format: The system whose name for the setting was used, or whose default the value is.
    """

    source: str = "default"
    name: str = ""
    format: Format = Format.NATIVE

    @classmethod
    def default_of(cls, whose: Format) -> Self:
        """Return the origin of a default of the system ``whose``, such as DVARA."""
        return cls(source=f"default under {whose}'s names", format=whose)

    @property
    def is_default(self) -> bool:
        """Whether the value is a default, of Groundwire or another system."""
        return self in (type(self)(), type(self).default_of(self.format))

    def __str__(self) -> str:
        return f"{self.source} ({self.name})" if self.name else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Sections):
    """The whole configuration: all settings, signals, decisions, tenants and upstreams.

    Attributes:
        listed: The upstreams (LLM servers) that the file lists, in its order; empty if a variable
            sets ``upstream.url``.
        signals: The rules of signals, on which decisions can depend.
        decisions: The decision rules, in the order of the file.
        tenants: The settings of tenants, by id.
        tenant_keys: The keys of tenants, by the tenant's id.
        origins: The origin of each setting, and of each signal, decision, tenant and upstream that
            the file has, by its full name, such as ``check.action`` or ``signals.keywords.NAME``.
            Empty if the configuration was not read with :func:`load` or :func:`parse`.
        formats: The systems whose names the file uses, and DVARA if a variable of DVARA is set.
        warnings: Warnings about values that were accepted.
    """

    listed: tuple[Upstream, ...] = ()
    signals: SignalRules = field(default_factory=SignalRules)
    decisions: tuple[Decision, ...] = ()
    tenants: Mapping[str, Overrides] = field(default_factory=lambda: FrozenMapping({}))
    tenant_keys: Mapping[str, tuple[Secret, ...]] = field(default_factory=lambda: FrozenMapping({}))
    origins: Mapping[str, SettingOrigin] = field(
        default_factory=lambda: FrozenMapping({}), compare=False
    )
    formats: tuple[Format, ...] = field(default=(), compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def policy(self) -> Policy:
        """The policy of a request before settings of decisions, tenants and the request apply."""
        own = {x.name: getattr(self.check, x.name) for x in fields(Policy) if x.name != "explain"}
        return Policy(**own, explain=self.explain.enabled)

    @property
    def detectors(self) -> Detectors:
        """The detectors that tenants may choose, by name."""
        return Detectors(configured=self.detector.name, embedder=self.similarity.embedder)

    @property
    def limits(self) -> SourceLimits:
        """The limits of evidence for tenants that have set no limits of their own."""
        own = self.evidence
        return SourceLimits(max_sources=own.max_sources, max_source_chars=own.max_source_chars)

    @property
    def upstreams(self) -> tuple[Upstream, ...]:
        """All upstreams (LLM servers): that of ``upstream.url`` alone, or else the listed ones."""
        own = self.upstream
        if own.url is None:
            return self.listed
        return (Upstream(name=DEFAULT_UPSTREAM, url=own.url, api_key=own.api_key),)

    @property
    def keys(self) -> Mapping[str, tuple[Secret, ...]]:
        """The keys of each tenant; ``gateway.api_key`` is a key of the tenant ``default``."""
        keys = dict(self.tenant_keys)
        if self.gateway.api_key is not None:
            keys[DEFAULT_TENANT] = (*keys.get(DEFAULT_TENANT, ()), self.gateway.api_key)
        return FrozenMapping(keys)

    def value(self, path: str) -> Any:  # noqa: ANN401 - the type depends on the setting
        """Return the value of a setting by its full name."""
        section, _, name = path.partition(".")
        return getattr(getattr(self, section), name)


def load(path: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration from a file and from environment variables, which take precedence.

    Variables that other programs read too, such as ``OPENAI_API_KEY``, replace only defaults.

    Args:
        path: The file; ``None``: there is no file.
        environ: The environment variables; ``None``: there are none.

    Raises:
        ConfigError: If the file is not a YAML mapping in UTF-8; if a name or a value in the file or
            the variables is wrong; or if settings conflict, or one that others need is missing.
        OSError: If the file cannot be read.
    """
    if path is None:
        return parse("", name="", environ=environ)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: this is not UTF-8, at byte {error.start:,}."]) from error
    return parse(text, name=str(path), environ=environ)


def parse(text: str, *, name: str, environ: Mapping[str, str] | None = None) -> Config:
    """Read a configuration from the text of a file and from environment variables.

    ``name`` is the name of the file in messages. Any error in the text or in the variables raises a
    ``ConfigError``.

    >>> config = parse("check: {action: BLOCK}", name="example.yaml")
    >>> config.check.action, str(config.origins["check.action"])
    (<Action.BLOCK: 'block'>, 'example.yaml:1')
    """
    reader = _Reader()
    document = read_document(text, name)
    # Decisions are read last: the signals that they name may be defined below them.
    for entry in sorted(document.entries, key=lambda entry: entry.key == "decisions"):
        reader.read_section(entry)
    if not reader.formats and document.entries:
        reader.formats.add(Format.NATIVE)
    reader.read_environment(environ or {})
    reader.require_encryption()
    reader.choose_upstreams()
    if reader.problems.errors:
        raise ConfigError(reader.problems.errors)
    config = reader.finish()
    if shared := shared_key(config.keys):
        one, other = map(repr, shared)
        where = config.origins.get(f"tenants.{shared[1]}", config.origins["gateway.api_key"])
        raise ConfigError([f"{where}: a key of tenant {other} is also one of {one}. Remove one."])
    if wrong := (*wrong_tenants(config, config.detectors.choose), *_missing_settings(config)):
        raise ConfigError(wrong)
    return config


def wrong_tenants(config: Config, check: Callable[[Overrides], object]) -> Iterator[str]:
    """Yield the errors that ``check`` raises for the settings of a configuration's tenants."""
    for id_, own in config.tenants.items():
        try:
            check(own)
        except ConfigError as error:
            origin = config.origins.get(f"tenants.{id_}", "tenants")
            yield f"{origin}: tenant {id_!r}: {error}"


def _missing_settings(config: Config) -> Iterator[str]:
    """Yield an error for each missing setting of OpenID Connect, if ``oidc.issuer`` is set."""
    for path in ("oidc.client_id", "oidc.redirect_uri"):
        if config.oidc.issuer is not None and config.value(path) is None:
            yield f"{config.origins['oidc.issuer']}: oidc.issuer needs {path}, which is not set."


#: Name of a setting in a file, a path with dots → its :class:`.Alias`, which leads to the setting;
#: ``None`` if the name has no effect.
_LEAVES: Mapping[str, Alias | None] = {
    **{alias.name: alias for alias in NAMES if alias.name},
    **dict.fromkeys(WITHOUT_EFFECT),
}


def _tables() -> dict[str, dict[str, None]]:
    tables: dict[str, dict[str, None]] = {}
    for name in _LEAVES:
        above = ""
        for key in name.split("."):
            tables.setdefault(above, {})[key] = None
            above = f"{above}.{key}".lstrip(".")
    return tables


#: Table in a file, a path with dots (the whole file: an empty path) → the names in it, in order.
_TABLES = _tables()
#: Matches the ends of some variables that Kubernetes sets for services: see
#: :func:`_is_service_link`.
_SERVICE_LINK = re.compile(
    r"_SERVICE_PORT_\w+$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$"
)
#: A variable with one of these prefixes is an error if it is no known setting, unless Kubernetes
#: sets the variable for a service.
_PREFIXES = (
    f"{DVARA}.".upper().replace(".", "_").replace("-", "_"),
    *(f"GROUNDWIRE_{section.upper()}_" for section in SECTIONS),
)
_STRUCTURES = ("signals", "decisions", "tenants", "upstreams", *LEGACY_KEYS)

_BARE_PLUGINS = (
    "plugins belong to a decision. Indent them under one, which without rules applies to every "
    "request: decisions: [{name: all, plugins: [...]}]."
)


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    origin: SettingOrigin
    written: str


class _Reader:
    def __init__(self) -> None:
        self.problems, self.formats = Problems(), set[Format]()
        self.rules = RuleReader(self.problems, self.formats)
        self.found: dict[str, _Found] = {}
        self.decisions: tuple[Decision, ...] = ()
        self.tenants: dict[str, Overrides] = {}
        self.tenant_keys: dict[str, tuple[Secret, ...]] = {}
        self.upstreams: tuple[Upstream, ...] = ()

    def read_section(self, entry: DocumentEntry) -> None:
        """Read an entry at the top level of a file."""
        if entry.key == "signals":
            self.rules.read_signals(entry)
        elif entry.key in LEGACY_KEYS:
            self.rules.read_legacy(entry)
        elif entry.key == "decisions":
            self.decisions = self.rules.read_decisions(entry)
        elif entry.key == "tenants":
            self.formats.add(Format.NATIVE)
            self.tenants, self.tenant_keys = read_tenants(entry, self.problems)
        elif entry.key == "upstreams":
            self.formats.add(Format.NATIVE)
            self.upstreams = read_upstreams(entry, self.problems)
        else:
            self.read(entry)

    def read(self, entry: DocumentEntry, above: str = "") -> None:
        """Read an entry of a table; a key such as ``check.action`` means nested tables."""
        path = above
        for key in entry.key.split("."):
            known = _TABLES.get(path, {})
            if path.startswith("dvara"):  # max-sources may be written max_sources or maxSources
                key = next((each for each in known if _relaxed(each) == _relaxed(key)), key)
            if path == "" and key == "plugins":
                self.problems.add(entry.place, _BARE_PLUGINS)
                return
            if key not in known:
                where = f"{path!r}" if path else "a configuration"
                names = [*known, *(() if path else _STRUCTURES)]
                self.problems.unknown(entry.place, key, names, where=where)
                return
            path = f"{path}.{key}".lstrip(".")
        if path in _TABLES:
            if isinstance(entry.part, DocumentTable):
                for each in entry.part.entries:
                    self.read(each, path)
            elif not (isinstance(entry.part, Scalar) and entry.part.value is None):
                text = f"{path} is a mapping, and this is none. Known: {', '.join(_TABLES[path])}."
                self.problems.add(entry.place, text)
        elif (alias := _LEAVES[path]) is not None:
            self._put(alias, entry.part, written=path)
        else:
            self.formats.add(Format.HALUGATE)
            self.problems.warnings.append(f"{entry.place}: {path} has no effect here.")

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Read the environment variables, whose values replace those of the file.

        Variables that other programs read too (:attr:`.Alias.is_shared`) replace only defaults.
        """
        file, self.found = self.found, {}
        shared = []
        for variable, text in sorted(environ.items()):
            alias = VARIABLES.get(variable)
            if _is_service_link(variable, text):
                continue
            if alias is not None and alias.is_shared:
                shared.append((alias, text))
            elif alias is not None:
                self._put_variable(alias, text)
            elif variable.startswith(_PREFIXES):
                near = get_close_matches(variable, VARIABLES, n=1)
                meant = f" Did you mean {near[0]}?" if near else ""
                self.problems.add(variable, f"no setting has this variable.{meant}")
        self.found = file | self.found
        verifier = self.found.get("verify.verifier")
        if verifier is not None and verifier.value != "local":
            for alias, text in shared:
                if alias.path not in self.found:
                    self._put_variable(alias, text)

    def require_encryption(self) -> None:
        """Add an error for plain HTTP to a verifier, except on this machine or the allowed host."""
        host = self.found.get("verify.plain_http_host")
        for path in ("verify.base_url", "verify.service_url"):
            url = self.found.get(path)
            if url is None or url.value is None:
                continue
            if not is_encrypted(url.value, plain_host=host.value if host else None):
                self.problems.wrong(url.origin.source, url.written, url.value, KindError(ENCRYPTED))

    def choose_upstreams(self) -> None:
        """Drop the listed upstreams if a variable sets ``upstream.url``.

        Otherwise, add an error if the file has both a list and ``upstream.url``, or if there is a
        list and ``upstream.api_key`` is set without ``upstream.url``.
        """
        if not self.upstreams:
            return
        first = self.problems.places[f"upstreams.{self.upstreams[0].name}"]
        url, key = self.found.get("upstream.url"), self.found.get("upstream.api_key")
        if url is None or url.value is None:
            # The key of one server must not be sent to the servers of the list.
            if key is not None and key.value is not None:
                text = (
                    "upstream.api_key goes with upstream.url. Those listed have keys of their own"
                )
                self.problems.add(key.origin.source, f"{text}, and the list is at {first}.")
        elif url.written in VARIABLES:
            text = f"{url.written} wins over the upstreams listed at {first}."
            self.problems.warnings.append(text)
            self.upstreams = ()
        else:
            text = f"upstream.url is the only upstream, and others are listed at {first}."
            self.problems.add(url.origin.source, f"{text} Move it to the list.")

    def finish(self) -> Config:
        """Build the configuration from the values that were read, the preset, and defaults."""
        origins = dict.fromkeys(SETTINGS, SettingOrigin())
        values = {path: setting.default for path, setting in SETTINGS.items()}
        for whose in sorted(self.formats):
            for path, value in DEFAULTS.get(whose, {}).items():
                values[path] = value
                origins[path] = SettingOrigin.default_of(whose)
        preset = self.found.get("check.preset")
        for path, value in PRESETS[preset.value if preset else "none"].items():
            values[path] = value
            origins[path] = SettingOrigin(source=f"preset {preset.value}" if preset else "")
        for path, found in self.found.items():
            values[path], origins[path] = found.value, found.origin
        for name, place in self.problems.places.items():
            origins[name] = SettingOrigin(source=str(place))
        sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        for setting in SETTINGS.values():
            sections[setting.section][setting.name] = values[setting.path]
        return Config(
            **{section: SECTIONS[section](**own) for section, own in sections.items()},
            signals=self.rules.rules(),
            decisions=self.decisions,
            tenants=FrozenMapping(self.tenants),
            tenant_keys=FrozenMapping(self.tenant_keys),
            listed=self.upstreams,
            origins=FrozenMapping(origins),
            formats=tuple(sorted(self.formats)),
            warnings=tuple(self.problems.warnings),
        )

    def _put(self, alias: Alias, part: Part, *, written: str) -> None:
        self.formats.add(alias.format)
        name = "" if alias.format is Format.NATIVE else written
        origin = SettingOrigin(source=str(part.place), name=name, format=alias.format)
        self._set(alias, plain(part), origin, written)

    def _put_variable(self, alias: Alias, text: str) -> None:
        if not text.strip():
            self.problems.add(alias.variable, "it is empty. Unset it, or give it a value.")
            return
        if alias.format is Format.DVARA:
            self.formats.add(alias.format)
        origin = SettingOrigin(source=alias.variable, format=alias.format)
        self._set(alias, text, origin, alias.variable)

    def _set(self, alias: Alias, raw: object, origin: SettingOrigin, written: str) -> None:
        setting = SETTINGS[alias.path]
        try:
            value = setting.kind.read(alias.conversion(raw))
        except KindError as error:
            shown = HIDDEN if setting.kind.is_secret else raw
            self.problems.wrong(origin.source, written, shown, error)
            return
        before = self.found.get(alias.path)
        if before is not None and before.value != value:
            text = conflict(written, before.written, before.origin.source)
            self.problems.add(origin.source, text)
        self.found[alias.path] = _Found(value, origin, written)


def _relaxed(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def _is_service_link(variable: str, text: str) -> bool:
    """Return whether a variable looks like one that Kubernetes sets for a service.

    For example, Kubernetes sets GROUNDWIRE_GATEWAY_PORT=tcp://10.0.0.1:8080 for a service named
    groundwire-gateway.
    """
    return variable.endswith(("_SERVICE_HOST", "_SERVICE_PORT")) or bool(
        _SERVICE_LINK.search(variable)
        or (variable.endswith("_PORT") and text.startswith(("tcp://", "udp://", "sctp://")))
    )
