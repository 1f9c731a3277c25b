"""Scores of a claim, or of a part of a long claim, and the map from logits to probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.runtime import RawScores


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The fitted map from logits to P(not supported): ``sigmoid(scale * log-odds + offset)``.

    The log-odds are those of not supported against supported, computed from the logits.
    """

    scale: float = 1.0
    offset: float = 0.0

    def labels(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map logits to calibrated probabilities, both of shape ``(n, 3)``.

        The columns are the labels supported, unsupported and contradicted.
        """
        wide = logits.astype(np.float64)
        wrong = np.logaddexp(wide[:, 1], wide[:, 2])
        # A sigmoid in a form that does not overflow for large logits.
        doubt = np.exp(-np.logaddexp(0, -(self.scale * (wrong - wide[:, 0]) + self.offset)))
        shares = np.exp(wide[:, 1:] - wrong[:, None])
        return np.column_stack([1 - doubt, shares * doubt[:, None]]).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossWeights:
    """Weights of a cross-encoder's logits in a sum where the reader's logits have weight 1.

    Attributes:
        pieces: Weight of the logits of each word piece.
        claim: Weight of the logits of the claim, or part of a claim, as a whole. These logits are
            added to the logits of each word piece.
    """

    pieces: float = 1.0
    claim: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PartScores:
    """Scores of a claim, or of a part of a long claim.

    Attributes:
        logits: Logits of each word piece: supported, unsupported, contradicted; shape ``(n, 3)``.
        sentence: Logits of the part as a whole, for the same labels, shape ``(3,)``.
        chosen: Indices of the passages that the part was read with; after :meth:`mixed_with`, those
            that the reader's own graph read.
    """

    logits: NDArray[np.float32]
    sentence: NDArray[np.float32]
    chosen: tuple[int, ...]

    @property
    def support(self) -> float:
        """Log-odds that the part as a whole is supported, uncalibrated."""
        return float(self.sentence[0] - np.logaddexp(self.sentence[1], self.sentence[2]))

    @property
    def doubt(self) -> float:
        """Log-odds that the most doubtful word piece is not supported, uncalibrated."""
        return float(_doubts(self.logits).max())

    def piecewise_best(self, other: "PartScores") -> "PartScores":
        """Take the better supported of two scores, for each word piece and for the part itself."""
        is_better = (_doubts(other.logits) < _doubts(self.logits))[:, None]
        return PartScores(
            np.where(is_better, other.logits, self.logits),
            other.sentence if other.support > self.support else self.sentence,
            tuple(dict.fromkeys((*self.chosen, *other.chosen))),
        )

    def mixed_with(self, scores: RawScores | None, weights: CrossWeights) -> "PartScores":
        """Add a cross-encoder's logits of the same part, weighted; ``None`` changes nothing.

        Added to the logits of each word piece are the cross-encoder's logits of this piece and of
        the part as a whole. The logits of the part as a whole become those of the cross-encoder.
        """
        if scores is None:
            return self
        logits = (
            self.logits
            + np.float32(weights.pieces) * scores.pieces
            + np.float32(weights.claim) * scores.sentence
        )
        return PartScores(logits.astype(np.float32), scores.sentence, self.chosen)


def least_supported(parts: Sequence[PartScores]) -> NDArray[np.float32]:
    """Return the logits of the part that is least supported as a whole, shape ``(3,)``.

    A claim is supported only if all its parts are.
    """
    return min(parts, key=lambda part: part.support).sentence


def _doubts(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    return np.asarray(np.logaddexp(wide[:, 1], wide[:, 2]) - wide[:, 0])
