from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.policy.decisions import Decision, Rule, choose, evaluate
from groundwire.policy.policy import Action, HallucinationPlugin, Policy, resolve
from groundwire.policy.signals import (
    Condition,
    DomainRule,
    KeywordRule,
    Operator,
    SignalRequest,
    SignalRules,
    Signals,
    SignalType,
    SignalValues,
)
from groundwire.policy.ternary_logic import Truth, all_of, any_of, negate

A, B, C = (Condition(SignalType.KEYWORD, name) for name in "abc")
UNKNOWN = Condition(SignalType.DOMAIN, "law")  # without an embedder
LATER = Condition(SignalType.HALLUCINATION, "detected")  # without a response
ALWAYS = None

rules = st.recursive(
    st.sampled_from([A, B, C, UNKNOWN]),
    lambda inner: st.one_of(
        st.builds(
            Rule,
            st.sampled_from([Operator.AND, Operator.OR]),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        ),
        st.builds(Rule, st.just(Operator.NOT), st.tuples(inner)),
    ),
    max_leaves=8,
)


def readings(prompt: str) -> SignalValues:
    keywords = tuple(KeywordRule(name=word, words=(word,)) for word in "abc")
    return Signals(SignalRules(keywords=keywords)).open(SignalRequest(prompt=prompt))


def truth_table(rule: Rule | Condition, values: dict[Condition, Truth]) -> Truth:
    if isinstance(rule, Condition):
        return values[rule]
    inner = [truth_table(each, values) for each in rule.conditions]
    if rule.operator is Operator.NOT:
        return negate(inner[0])
    return all_of(inner) if rule.operator is Operator.AND else any_of(inner)


@given(rules)
def test_nested_rules_follow_the_truth_table(rule: Rule | Condition) -> None:
    for present in product([False, True], repeat=3):
        prompt = " ".join(word for word, is_there in zip("abc", present, strict=True) if is_there)
        values = {
            each: Truth.of(is_there) for each, is_there in zip((A, B, C), present, strict=True)
        }
        verdict = evaluate(rule, readings(prompt))
        assert verdict.truth is truth_table(rule, values | {UNKNOWN: Truth.UNKNOWN})
        assert verdict.because


def because(rule: Rule, prompt: str) -> tuple[str, ...]:
    return evaluate(rule, readings(prompt)).because


def test_a_verdict_names_the_conditions_that_decided() -> None:
    assert because(Rule(Operator.AND, (A, B)), "a b") == ("keyword:a", "keyword:b")
    assert because(Rule(Operator.AND, (A, B)), "a") == ("not keyword:b",)
    assert because(Rule(Operator.OR, (A, B)), "b") == ("keyword:b",)
    assert because(Rule(Operator.NOT, (A,)), "b") == ("not keyword:a",)
    assert because(Rule(Operator.AND, (A, UNKNOWN)), "a") == (
        "domain:law unknown: there is no rule 'law'",
    )


def test_no_signal_is_read_that_cannot_matter() -> None:
    embedded: list[object] = []
    signals = Signals(
        SignalRules(
            keywords=(KeywordRule(name="a", words=("a",)),), domains=(DomainRule(name="law"),)
        ),
        embed=embedded.append,  # type: ignore[arg-type] # its result does not matter
    )
    evaluate(Rule(Operator.OR, (A, UNKNOWN)), signals.open(SignalRequest(prompt="a")))
    assert embedded == []
    evaluate(Rule(Operator.OR, (A, UNKNOWN)), signals.open(SignalRequest(prompt="b")))
    assert embedded == [["b"]]


@pytest.mark.parametrize(
    ("operator", "conditions", "problem"),
    [
        (Operator.AND, (), "AND needs at least one condition"),
        (Operator.NOT, (A, B), "NOT takes one condition, and 2 are given"),
    ],
)
def test_a_rule_needs_its_conditions(
    operator: Operator, conditions: tuple[Condition, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Rule(operator, conditions)


def decision(
    name: str, condition: Condition | None, priority: int = 0, **plugin: object
) -> Decision:
    rule = Rule(Operator.AND, (condition,)) if condition else ALWAYS
    own = HallucinationPlugin(**plugin) if plugin else None  # type: ignore[arg-type]
    return Decision(name=name, rule=rule, priority=priority, plugin=own)


def test_the_highest_priority_that_holds_applies() -> None:
    decisions = [decision("low", A, 1), decision("high", A, 9), decision("highest", B, 10)]
    assert str(choose(decisions, readings("a"))) == "high (keyword:a)"


def test_among_equals_the_first_of_the_file_applies() -> None:
    decisions = [decision("first", A), decision("second", A)]
    chosen = choose(decisions, readings("a")).decision
    assert chosen is not None
    assert chosen.name == "first"


def test_a_decision_without_rules_always_applies() -> None:
    assert str(choose([decision("any", ALWAYS)], readings(""))) == "any"


def test_where_none_applies_the_configuration_counts() -> None:
    choice = choose([decision("a", A)], readings(""))
    assert choice.decision is None
    assert choice.plugins == (None,)


def test_a_decision_that_is_unknown_is_reported_and_the_next_one_applies() -> None:
    decisions = [decision("maybe", UNKNOWN, 9), decision("sure", A, 1)]
    assert str(choose(decisions, readings("a"))) == (
        "sure (keyword:a); unsettled: maybe (domain:law unknown: there is no rule 'law')"
    )


def test_the_check_of_a_decision_that_may_apply_is_due() -> None:
    decisions = [decision("maybe", UNKNOWN, enabled=True, action=Action.BLOCK)]
    choice = choose(decisions, readings(""))
    policy = resolve(Policy(enabled=False), plugins=choice.plugins)
    assert policy.enabled
    assert policy.action is Action.BLOCK


def test_a_decision_that_may_turn_the_check_off_does_not() -> None:
    decisions = [decision("poems", UNKNOWN, 9, enabled=False), decision("sure", A, enabled=True)]
    policy = resolve(Policy(), plugins=choose(decisions, readings("a")).plugins)
    assert policy.enabled
    assert policy.action is Action.HEADER


def test_before_the_response_a_decision_about_findings_makes_the_check_due() -> None:
    choice = choose([decision("found", LATER, enabled=True)], readings(""))
    assert str(choice) == (
        "none; unsettled: found (hallucination:detected unknown: there is no response yet)"
    )
    assert resolve(Policy(enabled=False), plugins=choice.plugins).enabled
