"""Which uses of the admin plane are worth an event: few, whoever tries how often."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groundwire.control.logins import FAILURE_S, LOGIN_S, OTHERS, Logins


def test_a_key_is_new_once_and_again_after_an_hour() -> None:
    logins = Logins()
    assert logins.is_new("k", "a", now=0)
    assert not logins.is_new("k", "a", now=LOGIN_S - 1)
    assert logins.is_new("k", "a", now=LOGIN_S)
    assert not logins.is_new("k", "a", now=LOGIN_S + 1)


def test_another_key_and_another_address_are_new() -> None:
    logins = Logins()
    assert logins.is_new("k", "a", now=0)
    assert logins.is_new("k", "b", now=0)
    assert logins.is_new("l", "a", now=0)


def test_the_first_failure_is_told_at_once_and_others_with_their_number() -> None:
    logins = Logins()
    assert logins.failed("a", now=0)
    assert [logins.failed("a", now=n) for n in (1, 2, 59)] == [False] * 3
    assert logins.due(now=FAILURE_S - 1) == ()
    assert logins.due(now=FAILURE_S) == (("a", 3),)
    assert not logins.failed("a", now=FAILURE_S + 1)
    assert logins.due(now=FAILURE_S + 2) == ()
    assert logins.due(now=2 * FAILURE_S) == (("a", 1),)


def test_who_was_quiet_for_a_minute_is_told_of_at_once_again() -> None:
    logins = Logins()
    assert logins.failed("a", now=0)
    assert logins.due(now=FAILURE_S) == ()
    assert logins.failed("a", now=FAILURE_S + 1)


def test_at_the_end_nothing_is_left_untold() -> None:
    logins = Logins()
    logins.failed("a", now=0)
    logins.failed("a", now=1)
    logins.failed("b", now=1)
    assert logins.due(now=math.inf) == (("a", 1),)
    assert logins.due(now=math.inf) == ()


def test_many_addresses_are_counted_as_one() -> None:
    logins = Logins()
    told = [logins.failed(f"10.0.{n // 256}.{n % 256}", now=0) for n in range(3000)]
    assert sum(told) == 1001
    assert logins.due(now=math.inf) == ((OTHERS, 1999),)


def test_many_keys_take_no_memory_without_end() -> None:
    logins = Logins()
    for n in range(5000):
        assert logins.is_new("k", str(n), now=0)
    assert len(logins._uses) == 1000


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 30)) | st.floats(0, 30), max_size=60)
)
def test_an_address_has_one_event_a_minute_and_none_is_lost(
    steps: list[tuple[str, float] | float],
) -> None:
    logins, now, n_failed = Logins(), 0.0, 0
    told: list[tuple[float, str, int]] = []
    for step in steps:
        if isinstance(step, tuple):
            address, pause = step
            now += pause
            n_failed += 1
            if logins.failed(address, now=now):
                told.append((now, address, 1))
        else:
            now += step
            told += [(now, address, n) for address, n in logins.due(now=now)]
    for address in "abc":
        moments = [moment for moment, each, _ in told if each == address]
        gaps = [later - earlier for earlier, later in pairwise(moments)]
        assert all(gap >= FAILURE_S - 1e-6 for gap in gaps)
    assert sum(n for _, _, n in told) + sum(n for _, n in logins.due(now=math.inf)) == n_failed
