from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.values import Label, Outcome, Reason
from groundwire.policy.policy import (
    Action,
    HallucinationPlugin,
    OnError,
    Overrides,
    Policy,
    Request,
    SourceLimits,
    decide,
    reach,
    resolve,
    resolve_limits,
    rule,
)
from tests.policy.test_signals import detection

actions = st.sampled_from(Action)
maybe_action = st.none() | actions
severities = st.integers(0, 4)
policies = st.builds(
    Policy,
    enabled=st.booleans(),
    action=actions,
    contradicted_action=maybe_action,
    unverified_action=maybe_action,
    partial_action=maybe_action,
    on_error=st.sampled_from(OnError),
    min_severity=severities,
)
requests = st.builds(Request, enabled=st.none() | st.booleans(), action=maybe_action)
plugins = st.builds(
    HallucinationPlugin, enabled=st.booleans(), action=actions, unverified_action=actions
)
labels = st.sampled_from([None, Label.UNSUPPORTED, Label.CONTRADICTED])
findings = st.tuples(st.sampled_from(Outcome), labels, st.none() | severities)


Finding = tuple[Outcome, Label | None, int | None]


def strength(policy: Policy, finding: Finding) -> int:
    outcome, label, severity = finding
    return decide(policy, outcome, label=label, severity=severity).strength


@given(policies, requests, findings)
def test_a_request_never_loosens(policy: Policy, request: Request, finding: Finding) -> None:
    assert strength(resolve(policy, request=request), finding) >= strength(policy, finding)


@given(policies, labels, severities, severities)
def test_a_more_severe_finding_never_gives_a_weaker_action(
    policy: Policy, label: Label | None, one: int, other: int
) -> None:
    low, high = sorted((one, other))
    found = Outcome.HALLUCINATED
    assert strength(policy, (found, label, low)) <= strength(policy, (found, label, high))
    assert strength(policy, (found, label, high)) <= strength(policy, (found, label, None))


@given(policies, severities)
def test_a_contradiction_never_gives_a_weaker_action(policy: Policy, severity: int) -> None:
    found = Outcome.HALLUCINATED
    assert strength(policy, (found, Label.UNSUPPORTED, severity)) <= strength(
        policy, (found, Label.CONTRADICTED, severity)
    )


@given(actions)
def test_a_stronger_outcome_never_gives_a_weaker_action_unless_told_to(action: Action) -> None:
    taken = [decide(Policy(action=action), outcome) for outcome in Outcome]
    # An answer that must be right or withheld is withheld if it could not be checked.
    strengths = [(Action.BLOCK if each.withholds else each).strength for each in taken]
    assert strengths == sorted(strengths, reverse=True)  # outcomes stand strongest first


@given(policies, st.lists(st.none() | plugins, min_size=1, max_size=4), findings)
def test_what_may_apply_is_never_looser_than_any_check_that_may(
    base: Policy, may: list[HallucinationPlugin | None], finding: Finding
) -> None:
    together = strength(resolve(base, plugins=may), finding)
    assert all(together >= strength(resolve(base, plugins=[each]), finding) for each in may)


@pytest.mark.parametrize("action", Action)
def test_nothing_is_done_about_a_grounded_or_skipped_answer(action: Action) -> None:
    assert decide(Policy(action=action), Outcome.GROUNDED) is Action.NONE
    assert decide(Policy(action=action), Outcome.SKIPPED) is Action.NONE


@pytest.mark.parametrize(
    ("on_error", "action", "done"),
    [
        (OnError.ALLOW, Action.BLOCK, Action.LOG),
        (OnError.ALLOW, Action.NONE, Action.NONE),
        (OnError.WARN, Action.BLOCK, Action.HEADER),
        (OnError.WARN, Action.LOG, Action.LOG),
        (OnError.AUTO, Action.BODY, Action.HEADER),
        (OnError.AUTO, Action.BLOCK, Action.BLOCK),
        (OnError.BLOCK, Action.LOG, Action.BLOCK),
    ],
)
def test_a_failed_check_is_handled_as_on_error_says(
    on_error: OnError, action: Action, done: Action
) -> None:
    assert decide(Policy(action=action, on_error=on_error), Outcome.UNAVAILABLE) is done


def test_the_tenant_wins_over_the_decision_and_that_over_the_configuration() -> None:
    base = Policy(action=Action.LOG)
    plugin = HallucinationPlugin(enabled=True, action=Action.BODY)
    assert resolve(base).action is Action.LOG
    assert resolve(base, plugins=[plugin]).action is Action.BODY
    tenant = Overrides(action=Action.FLAG)
    assert resolve(base, plugins=[plugin], tenant=tenant).action is Action.FLAG
    # Setting by setting: what the tenant does not say is the decision's.
    assert resolve(base, plugins=[plugin], tenant=tenant).unverified_action is Action.HEADER


