from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.tree import UpstreamDefaults
from groundwire.gateway.upstream.health import Health

RULES = UpstreamDefaults(max_failures=3, cooldown_s=15.0)


def failed(health: Health, times: int, *, now: float = 0.0) -> Health:
    for _ in range(times):
        health = health.failed(now=now, rules=RULES)
    return health


def test_fewer_failures_than_allowed_leave_it_up() -> None:
    assert failed(Health(), 2).is_up


def test_as_many_failures_in_a_row_take_it_down() -> None:
    assert not failed(Health(), 3).may_be_asked(now=14.9)


def test_after_the_cooldown_one_request_tries_it_and_no_other() -> None:
    down = failed(Health(), 3)
    assert down.may_be_asked(now=15.0)
    tried = down.asked(now=15.0, rules=RULES)
    assert not tried.may_be_asked(now=15.0)


def test_a_trial_that_fails_keeps_it_down_for_another_cooldown() -> None:
    tried = failed(Health(), 3).asked(now=15.0, rules=RULES)
    down = tried.failed(now=20.0, rules=RULES)
    assert not down.may_be_asked(now=34.9)
    assert down.may_be_asked(now=35.0)


def test_a_trial_of_which_nothing_is_heard_is_followed_by_another() -> None:
    tried = failed(Health(), 3).asked(now=15.0, rules=RULES)
    assert tried.may_be_asked(now=30.0)


def test_asking_one_that_is_up_changes_nothing() -> None:
    health = failed(Health(), 2)
    assert health.asked(now=1.0, rules=RULES) is health


@given(st.lists(st.sampled_from(["ask", "fail", "succeed"]), max_size=40), st.floats(0, 100))
def test_it_is_down_exactly_while_the_last_failures_are_enough(
    steps: list[str], gap: float
) -> None:
    health, now, in_a_row = Health(), 0.0, 0
    for step in steps:
        now += gap
        if step == "ask":
            health = health.asked(now=now, rules=RULES)
        elif step == "fail":
            health, in_a_row = health.failed(now=now, rules=RULES), in_a_row + 1
        else:
            health, in_a_row = Health(), 0
        assert health.is_up == (in_a_row < RULES.max_failures)
        assert health.may_be_asked(now=now + RULES.cooldown_s)
