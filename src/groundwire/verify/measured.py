"""Measures of a claim that a reader has read, and the fitted map from them to P(supported).

A reader is a model that judges a claim together with passages of its evidence. The reader's
sentence output judges the claim as a whole, and its word outputs judge each word. Together, these
outputs judge better than one of them alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict

from groundwire.engine.scores import ClaimScores
from groundwire.errors import ModelError

#: Name of the file with the map, beside a model's manifest.
FILE_NAME = "verify.json"
#: Lowest probability that ``Measured.of`` uses, so that logarithms are finite. The probability from
#: the sentence output is also limited to 1 minus this number.
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Uncalibrated measures of a claim that a reader has read.

    Attributes:
        whole: Log-odds, by the sentence output, that the claim is supported.
        words: Logarithm of the mean odds that a word piece of the claim is not supported.
        unsupported: Highest log-probability of ``unsupported`` among the word pieces.
        is_bare: Whether the claim was read without any evidence.
    """

    whole: float
    words: float
    unsupported: float
    is_bare: bool

    @classmethod
    def of(cls, scores: ClaimScores, *, is_bare: bool) -> Self:
        """Measure a claim by the uncalibrated scores of a reader that has judged it."""
        assert scores.entailment is not None  # readers set it for all claims that they judge
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
        """The three measures that have a weight, in the order of :attr:`ClaimMap.weights`."""
        return self.whole, self.words, self.unsupported


class ClaimMap(BaseModel):
    """The fitted map from measures to P(the evidence supports the claim).

    Attributes:
        weights: Weights of ``whole``, ``words`` and ``unsupported``.
        offset: Offset for claims that were read with evidence.
        bare_offset: Offset for claims that were read without evidence.
        provenance: How the map was fitted, on how many claims, and its scores.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    weights: tuple[float, float, float]
    offset: float
    bare_offset: float
    provenance: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, *, graph: str) -> Self:
        """Read the map of a model folder; ``graph`` is the :func:`.local.graph_hash` of the model.

        Raises:
            ModelError: If the map is missing, cannot be read, or was fitted for another model file.
        """
        path = folder / FILE_NAME
        remedy = (
            "Fit it: python -m groundwire_training.verifier --data DATA "
            f"--model {folder} (docs/verify-local.md)."
        )
        try:
            stored = _StoredMap.model_validate_json(path.read_bytes())
        except FileNotFoundError as error:
            raise ModelError(f"{path} is not there, so claims have no scale. {remedy}") from error
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read. {remedy}") from error
        if stored.graph != graph:
            raise ModelError(
                f"{path} was fitted for another graph ({stored.graph[:12]}, and this is "
                f"{graph[:12]}), so its probabilities mean nothing here. {remedy}"
            )
        return cls(**stored.model_dump(exclude={"graph"}))

    def write(self, folder: Path, *, graph: str) -> None:
        """Write the map to a model folder; ``graph`` is the model's :func:`.local.graph_hash`."""
        text = json.dumps({"graph": graph, **self.model_dump()}, indent=2)
        (folder / FILE_NAME).write_text(text + "\n", "utf-8")

    @property
    def passing(self) -> Mapping[str, Mapping[str, float]]:
        """Name of a set of labelled claims → shares of its right and wrong claims that pass.

        A claim passes if its probability reaches the default of ``verify.target``. The shares are
        cross-validated: no claim was judged by a map that was fitted on claims of the same context.
        Empty if they were not measured.
        """
        found: Mapping[str, Mapping[str, float]] = self.provenance.get("passing", {})
        return found

    def log_odds(self, measured: Measured) -> float:
        """Return the log-odds that the claim is supported, in nats."""
        offset = self.bare_offset if measured.is_bare else self.offset
        pairs = zip(self.weights, measured.features, strict=True)
        return offset + sum(weight * value for weight, value in pairs)

    def probability(self, measured: Measured) -> float:
        """Return P(the evidence supports the claim), in [0, 1]."""
        # This form of the sigmoid does not overflow.
        return float(np.exp(-np.logaddexp(0.0, -self.log_odds(measured))))


class _StoredMap(ClaimMap):
    graph: str
