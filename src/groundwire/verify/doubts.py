"""Which words of a claim its evidence does not support, where a verifier can tell."""

from dataclasses import dataclass

from groundwire.detection.values import Label
from groundwire.verify.verifier import Readout


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A stretch of a claim that the evidence it was read with does not support.

    Attributes:
        start: First character of the claim; ``claim[start:end] == text``.
        end: One past the last.
        text: The words.
        label: ``unsupported`` or ``contradicted``.
        probability: P(not supported) of its most doubtful word piece, in [0, 1].
    """

    start: int
    end: int
    text: str
    label: Label
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadoutByWords(Readout):
    """What a verifier answered that reads word by word.

    Attributes:
        doubts: What of the claim is not supported, in reading order; disjoint.
    """

    doubts: tuple[Doubt, ...] = ()
