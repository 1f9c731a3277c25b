"""Turns the outcome of a check into an action.

The value of a setting comes from the tenant, or else from the decisions that apply or may apply,
or else from the configuration. A request can make its policy stricter, but never milder.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import TypeVar

from groundwire.detection.values import SEVERITY, Detection, Label, Outcome, decide_outcome

_Ordered = TypeVar("_Ordered", bound=StrEnum)


class Action(StrEnum):
    """The actions on an answer, from the weakest to the strongest.

    ``none``, ``log`` and ``flag`` leave the answer as it is, and differ only in what is recorded;
    ``header`` adds HaluGate's response headers; ``body`` adds a warning to the text, but acts as
    ``header`` for JSON; ``repair`` replaces wrong words with words of the evidence, or takes out
    their sentence or clause, and becomes ``block`` if neither is possible; ``block`` withholds the
    answer.
    """

    NONE = "none"
    LOG = "log"
    FLAG = "flag"
    HEADER = "header"
    BODY = "body"
    REPAIR = "repair"
    BLOCK = "block"

    @property
    def strength(self) -> int:
        """Rank of the action by strength: 0 for ``none``, 6 for ``block``."""
        return _place(self)

    @property
    def withholds(self) -> bool:
        """Whether an answer may have to be withheld: the action is ``repair`` or ``block``."""
        return self in (Action.REPAIR, Action.BLOCK)


def strongest(actions: Iterable[Action]) -> Action:
    """Return the strongest of some actions; ``none`` if there are none."""
    return max(actions, key=lambda action: action.strength, default=Action.NONE)


class OnError(StrEnum):
    """The reactions to a check that was due and failed, from the mildest to the strictest."""

    ALLOW = "allow"  # the policy's action, but at most log, so that the answer passes
    WARN = "warn"  # the policy's action, but at most header, so that the answer passes
    AUTO = "auto"  # block if the policy's action is repair or block, else as warn
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that turn an outcome into an action.

    Attributes:
        enabled: Whether answers are checked.
        action: Action on a hallucinated answer.
        contradicted_action: Action on an answer that the evidence contradicts, unless ``action`` is
            stronger; ``None``: ``action``.
        unverified_action: Action if there is no evidence; ``None``: ``action``, but at most
            ``header``.
        partial_action: Action if a part of the answer or the evidence was not checked, unless a
            finding leads to a stronger action; ``None``: ``action``, but at most ``header``.
        on_error: Reaction to a check that failed.
        min_severity: Findings of a lower severity lead at most to ``log``; 0 to 4.
        include_details: Whether a warning in the body lists the findings.
        explain: Whether findings are explained.
    """

    enabled: bool = True
    action: Action = Action.LOG
    contradicted_action: Action | None = None
    unverified_action: Action | None = None
    partial_action: Action | None = None
    on_error: OnError = OnError.AUTO
    min_severity: int = 0
    include_details: bool = False
    explain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HallucinationPlugin:
    """The policy of a decision. All its settings replace those of the configuration.

    The defaults, for settings that the decision does not state, are HaluGate's.
    """

    enabled: bool = False
    explain: bool = False
    action: Action = Action.HEADER
    unverified_action: Action = Action.HEADER
    include_details: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLimits:
    """Limits on the number of sources, and on the characters of each; ``None`` means no limit.

    Results report how much evidence was left out.
    """

    max_sources: int | None = None
    max_source_chars: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The settings of a tenant. ``None`` means: not set. A limit of 0 means: no limit.

    :mod:`groundwire.policy.detector_selection` reads ``detector``, ``operating_point`` and
    ``similarity_threshold``; the gateway reads ``release``; no check reads ``false_block_budget``,
    which is for the console.
    """

    enabled: bool | None = None
    action: Action | None = None
    contradicted_action: Action | None = None
    unverified_action: Action | None = None
    partial_action: Action | None = None
    on_error: OnError | None = None
    min_severity: int | None = None
    include_details: bool | None = None
    explain: bool | None = None
    max_sources: int | None = None
    max_source_chars: int | None = None
    detector: str | None = None
    operating_point: str | float | None = None
    similarity_threshold: float | None = None
    release: str | None = None
    false_block_budget: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Settings that a request asks for; each has effect only where it is stricter than the policy.

    ``None`` means that the request does not ask for the setting.
    """

    enabled: bool | None = None
    action: Action | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The action on an answer, and the reasons for it.

    Attributes:
        label: The label of the finding that led to the action; ``None`` if no finding did.
        severity: The severity of that finding, 0 to 4, or ``None``.
        is_failure: Whether the action is required because a check was due and failed.
    """

    action: Action
    outcome: Outcome
    label: Label | None = None
    severity: int | None = None
    is_failure: bool = False


def stronger(first: _Ordered, second: _Ordered) -> _Ordered:
    """Return the stronger of two members of an enum that lists its members from weak to strong."""
    return max(first, second, key=_place)


def weaker(first: _Ordered, second: _Ordered) -> _Ordered:
    """Return the weaker of two members of an enum that lists its members from weak to strong."""
    return min(first, second, key=_place)


def resolve(
    base: Policy,
    *,
    plugins: Sequence[HallucinationPlugin | None] = (),
    tenant: Overrides | None = None,
    request: Request | None = None,
) -> Policy:
    """Return the policy of one request.

    Args:
        base: The policy of the configuration.
        plugins: The policies of the decisions that apply or may apply; ``None`` means a
            decision without a policy, or no decision. The strictest value of each setting is taken
            from the policies that enable the check; if none does, the first policy is used.
        tenant: The settings of the tenant, which take precedence over decisions.
        request: The settings that the request asks for; they can only make the policy stricter.
    """
    candidates = [replace(base, **asdict(each)) if each else base for each in plugins] or [base]
    # A policy that switches the check off is ignored if another policy leaves the check on.
    policy, *others = [each for each in candidates if each.enabled] or candidates[:1]
    for other in others:
        policy = _strictest(policy, other)
    if tenant is not None:
        own = {field.name: getattr(tenant, field.name) for field in fields(Policy)}
        policy = replace(
            policy, **{name: value for name, value in own.items() if value is not None}
        )
    if request is None:
        return policy
    return replace(
        policy,
        enabled=policy.enabled or bool(request.enabled),
        action=stronger(policy.action, request.action or Action.NONE),
    )


def resolve_limits(base: SourceLimits, tenant: Overrides | None = None) -> SourceLimits:
    """Return the limits on sources for a request: each from the tenant, or else from ``base``."""
    if tenant is None:
        return base
    return SourceLimits(
        max_sources=_limit(tenant.max_sources, base.max_sources),
        max_source_chars=_limit(tenant.max_source_chars, base.max_source_chars),
    )


def decide(
    policy: Policy, outcome: Outcome, *, label: Label | None = None, severity: int | None = None
) -> Action:
    """Return the action that a policy requires for an answer with an outcome.

    ``label`` and ``severity`` (0 to 4) are those of a finding in a hallucinated answer. An unknown
    severity (``None``) is treated as severe.
    """
    if not policy.enabled or outcome in {Outcome.GROUNDED, Outcome.SKIPPED}:
        return Action.NONE
    if outcome is Outcome.UNVERIFIED:
        return _default(policy, policy.unverified_action)
    if outcome is Outcome.PARTIAL:
        return _default(policy, policy.partial_action)
    if outcome is Outcome.UNAVAILABLE:
        return _on_error(policy)
    action = policy.action
    if label is Label.CONTRADICTED and policy.contradicted_action is not None:
        action = stronger(action, policy.contradicted_action)
    if severity is not None and severity < policy.min_severity:
        return weaker(action, Action.LOG)
    return action


def reach(policy: Policy, *, has_evidence: bool) -> frozenset[Action]:
    """Return all actions that a policy can require for an answer that is not checked yet.

    ``none`` is always among them, because it is the action on an empty answer. Without evidence, an
    answer cannot be found grounded or hallucinated.
    """
    outcomes = set(Outcome) - {Outcome.HALLUCINATED}
    if not has_evidence:
        return frozenset(decide(policy, each) for each in outcomes - {Outcome.GROUNDED})
    found = {
        decide(policy, Outcome.HALLUCINATED, label=label, severity=severity)
        for label in (Label.UNSUPPORTED, Label.CONTRADICTED)
        for severity in range(max(SEVERITY.values()) + 1)
    }
    return frozenset(found | {decide(policy, each) for each in outcomes})


def rule(policy: Policy, detection: Detection) -> Ruling:
    """Return the action on a checked answer, and the reasons for it.

    A hallucinated answer gets a ruling for each finding, and one for the rest of the answer; the
    strongest is returned. So no finding makes the action on a failed or incomplete check milder.
    """
    outcome = detection.outcome
    if outcome is not Outcome.HALLUCINATED or not detection.spans:
        return rule_outcome(policy, outcome)
    rulings = [
        Ruling(
            action=decide(policy, outcome, label=span.label, severity=span.severity),
            outcome=outcome,
            label=span.label,
            severity=span.severity,
        )
        for span in detection.spans
    ]
    others = tuple(replace(claim, spans=()) for claim in detection.claims)
    rest = rule_outcome(policy, decide_outcome(others, detection.coverage))
    rulings.append(replace(rest, outcome=outcome))
    return max(rulings, key=lambda each: (each.action.strength, each.severity or 0))


def rule_outcome(policy: Policy, outcome: Outcome) -> Ruling:
    """Return the action on an answer by its outcome alone, without regard to its findings."""
    return Ruling(
        action=decide(policy, outcome),
        outcome=outcome,
        is_failure=policy.enabled and outcome is Outcome.UNAVAILABLE,
    )


def _place(value: StrEnum) -> int:
    return list(type(value)).index(value)


def _strictest(first: Policy, second: Policy) -> Policy:
    contradicted = stronger(
        first.contradicted_action or first.action, second.contradicted_action or second.action
    )
    action = stronger(first.action, second.action)
    return Policy(
        enabled=first.enabled or second.enabled,
        action=action,
        contradicted_action=None if contradicted == action else contradicted,
        unverified_action=stronger(
            _default(first, first.unverified_action), _default(second, second.unverified_action)
        ),
        partial_action=stronger(
            _default(first, first.partial_action), _default(second, second.partial_action)
        ),
        on_error=stronger(first.on_error, second.on_error),
        min_severity=min(first.min_severity, second.min_severity),
        include_details=first.include_details or second.include_details,
        explain=first.explain or second.explain,
    )


def _default(policy: Policy, own: Action | None) -> Action:
    return weaker(policy.action, Action.HEADER) if own is None else own


def _on_error(policy: Policy) -> Action:
    is_auto = policy.on_error is OnError.AUTO
    if policy.on_error is OnError.BLOCK or (is_auto and policy.action.withholds):
        return Action.BLOCK
    most = Action.LOG if policy.on_error is OnError.ALLOW else Action.HEADER
    return weaker(policy.action, most)


def _limit(own: int | None, base: int | None) -> int | None:
    return base if own is None else own or None
