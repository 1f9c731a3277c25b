"""Finds the decision rule and the policy of a request: before its answer, and after the check."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.detection.values import Detection
from groundwire.pipeline.asker import Asker
from groundwire.pipeline.context import RequestContext
from groundwire.policy.decisions import ChosenDecision, Decision, Rule, choose
from groundwire.policy.policy import HallucinationPlugin, Policy, resolve
from groundwire.policy.signals import Condition, SignalRequest, Signals, SignalType, SignalValues


@dataclass(frozen=True, slots=True, eq=False)
class Decider:
    """The decision rules of a configuration, with the signals that they depend on.

    Attributes:
        signals: Computes the signals of a request, such as its language.
        decisions: The decision rules, in the order of the configuration file.
        base: The configured policy; decisions and tenants may override its fields.
    """

    signals: Signals
    decisions: tuple[Decision, ...]
    base: Policy

    def may_check(self, asker: Asker) -> bool:
        """Return whether any policy that may apply to a request checks its answer.

        If the request asks for the check, the result is true. Otherwise the tenant's setting
        ``enabled`` decides. If the tenant has not set ``enabled``, the result is true if the
        configuration or any decision rule enables the check.
        """
        if asker.request is not None and asker.request.enabled:
            return True
        if asker.overrides is not None and asker.overrides.enabled is not None:
            return asker.overrides.enabled
        plugins = (decision.plugin for decision in self.decisions)
        return self.base.enabled or any(plugin and plugin.enabled for plugin in plugins)

    def reads(self, signal: SignalType) -> bool:
        """Return whether any decision depends on a signal of this type."""
        return any(_reads(decision.rule, signal) for decision in self.decisions)

    def decide(
        self, prompt: str, needs_fact_check: bool | None
    ) -> tuple[ChosenDecision, SignalValues]:
        """Choose the decision that applies before the answer exists.

        Returns:
            The choice, and the values of the request's signals.
        """
        readings = self.signals.open(
            SignalRequest(prompt=prompt, needs_fact_check=needs_fact_check)
        )
        return choose(self.decisions, readings), readings

    def policy(self, plugins: Sequence[HallucinationPlugin | None], asker: Asker) -> Policy:
        """Return the policy of a request.

        ``plugins`` are the policies of the decisions that apply or may apply.
        """
        return resolve(self.base, plugins=plugins, tenant=asker.overrides, request=asker.request)

    def strictest(self, asker: Asker) -> Policy:
        """Return the policy of a request to which any of the decisions may apply."""
        return self.policy((None, *(each.plugin for each in self.decisions)), asker)

    def settle(self, context: RequestContext, detection: Detection) -> RequestContext:
        """Choose the decision again after the check; return the context with the new choice.

        The new context also has the policy of the new choice. If no decision depends on findings,
        or the context has no signals, the context is returned unchanged.
        """
        if context.readings is None or not self.reads(SignalType.HALLUCINATION):
            return context
        choice = choose(self.decisions, context.readings.after(detection))
        return replace(context, choice=choice, policy=self.policy(choice.plugins, context))


def _reads(part: Rule | Condition | None, signal: SignalType) -> bool:
    if isinstance(part, Rule):
        return any(_reads(condition, signal) for condition in part.conditions)
    return part is not None and part.type is signal
