"""What models say of one claim beside its evidence, and the map from that to probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.runtime import RawScores


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The fitted map from logits to P(not supported): ``sigmoid(scale * logit + offset)``."""

    scale: float = 1.0
    offset: float = 0.0

    def labels(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Logits ``(n, 3)`` to probabilities ``(n, 3)`` of the three labels."""
        wide = logits.astype(np.float64)
        wrong = np.logaddexp(wide[:, 1], wide[:, 2])
        # A sigmoid that does not overflow, however sure the model is.
        doubt = np.exp(-np.logaddexp(0, -(self.scale * (wrong - wide[:, 0]) + self.offset)))
        shares = np.exp(wide[:, 1:] - wrong[:, None])
        return np.column_stack([1 - doubt, shares * doubt[:, None]]).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossWeights:
    """What a cross-encoder's logits count beside those of the reader.

    Attributes:
        pieces: Of its logits of each word piece.
        claim: Of its logits of the claim as a whole, which are added to each word piece: which
            words are wrong is harder to say than whether any are.
    """

    pieces: float = 1.0
    claim: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What a part of an answer looks like beside some passages.

    Attributes:
        logits: Of each word piece: supported, unsupported, contradicted; shape ``(n, 3)``.
        sentence: The same for the part as a whole, shape ``(3,)``.
        chosen: Indices of the passages.
    """

    logits: NDArray[np.float32]
    sentence: NDArray[np.float32]
    chosen: tuple[int, ...]

    @property
    def support(self) -> float:
        """Log-odds that the part as a whole is supported, uncalibrated."""
        return float(self.sentence[0] - np.logaddexp(self.sentence[1], self.sentence[2]))

    def or_better(self, other: "Look") -> "Look":
        """Of each word piece, and of the whole, the more favourable of two readings."""
        is_better = (_doubts(other.logits) < _doubts(self.logits))[:, None]
        return Look(
            np.where(is_better, other.logits, self.logits),
            other.sentence if other.support > self.support else self.sentence,
            tuple(dict.fromkeys((*self.chosen, *other.chosen))),
        )

    def mixed_with(self, scores: RawScores | None, weights: CrossWeights) -> "Look":
        """This reading and a cross-encoder's of the same part, as one.

        Logits are added up, so the odds of each count (a product of experts). The cross-encoder
        alone judges the part as a whole.

        Args:
            scores: What the cross-encoder says; ``None`` leaves the look as it is.
            weights: Of what it says beside this look.
        """
        if scores is None:
            return self
        logits = (
            self.logits
            + np.float32(weights.pieces) * scores.pieces
            + np.float32(weights.claim) * scores.sentence
        )
        return Look(logits.astype(np.float32), scores.sentence, self.chosen)


def least_supported(looks: Sequence[Look]) -> NDArray[np.float32]:
    """Logits of a claim in several parts: it is entailed if each is, so the least one counts."""
    return min(looks, key=lambda look: look.support).sentence


def _doubts(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    return np.asarray(np.logaddexp(wide[:, 1], wide[:, 2]) - wide[:, 0])
