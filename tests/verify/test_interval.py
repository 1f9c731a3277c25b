from math import nan

import pytest

from groundwire.verify.interval import UNKNOWN, ProbabilityInterval


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 0.4), (-0.1, 0.5), (0.5, 1.1), (nan, 0.5), (0, nan)]
)
def test_a_range_that_is_none_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="0 <= low <= high <= 1"):
        ProbabilityInterval(low, high)


def test_ranges_that_share_an_end_overlap() -> None:
    assert ProbabilityInterval(0.1, 0.3).overlaps(ProbabilityInterval(0.3, 0.5))
    assert not ProbabilityInterval(0.1, 0.29).overlaps(ProbabilityInterval(0.3, 0.5))


def test_what_is_unknown_may_be_anything() -> None:
    assert UNKNOWN.overlaps(ProbabilityInterval.exactly(0.0))
    assert UNKNOWN.overlaps(ProbabilityInterval.exactly(1.0))
