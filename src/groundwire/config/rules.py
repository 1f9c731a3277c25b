"""Reads the signals and decisions of a configuration file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from groundwire.config.document import DocumentEntry, DocumentTable, LinePlace, Part, Scalar
from groundwire.config.fields import Problems, TableField, entries_of, items_of, read_fields
from groundwire.config.kinds import Kind, OneOrMore, Text, Texts, Whole, one_of
from groundwire.config.names import Format
from groundwire.config.tree import SETTINGS, Cosine
from groundwire.detection.values import Label
from groundwire.policy import signals
from groundwire.policy.decisions import Decision, Rule
from groundwire.policy.policy import HallucinationPlugin
from groundwire.policy.signals import Condition, Operator, SignalRules, SignalType
from groundwire.text.keywords import PatternError, compile_pattern
from groundwire.text.language import LANGUAGES

#: The keys of the section ``signals``, and the type of the signals in each.
KEYS = {
    "fact_check": SignalType.FACT_CHECK,
    "keywords": SignalType.KEYWORD,
    "domains": SignalType.DOMAIN,
    "embeddings": SignalType.EMBEDDING,
    "languages": SignalType.LANGUAGE,
    "hallucination": SignalType.HALLUCINATION,
}

#: HaluGate's name of a list of signals, at the top level of its file → the key in ``signals``.
LEGACY_KEYS = {
    "fact_check_rules": "fact_check",
    "keyword_rules": "keywords",
    "embedding_rules": "embeddings",
    "language_rules": "languages",
}

_ANY = "any"
_Languages = Annotated[tuple[Annotated[str, one_of(LANGUAGES)], ...], OneOrMore()]
_FLAG, _TEXT, _TEXTS = Kind(bool), Kind(Text), Kind(Texts)
_ACTION = SETTINGS["check.action"].kind
_DESCRIPTION = TableField("description", _TEXT)
_NAMED = (TableField("name", _TEXT, is_required=True), _DESCRIPTION)
_COSINE = TableField("threshold", Kind(Cosine))


def _choice(values: Sequence[str], aliases: Mapping[str, str] | None = None) -> Kind:
    return Kind(Annotated[str, one_of(values, aliases)])


_OPERATOR = _choice(tuple(Operator))
_AGGREGATION = _choice(tuple(signals.Aggregation), {_ANY: "max"})

FIELDS: dict[SignalType, tuple[TableField, ...]] = {
    SignalType.FACT_CHECK: (
        TableField("name", _choice((signals.NEEDED, signals.NOT_NEEDED)), is_required=True),
        _DESCRIPTION,
    ),
    SignalType.KEYWORD: (
        *_NAMED,
        TableField("words", _TEXTS, ("keywords",)),
        TableField("patterns", _TEXTS),
        TableField("operator", _choice(tuple(Operator), {"NOR": "NOT"})),
        TableField("case_sensitive", _FLAG),
    ),
    SignalType.DOMAIN: (*_NAMED, _COSINE),
    SignalType.EMBEDDING: (
        *_NAMED,
        TableField("examples", _TEXTS, ("candidates",), is_required=True),
        _COSINE,
        TableField("aggregation", _AGGREGATION, ("aggregation_method",)),
    ),
    SignalType.LANGUAGE: (*_NAMED, TableField("codes", Kind(_Languages))),
    SignalType.HALLUCINATION: (
        *_NAMED,
        TableField("label", _choice((_ANY, "unsupported", "contradicted"))),
        TableField("min_severity", SETTINGS["check.min_severity"].kind),
    ),
}

_DECISION = (
    *_NAMED,
    TableField("priority", Kind(Whole)),
    TableField("rules"),
    TableField("plugins"),
)
_RULE = (
    TableField("operator", _OPERATOR, is_required=True),
    TableField("conditions", is_required=True),
)
_CONDITION = (
    TableField("type", _choice(tuple(SignalType)), is_required=True),
    TableField("name", is_required=True),
)
_PLUGIN = (
    TableField("type", _choice(("hallucination",)), is_required=True),
    TableField("configuration"),
)

PLUGIN_FIELDS = (
    TableField("enabled", _FLAG),
    TableField("explain", _FLAG, ("use_nli",)),
    TableField("action", _ACTION, ("hallucination_action",)),
    TableField("unverified_action", _ACTION, ("unverified_factual_action",)),
    TableField("include_details", _FLAG, ("include_hallucination_details",)),
)
_PLUGIN_ALIASES = {alias for each in PLUGIN_FIELDS for alias in each.aliases}


#: Names of signals that decisions can use without a definition in the configuration.
_BUILT_IN: dict[SignalType, Iterable[str]] = {
    SignalType.FACT_CHECK: (signals.NEEDED, signals.NOT_NEEDED),
    SignalType.DOMAIN: signals.DOMAINS,
    SignalType.LANGUAGE: LANGUAGES,
    SignalType.HALLUCINATION: [rule.name for rule in signals.FINDINGS],
}


@dataclass(slots=True)
class RuleReader:
    """Reads the signals of a configuration, and then the decisions that name them."""

    problems: Problems
    formats: set[Format]
    # Type → name of a signal → its rule; ``None`` if the signal needs no rule, or if an error in
    # its definition leaves no rule.
    _rules: dict[SignalType, dict[str, Any]] = field(
        default_factory=lambda: {type_: {} for type_ in SignalType}
    )
    _used: list[Condition] = field(default_factory=list)

    def read_signals(self, entry: DocumentEntry) -> None:
        """Read the section ``signals``."""
        self.formats.add(Format.NATIVE)
        for each in entries_of(entry.part, where="signals", problems=self.problems):
            if each.key in KEYS:
                self._read_list(each.key, each.part, where=f"signals.{each.key}")
            else:
                self.problems.unknown(each.place, each.key, KEYS, where="signals")

    def read_legacy(self, entry: DocumentEntry) -> None:
        """Read one of HaluGate's lists, such as ``fact_check_rules``."""
        self.formats.add(Format.HALUGATE)
        self._read_list(LEGACY_KEYS[entry.key], entry.part, where=entry.key)

    def read_decisions(self, entry: DocumentEntry) -> tuple[Decision, ...]:
        """Read the list ``decisions``, after the signals that the decisions name."""
        decisions = []
        for part in items_of(entry.part, where="decisions", problems=self.problems):
            decision = self._decision(part)
            if decision and self.problems.is_new("decisions", decision.name, part.place):
                decisions.append(decision)
        return tuple(decisions)

    def rules(self) -> SignalRules:
        """Return the rules of signals: those that the configuration defines, and built-in ones.

        Languages, and domains other than "general", that decisions name without a definition get
        built-in rules. "general" means that no other domain applies, so it needs no rule.
        """
        for used in self._used:
            rules, name = self._rules[used.type], used.name
            if used.type is SignalType.LANGUAGE and name not in rules:
                rules[name] = signals.LanguageRule(name=name, codes=(name,))
            if used.type is SignalType.DOMAIN and name not in rules and name != signals.GENERAL:
                rules[name] = signals.DomainRule(name=name, description=signals.DOMAINS[name])
        return SignalRules(
            **{key: tuple(filter(None, self._rules[type_].values())) for key, type_ in KEYS.items()}
        )

    def _read_list(self, key: str, part: Part, *, where: str) -> None:
        type_ = KEYS[key]
        for item in items_of(part, where=where, problems=self.problems):
            values = read_fields(item, FIELDS[type_], where=where, problems=self.problems)
            if values is None:
                continue
            name = values["name"]
            if self.problems.is_new(f"signals.{key}", name, item.place):
                self._rules[type_][name] = self._signal(type_, values, item.place)

    def _signal(self, type_: SignalType, values: dict[str, Any], place: LinePlace) -> Any:  # noqa: ANN401
        name, text = values["name"], values.pop("description", "")
        if type_ is SignalType.FACT_CHECK:
            return (name, text)
        if type_ is SignalType.KEYWORD:
            return self._keyword(values, place)
        if type_ is SignalType.EMBEDDING:
            return signals.EmbeddingRule(**values)
        if type_ is SignalType.LANGUAGE:
            if "codes" not in values and name not in LANGUAGES:
                where = "the languages (without 'codes')"
                self.problems.unknown(place, name, LANGUAGES, where=where)
            return signals.LanguageRule(name=name, codes=values.get("codes", (name,)))
        if type_ is SignalType.HALLUCINATION:
            label = values.pop("label", _ANY)
            return signals.HallucinationRule(
                **values, label=None if label == _ANY else Label(label)
            )
        if name == signals.GENERAL:
            return None  # ``general`` needs no rule: it holds if no other domain does
        description = text or signals.DOMAINS.get(name, "")
        if not description:
            self.problems.add(place, f"the domain {name!r} has no description, and needs one.")
        return signals.DomainRule(**values, description=description)

    def _keyword(self, values: dict[str, Any], place: LinePlace) -> signals.KeywordRule | None:
        name = values["name"]
        if not values.get("words") and not values.get("patterns"):
            self.problems.add(place, f"the keywords {name!r} have neither words nor patterns.")
            return None
        is_case_sensitive = values.pop("case_sensitive", False)
        for pattern in values.get("patterns", ()):
            try:
                compile_pattern(pattern, is_case_sensitive=is_case_sensitive)
            except PatternError as error:
                self.problems.add(
                    place,
                    f"the pattern {pattern!r} of {name!r} cannot be used: {error}. Patterns are in "
                    "RE2's syntax, without back references and looking around.",
                )
                return None
        return signals.KeywordRule(**values, is_case_sensitive=is_case_sensitive)

    def _decision(self, part: Part) -> Decision | None:
        values = read_fields(part, _DECISION, where="a decision", problems=self.problems)
        if values is None:
            return None
        n_before = len(self.problems.errors)
        where = f"decision {values['name']!r}"
        rules, plugins = values.pop("rules", None), values.pop("plugins", None)
        rule = None if rules is None else self._rule(rules, where)
        plugin = None if plugins is None else self._plugins(plugins, where)
        if len(self.problems.errors) > n_before:
            return None
        if isinstance(rule, Condition):
            rule = Rule(Operator.AND, (rule,))
        return Decision(**values, rule=rule, plugin=plugin)

    def _rule(self, part: Part, where: str) -> Rule | Condition | None:
        if not isinstance(part, DocumentTable):
            self.problems.add(part.place, f"{where}: a rule is a mapping, and this is none.")
            return None
        if not {"operator", "conditions"} & {each.key for each in part.entries}:
            return self._condition(part, where)
        values = read_fields(part, _RULE, where=where, problems=self.problems)
        if values is None:
            return None
        items = items_of(values["conditions"], where=f"{where}: conditions", problems=self.problems)
        inner = [self._rule(item, where) for item in items]
        if None in inner:
            return None
        try:
            return Rule(values["operator"], tuple(filter(None, inner)))
        except ValueError as error:
            self.problems.add(part.place, f"{where}: {error}.")
            return None

    def _condition(self, part: DocumentTable, where: str) -> Condition | None:
        values = read_fields(
            part, _CONDITION, where=f"{where}: a condition", problems=self.problems
        )
        if values is None:
            return None
        type_, name = values["type"], values["name"]
        # A signal whose rule is ``None`` is known, too. If the cause is an error in its definition,
        # a second error, that the signal is unknown, would mislead.
        known = list(dict.fromkeys([*self._rules[type_], *_BUILT_IN.get(type_, ())]))
        text = name.value if isinstance(name, Scalar) else ""
        if text not in known:
            self.problems.unknown(
                name.place, str(text), known or ["none: define one first"], where=f"{type_} signals"
            )
            return None
        self._used.append(Condition(type_, str(text)))
        return self._used[-1]

    def _plugins(self, part: Part, where: str) -> HallucinationPlugin | None:
        plugin = None
        for item in items_of(part, where=f"{where}: plugins", problems=self.problems):
            values = read_fields(item, _PLUGIN, where=f"{where}: a plugin", problems=self.problems)
            if values is None:
                continue
            if plugin is not None:
                self.problems.add(item.place, f"{where} has a second plugin 'hallucination'.")
            plugin = self._plugin(values.get("configuration"), where)
        return plugin

    def _plugin(self, part: Part | None, where: str) -> HallucinationPlugin:
        if part is None:
            return HallucinationPlugin()
        if isinstance(part, DocumentTable) and any(
            each.key in _PLUGIN_ALIASES for each in part.entries
        ):
            self.formats.add(Format.HALUGATE)
        values = read_fields(
            part, PLUGIN_FIELDS, where=f"{where}: plugin 'hallucination'", problems=self.problems
        )
        if values and "enabled" not in values:
            self.problems.warnings.append(
                f"{part.place}: {where}: plugin 'hallucination' does not say enabled: true, so "
                "nothing is checked where it applies."
            )
        return HallucinationPlugin(**values or {})
