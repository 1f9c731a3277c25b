"""The target of a threshold."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from groundwire.errors import SettingError

#: Default threshold for judging answers to tune by; lower ones cannot be chosen.
LOW = 0.05


class Aim(StrEnum):
    """The score that a target sets a bound for."""

    FPR = "fpr"  # share of grounded answers that are flagged
    PRECISION = "precision"
    RECALL = "recall"
    F1 = "f1"


@dataclass(frozen=True, slots=True)
class TuningTarget:
    """The target of a threshold.

    Attributes:
        aim: The score.
        value: In (0, 1): at most this ``fpr``, at least this ``precision`` or ``recall``. ``None``
            for ``f1``, which is made as high as possible.
    """

    aim: Aim
    value: float | None = None

    def __post_init__(self) -> None:
        if (self.value is None) != (self.aim is Aim.F1):
            raise _wrong(str(self))
        if self.value is not None and not 0 < self.value < 1:
            raise _wrong(str(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``fpr=0.01``.

        Raises:
            SettingError: If it is no target.
        """
        name, equals, number = text.strip().partition("=")
        try:
            return cls(Aim(name.strip().lower()), float(number) if equals else None)
        except SettingError:
            raise
        except ValueError as error:
            raise _wrong(text) from error

    def __str__(self) -> str:
        return str(self.aim) if self.value is None else f"{self.aim}={self.value:g}"


def _wrong(text: str) -> SettingError:
    return SettingError(
        "target",
        text,
        "f1, or fpr=RATE, precision=RATE or recall=RATE with a rate between 0 and 1, such as "
        "fpr=0.01",
    )