def test_a_tenant_can_turn_the_check_off_and_on() -> None:
    assert not resolve(Policy(), tenant=Overrides(enabled=False)).enabled
    assert resolve(Policy(enabled=False), tenant=Overrides(enabled=True)).enabled


def test_a_tenant_can_loosen_block_to_log() -> None:
    policy = resolve(Policy(action=Action.BLOCK), tenant=Overrides(action=Action.LOG))
    assert decide(policy, Outcome.HALLUCINATED) is Action.LOG


def test_limits_of_a_tenant_count_and_0_is_none() -> None:
    base = SourceLimits(max_sources=50, max_source_chars=10_000)
    assert resolve_limits(base) == base
    assert resolve_limits(base, Overrides(max_sources=2)) == replace(base, max_sources=2)
    assert resolve_limits(base, Overrides(max_sources=0)) == replace(base, max_sources=None)


@given(
    policies,
    st.sampled_from(Outcome),
    st.sampled_from([Label.UNSUPPORTED, Label.CONTRADICTED]),
    severities,
)
def test_nothing_is_done_that_the_policy_cannot_reach(
    policy: Policy, outcome: Outcome, label: Label, severity: int
) -> None:
    action = decide(policy, outcome, label=label, severity=severity)
    assert action in reach(policy, has_evidence=True)
    if outcome not in {Outcome.HALLUCINATED, Outcome.GROUNDED}:
        assert action in reach(policy, has_evidence=False)


@given(policies, st.booleans())
def test_what_the_policy_can_reach_is_done_about_something(
    policy: Policy, has_evidence: bool
) -> None:
    outcomes = [each for each in Outcome if has_evidence or each is not Outcome.HALLUCINATED]
    done = {
        decide(policy, outcome, label=label, severity=severity)
        for outcome in outcomes
        for label in (Label.UNSUPPORTED, Label.CONTRADICTED)
        for severity in range(5)
    }
    assert reach(policy, has_evidence=has_evidence) == done


def test_what_a_policy_can_reach() -> None:
    none, log, header, block = Action.NONE, Action.LOG, Action.HEADER, Action.BLOCK
    cases = [
        (Policy(enabled=False, action=block), True, {none}),
        (Policy(action=log), True, {none, log}),
        (Policy(action=block), True, {none, header, block}),
        (Policy(action=block, on_error=OnError.WARN), False, {none, header}),
        (Policy(action=block), False, {none, header, block}),  # if the check fails
        (Policy(action=log, contradicted_action=block), True, {none, log, block}),
        (Policy(action=log, contradicted_action=block), False, {none, log}),
        (Policy(action=header, min_severity=3), True, {none, log, header}),
        (Policy(action=log, unverified_action=block), False, {none, log, block}),
    ]
    for policy, has_evidence, actions in cases:
        assert reach(policy, has_evidence=has_evidence) == actions


def test_the_worst_finding_rules() -> None:
    policy = Policy(action=Action.FLAG, contradicted_action=Action.BLOCK, min_severity=3)
    mild = rule(policy, detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED))
    assert (mild.action, mild.severity) == (Action.LOG, 2)
    both = detection(Label.UNSUPPORTED, Label.CONTRADICTED, outcome=Outcome.HALLUCINATED)
    worst = rule(policy, both)
    assert (worst.action, worst.label, worst.severity) == (Action.BLOCK, Label.CONTRADICTED, 4)


def test_a_minor_finding_hides_neither_a_failed_claim_nor_unread_text() -> None:
    mild = detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED)
    failed = replace(
        mild.claims[0],
        spans=(),
        label=Label.UNCHECKED,
        probability=None,
        reason=Reason.DETECTOR_FAILED,
    )
    policy = Policy(action=Action.BLOCK, min_severity=3)
    assert rule(policy, mild).action is Action.LOG
    found = rule(policy, replace(mild, claims=(*mild.claims, failed)))
    assert (found.action, found.outcome, found.is_failure) == (
        Action.BLOCK,
        Outcome.HALLUCINATED,
        True,
    )
    unread = detection(Label.UNSUPPORTED, outcome=Outcome.HALLUCINATED, read=50)
    assert rule(replace(policy, partial_action=Action.BLOCK), unread).action is Action.BLOCK


def test_a_failure_is_told_as_one() -> None:
    assert rule(Policy(), detection(outcome=Outcome.UNAVAILABLE)).is_failure
    assert not rule(Policy(), detection(outcome=Outcome.GROUNDED)).is_failure
    assert not rule(Policy(enabled=False), detection(outcome=Outcome.UNAVAILABLE)).is_failure


def test_a_tenant_has_a_say_in_every_setting_of_the_policy() -> None:
    own = {field.name for field in fields(Overrides)}
    assert {field.name for field in fields(Policy)} <= own
