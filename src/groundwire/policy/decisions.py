"""Finds the decision that applies to a request, and the reasons.

Decisions are tried from the highest priority down; among equals, in the order of the file. The
first whose rule holds applies. One whose rule is unknown (a signal failed, or the response is still
to come) is neither taken nor passed over: it is *unsettled*, and whoever acts takes the stricter of
what the unsettled ones and the one that applies would do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.policy.policy import HallucinationPlugin
from groundwire.policy.signals import Condition, Operator, SignalValues
from groundwire.policy.ternary_logic import Truth, all_of, any_of, negate


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions and rules, joined by an operator. ``NOT`` has one of them."""

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
    """A rule, and the policy for requests for which it holds.

    Attributes:
        name: Names it in logs and headers.
        priority: The highest that holds applies.
        rule: When it applies; ``None``: always.
        plugin: What it says about the check; ``None``: nothing.
        description: For people.
    """

    name: str
    priority: int = 0
    rule: Rule | None = None
    plugin: HallucinationPlugin | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """Whether a rule holds, and the conditions that make it so.

    ``because`` names what held (``keyword:urgent``), what did not (``not language:de``), and what
    is unknown with the reason (``domain:law unknown: there is no embedder``).
    """

    truth: Truth
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """A decision that may apply."""

    decision: Decision
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenDecision:
    """The decision about a request.

    Attributes:
        decision: The one that applies; ``None`` if none does, and the configuration as a whole
            counts.
        because: The conditions that made it apply.
        unsettled: Decisions of higher priority that may apply, with what is unknown.
    """

    decision: Decision | None = None
    because: tuple[str, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()

    @property
    def plugins(self) -> tuple[HallucinationPlugin | None, ...]:
        """The policies of the decisions that apply or may apply.

        :func:`.policy.resolve` takes them; ``None`` leaves it to the configuration.
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


def choose(decisions: Iterable[Decision], readings: SignalValues) -> ChosenDecision:
    """Find the decision that applies, reading no more signals than that takes."""
    unsettled: list[Unsettled] = []
    for decision in in_order(decisions):
        verdict = evaluate(decision.rule, readings)
        if verdict.truth is Truth.TRUE:
            return ChosenDecision(
                decision=decision, because=verdict.because, unsettled=tuple(unsettled)
            )
        if verdict.truth is Truth.UNKNOWN:
            unsettled.append(Unsettled(decision=decision, because=verdict.because))
    return ChosenDecision(unsettled=tuple(unsettled))


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """Sort decisions from the highest priority down; equals keep their order."""
    return sorted(decisions, key=lambda decision: -decision.priority)


def evaluate(rule: Rule | Condition | None, readings: SignalValues) -> RuleResult:
    """Whether a rule holds, and why; ``None`` always holds."""
    if rule is None:
        return RuleResult(truth=Truth.TRUE)
    if isinstance(rule, Condition):
        return _observe(rule, readings)
    if rule.operator is Operator.NOT:
        inner = evaluate(rule.conditions[0], readings)
        return RuleResult(truth=negate(inner.truth), because=inner.because)
    join = all_of if rule.operator is Operator.AND else any_of
    seen: list[RuleResult] = []

    def truths() -> Iterable[Truth]:
        for condition in rule.conditions:
            seen.append(evaluate(condition, readings))
            yield seen[-1].truth

    truth = join(truths())
    return RuleResult(truth=truth, because=_reasons(seen, truth))


def _reasons(verdicts: Sequence[RuleResult], truth: Truth) -> tuple[str, ...]:
    named = (text for verdict in verdicts if verdict.truth is truth for text in verdict.because)
    return tuple(dict.fromkeys(named))


def _observe(condition: Condition, readings: SignalValues) -> RuleResult:
    observation = readings.read(condition)
    if observation.truth is Truth.UNKNOWN:
        because = f"{condition} unknown: {observation.reason}"
    else:
        because = f"{'' if observation.truth is Truth.TRUE else 'not '}{condition}"
    return RuleResult(truth=observation.truth, because=(because,))
