"""Binomial tails: exact, as scipy has them."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from groundwire.evaluation.tuning.binomial import (
    least_trials,
    lower_tail,
    most_losses,
    upper_bound,
)

CASES = [
    (losses, n, rate)
    for n in (1, 2, 10, 299, 5_000)
    for rate in (0.001, 0.01, 0.2, 0.5, 0.9, 0.999)
    for losses in sorted({0, n // 100, n // 3, n // 2, n - 1, n})
]


def test_a_tail_is_what_scipy_says() -> None:
    found = [lower_tail(*case) for case in CASES]
    assert found == pytest.approx([binom.cdf(*case) for case in CASES], rel=1e-9)


def test_a_tail_of_a_million_trials_is_what_scipy_says() -> None:
    expected = binom.cdf(9_800, 1_000_000, 0.01)
    assert lower_tail(9_800, 1_000_000, 0.01) == pytest.approx(expected, rel=1e-7)


def test_fewer_than_no_losses_do_not_happen() -> None:
    assert lower_tail(-1, 10, 0.5) == 0


@pytest.mark.parametrize("alpha", [0.001, 0.05])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_the_most_losses_are_the_last_whose_tail_is_within_the_error(
    rate: float, alpha: float
) -> None:
    for n in (1, 5, 29, 300, 2_000):
        most = most_losses(n, rate, alpha)
        assert most == np.flatnonzero(binom.cdf(np.arange(-1, n), n, rate) <= alpha)[-1] - 1


def test_no_trials_show_nothing() -> None:
    assert most_losses(0, 0.5, 0.4) == -1


@pytest.mark.parametrize(
    ("rate", "alpha", "n"), [(0.01, 0.05, 299), (0.1, 0.05, 29), (0.2, 0.1, 11)]
)
def test_so_many_trials_are_enough_and_one_less_is_not(rate: float, alpha: float, n: int) -> None:
    assert least_trials(rate, alpha) == n
    assert (most_losses(n - 1, rate, alpha), most_losses(n, rate, alpha)) == (-1, 0)


@pytest.mark.parametrize(("losses", "n"), [(0, 10), (3, 10), (0, 299), (17, 1_000), (10, 10)])
def test_the_bound_is_that_of_clopper_and_pearson(losses: int, n: int) -> None:
    expected = beta.ppf(0.95, losses + 1, n - losses) if losses < n else 1
    assert upper_bound(losses, n, 0.05) == pytest.approx(expected, rel=1e-9)
