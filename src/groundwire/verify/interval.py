"""Ranges in which probabilities lie."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class ProbabilityInterval:
    """A range in which a probability lies; both ends are possible.

    >>> ProbabilityInterval(0.0, 0.05).overlaps(ProbabilityInterval.exactly(0.05))
    True

    Attributes:
        low: Lowest possible value of the probability, in [0, 1].
        high: Highest possible value of the probability, in [``low``, 1].

    Raises:
        ValueError: If ``0 <= low <= high <= 1`` does not hold, or an end is NaN.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise ValueError(
                f"a range of probabilities needs 0 <= low <= high <= 1, "
                f"got {self.low} and {self.high}"
            )

    @classmethod
    def exactly(cls, probability: float) -> Self:
        """Return the range of a probability that is known exactly."""
        return cls(probability, probability)

    def overlaps(self, other: "ProbabilityInterval") -> bool:
        """Return whether the two ranges have a value in common."""
        return self.low <= other.high and other.low <= self.high


#: The range of an unknown probability.
UNKNOWN = ProbabilityInterval(0.0, 1.0)
