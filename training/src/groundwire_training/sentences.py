"""Calibrates the reader's probabilities of whole claims, for each of two ways of reading.

A claim that is read *whole* gets its probabilities from the pass that also scores its words, with
passages, question and earlier sentences. A claim that is read *by lines* gets them from a pass with
only the claim and a few lines of evidence. The explainer reads claims by lines if another detector
has marked them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.values import Claim, EvidenceRef, Label, Span
from groundwire.engine.reader import Reader
from groundwire.engine.scores import SentenceCalibration
from groundwire.errors import DetectionError
from groundwire.evaluation.calibration import reliability
from groundwire.evaluation.metrics import Ranking
from groundwire.explain.nearby import SourceLines

#: Weight of the penalty on squared offsets. It matters if a small file has few claims of a label.
_RIDGE = 1e-3
#: Bounds of the scale. It must be positive to keep the order of logits, and not too large.
_SCALES = (0.05, 20.0)
_OFFSETS = (-10.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredClaim:
    """One claim of a validation answer with the reader's scores.

    Attributes:
        label: The highest label of the claim's gold spans: 0 supported (no spans), 1 unsupported, 2
            contradicted.
        doubt: Uncalibrated log-odds that the claim's most doubtful word piece is not supported.
        whole: Uncalibrated log-probabilities of the three labels, read whole, shape ``(3,)``.
        lines: Uncalibrated log-probabilities, read by lines; ``None`` if the claim was not read so.
    """

    label: int
    doubt: float
    whole: NDArray[np.float64]
    lines: NDArray[np.float64] | None = None


def by_lines(reader: Reader, lines: SourceLines, claim: Claim) -> NDArray[np.float64] | None:
    """Compute a claim's log-probabilities, read by its best lines; ``None`` if it is unreadable."""
    # The whole claim is the span, because the map must fit detectors that mark other words.
    span = Span(
        start=claim.start,
        end=claim.end,
        text=claim.text,
        label=Label.UNSUPPORTED,
        probability=None,
        severity=0,
    )
    evidence: tuple[EvidenceRef, ...] = lines.held(span, claim, ComparedText(claim.text)).evidence
    try:
        logits = reader.sentence_logits(claim.text, evidence).astype(np.float64)
    except DetectionError:
        return None
    return np.asarray(logits - np.logaddexp.reduce(logits))


def fit(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> SentenceCalibration:
    """Fit one scale for the three logits and an offset for two of them, by cross entropy.

    Args:
        logits: Shape ``(n, 3)``.
        labels: 0, 1 or 2, shape ``(n,)``.
    """

    def loss(numbers: NDArray[np.float64]) -> float:
        shares = log_shares(logits, of_numbers(numbers))
        return float(
            -shares[np.arange(len(labels)), labels].mean() + _RIDGE * numbers[1:] @ numbers[1:]
        )

    start = np.array([1.0, 0.0, 0.0])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[_SCALES, _OFFSETS, _OFFSETS])
    return of_numbers(found.x)


def of_numbers(numbers: NDArray[np.float64]) -> SentenceCalibration:
    """Make a calibration from its scale and two offsets."""
    scale, unsupported, contradicted = map(float, numbers)
    return SentenceCalibration(scale=scale, unsupported=unsupported, contradicted=contradicted)


def log_shares(
    logits: NDArray[np.float64], calibration: SentenceCalibration
) -> NDArray[np.float64]:
    """Return the logarithms of calibrated probabilities, shape ``(n, 3)``."""
    offsets = np.array([0.0, calibration.unsupported, calibration.contradicted])
    moved = calibration.scale * logits + offsets
    return np.asarray(moved - np.logaddexp.reduce(moved, axis=1, keepdims=True))


def fit_whole(claims: Iterable[ScoredClaim]) -> SentenceCalibration | None:
    """Fit the map for claims read whole; return ``None`` if all claims are right, or all wrong."""
    return _fitted([(claim.whole, claim.label) for claim in claims])


def fit_lines(claims: Iterable[ScoredClaim], *, doubt: float) -> SentenceCalibration | None:
    """Fit the map for claims read by lines, on the claims that the reader would mark.

    The explainer reads only marked claims, and a larger share of these is wrong.

    Args:
        claims: All claims.
        doubt: A claim is marked if its log-odds reach this value.
    """
    return _fitted(
        [
            (claim.lines, claim.label)
            for claim in claims
            if claim.lines is not None and claim.doubt >= doubt
        ]
    )


def _fitted(pairs: Sequence[tuple[NDArray[np.float64], int]]) -> SentenceCalibration | None:
    labels = np.array([label for _, label in pairs], np.int64)
    if len(set((labels > 0).tolist())) < 2:
        return None
    return fit(np.array([logits for logits, _ in pairs]), labels)


def measure(
    judged: Sequence[tuple[NDArray[np.float64], int, SentenceCalibration | None]],
) -> dict[str, Any]:
    """Measure probabilities, each with the map that was fitted on other contexts.

    Returns:
        The number of claims, in all and by label; the cross entropy with the map and without; the
        expected calibration error of each label; the AUROC of supported against all others, and
        that of contradicted against unsupported.
    """
    logits = np.array([found for found, _, _ in judged]).reshape(-1, 3)
    labels = np.array([label for _, label, _ in judged], np.int64)
    maps = [known or SentenceCalibration() for _, _, known in judged]
    shares = np.array(
        [log_shares(row[None], known)[0] for row, known in zip(logits, maps, strict=True)]
    ).reshape(-1, 3)
    at = np.arange(len(labels))
    plain = log_shares(logits, SentenceCalibration())
    wrong = labels > 0
    return {
        "n": len(labels),
        "labels": np.bincount(labels, minlength=3).tolist(),
        "cross_entropy": float(-shares[at, labels].mean()),
        "cross_entropy_uncalibrated": float(-plain[at, labels].mean()),
        "ece": [reliability(np.exp(shares[:, label]), labels == label).ece for label in range(3)],
        "supported_auroc": Ranking.of(shares[:, 0], ~wrong).auroc(),
        "contradicted_auroc": Ranking.of(
            (shares[:, 2] - shares[:, 1])[wrong], labels[wrong] == 2
        ).auroc(),
    }


def without_calibration(reader: Reader) -> Reader:
    """Return a copy of a reader that gives uncalibrated probabilities of claims."""
    return replace(reader, sentences=SentenceCalibration(), lines=SentenceCalibration())
