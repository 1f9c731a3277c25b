"""The target by which a threshold is chosen, such as ``fpr=0.01``."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from groundwire.errors import SettingError

#: Default threshold at which ``groundwire tune`` judges answers. For a detector that gives
#: probabilities, no lower threshold can then be chosen.
LOW = 0.05


class Aim(StrEnum):
    """The score that a target bounds or, for F1, maximizes."""

    FPR = "fpr"  # share of grounded answers that are flagged
    PRECISION = "precision"
    RECALL = "recall"
    F1 = "f1"


@dataclass(frozen=True, slots=True)
class TuningTarget:
    """The target that a threshold has to meet.

    Attributes:
        aim: The score that the target is about.
        value: The bound on the score, in (0, 1): the highest allowed ``fpr``, or the lowest allowed
            ``precision`` or ``recall``. ``None`` for ``f1``, which is made as high as possible.

    Raises:
        SettingError: If the value is out of its range, missing, or given for ``f1``.
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
        """Parse a target such as ``fpr=0.01`` or ``f1``.

        Raises:
            SettingError: If the text is not a target.
        """
        name, equals, number = text.strip().partition("=")
        try:
            aim, value = Aim(name.strip().lower()), float(number) if equals else None
        except ValueError as error:
            raise _wrong(text) from error
        return cls(aim, value)

    def __str__(self) -> str:
        return str(self.aim) if self.value is None else f"{self.aim}={self.value:g}"


def _wrong(text: str) -> SettingError:
    return SettingError(
        "target",
        text,
        "f1, or fpr=RATE, precision=RATE or recall=RATE with a rate between 0 and 1, such as "
        "fpr=0.01",
    )
