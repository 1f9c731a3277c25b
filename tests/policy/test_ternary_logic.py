from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.policy.ternary_logic import Truth, all_of, any_of, negate

truths = st.lists(st.sampled_from(Truth), max_size=6)


def worlds(values: list[Truth]) -> list[list[bool]]:
    """What the values could be if everything were known."""
    possible = {Truth.TRUE: [True], Truth.FALSE: [False], Truth.UNKNOWN: [True, False]}
    return [list(world) for world in product(*(possible[value] for value in values))]


def known(facts: set[bool]) -> Truth:
    return Truth.of(facts.pop()) if len(facts) == 1 else Truth.UNKNOWN


@given(truths)
def test_and_is_known_exactly_if_it_is_the_same_whatever_is_unknown(values: list[Truth]) -> None:
    assert all_of(values) is known({all(world) for world in worlds(values)})


@given(truths)
def test_or_is_known_exactly_if_it_is_the_same_whatever_is_unknown(values: list[Truth]) -> None:
    assert any_of(values) is known({any(world) for world in worlds(values)})


@given(truths)
def test_de_morgan(values: list[Truth]) -> None:
    assert negate(all_of(values)) is any_of(map(negate, values))
    assert negate(any_of(values)) is all_of(map(negate, values))


@given(st.sampled_from(Truth))
def test_not_not_is_nothing(value: Truth) -> None:
    assert negate(negate(value)) is value


@given(truths)
def test_order_and_repetition_change_nothing(values: list[Truth]) -> None:
    assert all_of(values) is all_of([*reversed(values), *values])


def test_no_more_is_read_than_decides() -> None:
    read = iter([Truth.UNKNOWN, Truth.FALSE, Truth.TRUE])
    assert all_of(read) is Truth.FALSE
    assert list(read) == [Truth.TRUE]


def test_a_truth_is_never_taken_for_a_bool() -> None:
    with pytest.raises(TypeError, match="may be unknown"):
        bool(Truth.UNKNOWN)
