"""Finds the decision that applies to a request, and the reasons.

A decision is a rule about the signals of a request (such as its language), and the policy for
requests for which the rule holds. Decisions are tried by priority, the highest first. Those of
equal priority are tried in the order of the configuration file. The first decision whose rule holds
applies. If it is unknown whether a rule holds (a signal failed, or the response is still to come),
the decision of this rule is *unsettled*: it may apply. The policy then takes the strictest settings
of the unsettled decisions and the decision that applies.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from groundwire.policy.policy import HallucinationPlugin
from groundwire.policy.signals import Condition, Operator, SignalValues
from groundwire.policy.ternary_logic import Truth, all_of, any_of, negate


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions and rules joined by ``AND`` or ``OR``, or one condition or rule after ``NOT``."""

    operator: Operator
    conditions: "tuple[Condition | Rule, ...]"

    def __post_init__(self) -> None:
        n_conditions = len(self.conditions)
        if not n_conditions:
            raise ValueError(f"{self.operator} needs at least one condition")
        if self.operator is Operator.NOT and n_conditions != 1:
            raise ValueError(f"NOT takes one condition, and {n_conditions} are given")

    def __str__(self) -> str:
        inner = f" {self.operator} ".join(map(str, self.conditions))
        return f"NOT {inner}" if self.operator is Operator.NOT else f"({inner})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A rule, and the policy for requests for which the rule holds.

    Attributes:
        name: Name of the decision in logs and headers.
        priority: Of the decisions whose rules hold, the one with the highest priority applies; if
            several have this priority, the first in the configuration.
        rule: The rule that must hold; ``None`` means a rule that always holds.
        plugin: The policy of the check; ``None``: the policy of the configuration.
        description: Description for people; it has no effect.
    """

    name: str
    priority: int = 0
    rule: Rule | None = None
    plugin: HallucinationPlugin | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The result of a rule: true, false or unknown, and the conditions that decided this.

    ``because`` names conditions that hold (``keyword:urgent``), that do not hold
    (``not language:de``), and that are unknown, with the reason
    (``domain:law unknown: there is no embedder``).
    """

    truth: Truth
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """A decision that may apply, and the unknown conditions on which this depends."""

    decision: Decision
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenDecision:
    """The decision that applies to a request, and the decisions that may apply.

    Attributes:
        decision: The decision that applies; ``None`` if no decision does, so that the policy of the
            configuration is used.
        because: The conditions that made the decision apply.
        unsettled: Decisions that were tried before ``decision``, and may apply instead.
    """

    decision: Decision | None = None
    because: tuple[str, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()

    @property
    def plugins(self) -> tuple[HallucinationPlugin | None, ...]:
        """Policies of the decisions that apply or may apply, for :func:`.policy.resolve`.

        ``None`` means a decision without a policy, or no decision.
        """
        own = self.decision.plugin if self.decision else None
        return (own, *(each.decision.plugin for each in self.unsettled))

    def __str__(self) -> str:
        name = self.decision.name if self.decision else "none"
        reasons = f" ({', '.join(self.because)})" if self.because else ""
        open_ = "".join(
            f"; unsettled: {each.decision.name} ({', '.join(each.because)})"
            for each in self.unsettled
        )
        return f"{name}{reasons}{open_}"


def choose(decisions: Iterable[Decision], signals: SignalValues) -> ChosenDecision:
    """Find the decision that applies; only the signals that are needed for this are read."""
    unsettled: list[Unsettled] = []
    for decision in sorted(decisions, key=lambda decision: -decision.priority):
        verdict = evaluate(decision.rule, signals)
        if verdict.truth is Truth.TRUE:
            return ChosenDecision(
                decision=decision, because=verdict.because, unsettled=tuple(unsettled)
            )
        if verdict.truth is Truth.UNKNOWN:
            unsettled.append(Unsettled(decision=decision, because=verdict.because))
    return ChosenDecision(unsettled=tuple(unsettled))


def evaluate(rule: Rule | Condition | None, signals: SignalValues) -> RuleResult:
    """Find out whether a rule or condition holds, and why; without a rule, the result is true."""
    if rule is None:
        return RuleResult(truth=Truth.TRUE)
    if isinstance(rule, Condition):
        return _observe(rule, signals)
    if rule.operator is Operator.NOT:
        inner = evaluate(rule.conditions[0], signals)
        return RuleResult(truth=negate(inner.truth), because=inner.because)
    join = all_of if rule.operator is Operator.AND else any_of
    seen: list[RuleResult] = []

    def truths() -> Iterable[Truth]:
        for condition in rule.conditions:
            seen.append(evaluate(condition, signals))
            yield seen[-1].truth

    truth = join(truths())
    reasons = (text for result in seen if result.truth is truth for text in result.because)
    return RuleResult(truth=truth, because=tuple(dict.fromkeys(reasons)))


def _observe(condition: Condition, signals: SignalValues) -> RuleResult:
    observation = signals.read(condition)
    if observation.truth is Truth.UNKNOWN:
        because = f"{condition} unknown: {observation.reason}"
    else:
        because = f"{'' if observation.truth is Truth.TRUE else 'not '}{condition}"
    return RuleResult(truth=observation.truth, because=(because,))
