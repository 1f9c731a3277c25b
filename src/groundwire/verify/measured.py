"""What the reader says of a claim, in numbers, and the fitted map from these to P(supported).

The sentence output judges the claim as a whole; a claim is also supported only if none of its words
is doubtful. Neither is best alone, so a logistic map takes both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from groundwire.engine.scores import ClaimScores
from groundwire.errors import ModelError

#: The file beside a model's manifest that holds the map.
FILE_NAME = "verify.json"
#: Shares of a probability that are told apart; what the reader rounds to.
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A claim as it was read, uncalibrated.

    Attributes:
        whole: Log-odds, by the sentence output, that the claim is supported.
        words: Logarithm of the mean odds of doubt over its word pieces.
        unsupported: Highest log-probability of ``unsupported`` among them.
        is_bare: Whether it was read without any evidence.
    """

    whole: float
    words: float
    unsupported: float
    is_bare: bool

    @classmethod
    def of(cls, scores: ClaimScores, *, is_bare: bool) -> Self:
        """Measure a claim that a reader without calibration has judged.

        Raises:
            ValueError: If it was not judged.
        """
        if scores.entailment is None or not len(scores.labels):
            raise ValueError("the claim was not judged, so there is nothing to measure")
        supported = np.clip(scores.entailment.entailment, _LEAST, 1 - _LEAST)
        labels = np.clip(scores.labels.astype(np.float64), _LEAST, 1.0)
        odds = (labels[:, 1] + labels[:, 2]) / labels[:, 0]
        return cls(
            whole=float(np.log(supported) - np.log1p(-supported)),
            words=float(np.log(odds.mean())),
            unsupported=float(np.log(labels[:, 1].max())),
            is_bare=is_bare,
        )

    @property
    def features(self) -> tuple[float, float, float]:
        """What the map weighs."""
        return self.whole, self.words, self.unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMap:
    """The fitted map from what was measured to P(the evidence supports the claim).

    Attributes:
        weights: Of ``whole``, ``words`` and ``unsupported``.
        offset: Of claims that were read with evidence.
        bare_offset: Of claims that were read without.
        provenance: What it was fitted on, how, and what it is worth.
    """

    weights: tuple[float, float, float]
    offset: float
    bare_offset: float
    provenance: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, *, graph: str) -> Self:
        """Read the map of a model folder.

        Args:
            folder: Of the model.
            graph: SHA-256 of the graph that the map has to belong to.

        Raises:
            ModelError: If there is none, it cannot be read, or it was fitted for other weights.
        """
        path = folder / FILE_NAME
        remedy = (
            "Fit it: python -m groundwire_training.verifier --data DATA "
            f"--model {folder} (docs/verify-local.md)."
        )
        try:
            raw = json.loads(path.read_text("utf-8"))
            whole, words, unsupported = map(float, raw["weights"])
            found = cls(
                weights=(whole, words, unsupported),
                offset=float(raw["offset"]),
                bare_offset=float(raw["bare_offset"]),
                provenance=dict(raw["provenance"]),
            )
            fitted_for = str(raw["graph"])
        except FileNotFoundError as error:
            raise ModelError(f"{path} is not there, so claims have no scale. {remedy}") from error
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            problem = f"{path} cannot be read ({type(error).__name__})"
            raise ModelError(f"{problem}. {remedy}") from error
        if not np.isfinite([*found.weights, found.offset, found.bare_offset]).all():
            raise ModelError(f"{path} holds what is not a number. {remedy}")
        if fitted_for != graph:
            raise ModelError(
                f"{path} was fitted for another graph ({fitted_for[:12]}, and this is "
                f"{graph[:12]}), so its probabilities mean nothing here. {remedy}"
            )
        return found

    def write(self, folder: Path, *, graph: str) -> None:
        """Write it into a model folder; arguments are those of :meth:`read`."""
        raw = {
            "graph": graph,
            "weights": list(self.weights),
            "offset": self.offset,
            "bare_offset": self.bare_offset,
            "provenance": dict(self.provenance),
        }
        (folder / FILE_NAME).write_text(json.dumps(raw, indent=2) + "\n", "utf-8")

    def log_odds(self, measured: Measured) -> float:
        """Log-odds that the claim is supported, in nats."""
        offset = self.bare_offset if measured.is_bare else self.offset
        pairs = zip(self.weights, measured.features, strict=True)
        return offset + sum(weight * value for weight, value in pairs)

    def probability(self, measured: Measured) -> float:
        """P(the evidence supports the claim), in [0, 1]."""
        # A sigmoid that does not overflow, however sure the map is.
        return float(np.exp(-np.logaddexp(0.0, -self.log_odds(measured))))
