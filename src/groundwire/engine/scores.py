"""Scores of word pieces and claims, their calibration, and how findings of rules change them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, tanh

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.rules import Conflict
from groundwire.detection.values import Entailment, EvidenceRef, Label, Reason

#: P(not supported) of settled words is lowered to at most this. Words are settled if, by a rule,
#: they plainly follow from the evidence.
SETTLED_PROBABILITY = 0.1
#: Settled words stay as they are if the model gives one of them this P(not supported) or more: four
#: fifths of the words with so high a probability were wrong.
SETTLED_BELOW = 0.65

_COLUMNS = {Label.SUPPORTED: 0, Label.UNSUPPORTED: 1, Label.CONTRADICTED: 2}


@dataclass(frozen=True, slots=True)
class AnswerCalibration:
    """The fitted map from an answer's highest P(not supported) to P(the answer is hallucinated).

    The highest of many probabilities is often high by chance, so it cannot itself be taken as the
    probability that the answer is hallucinated.
    """

    scale: float
    offset: float

    def probability(self, highest: float) -> float:
        """Return P(the answer is hallucinated): ``sigmoid(scale * log-odds(highest) + offset)``."""
        p = min(max(highest, 1e-6), 1 - 1e-6)
        # A sigmoid in a form that does not overflow for steep maps.
        return (1 + tanh((self.scale * log(p / (1 - p)) + self.offset) / 2)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCalibration:
    """The fitted map from a claim's three logits to calibrated probabilities.

    The map is ``softmax(scale * logits + (0, unsupported, contradicted))``. By default it is a
    plain softmax, and its results count as uncalibrated.
    """

    scale: float = 1.0
    unsupported: float = 0.0
    contradicted: float = 0.0

    def entailment(self, logits: NDArray[np.float32]) -> Entailment:
        """Map logits ``(3,)`` of supported, unsupported and contradicted to probabilities.

        Raises:
            ValueError: If a logit is NaN or +inf, or all logits are -inf.
        """
        moved = self.scale * logits.astype(np.float64)
        moved += (0.0, self.unsupported, self.contradicted)
        shares = np.exp(moved - moved.max())
        # Float32 logits determine no more than six digits; JSON would print more.
        entailment, neutral, contradiction = np.round(shares / shares.sum(), 6).tolist()
        return Entailment(
            entailment=entailment,
            neutral=neutral,
            contradiction=contradiction,
            is_calibrated=self != SentenceCalibration(),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """P(not supported) of each word piece of an answer.

    Attributes:
        offsets: Half-open character ranges in the answer, shape ``(n, 2)``, int32, ascending by
            start. The ranges are the tokenizer's own: some begin with a space, some are empty, and
            the pieces of a character that was cut into several have the same range.
        probabilities: P(not supported), shape ``(n,)``, float32, in [0, 1]; NaN for a word piece
            that the model could not judge.
        question_shortened: Whether only the beginning and the end of the question were read.
    """

    offsets: NDArray[np.int32]
    probabilities: NDArray[np.float32]
    question_shortened: bool = False

    def __len__(self) -> int:
        return len(self.probabilities)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimScores:
    """Scores of one claim by a detector.

    Attributes:
        offsets: Half-open character ranges of the word pieces in the answer, shape ``(n, 2)``,
            int32.
        labels: Probabilities of supported, unsupported and contradicted for each word piece, shape
            ``(n, 3)``, float32. The findings of rules count only in the result of
            :meth:`with_rules`.
        evidence: Parts of the sources that match the claim best, best match first.
        reason: Why the claim was not judged, and so has no scores; ``None`` if it was judged.
        n_unread: Number of letters and digits of a judged claim that the model could not read.
        similarity: Cosine to the nearest text of the sources, in [-1, 1]; ``None`` unless the
            similarity detector compared the claim.
        entailment: Probabilities of the claim as a whole; ``None`` if the claim was not judged, or
            the detector gives none.
        conflicts: Conflicts with the evidence that rules find, with offsets in the answer;
            :meth:`with_rules` drops those that do not count.
        settled: Ranges of the answer, ``[start, end)``, that plainly follow from the evidence, such
            as a sum of two numbers of the evidence. Empty in the result of :meth:`with_rules`.
        is_line: Whether the claim is equal to a line of the evidence. Citations, emphasis, and
            outer white space and full stops do not count.
        logits: Logits before calibration, on which calibration is fitted, each of shape ``(n, 3)``:
            those of the reader, and with a cross-encoder also the cross-encoder's logits of each
            piece and, repeated for each piece, of the claim or part of a claim as a whole. Empty if
            the claim was not judged, or not by the reader.
        is_remark: Function that returns whether the claim is only a remark, which claims nothing;
            ``None`` if the detector cannot tell.
    """

    offsets: NDArray[np.int32]
    labels: NDArray[np.float32]
    evidence: tuple[EvidenceRef, ...] = ()
    reason: Reason | None = None
    n_unread: int = 0
    similarity: float | None = None
    entailment: Entailment | None = None
    conflicts: tuple[Conflict, ...] = ()
    settled: tuple[tuple[int, int], ...] = ()
    is_line: bool = False
    logits: tuple[NDArray[np.float32], ...] = ()
    is_remark: Callable[[], bool] | None = None

    @classmethod
    def compared(
        cls, similarity: float, evidence: tuple[EvidenceRef, ...], n_unread: int
    ) -> "ClaimScores":
        """Make the scores of a claim with a similarity in place of probabilities."""
        no_offsets, no_labels = np.empty((0, 2), np.int32), np.empty((0, 3), np.float32)
        return cls(no_offsets, no_labels, evidence, None, n_unread, similarity)

    @classmethod
    def unread(cls, reason: Reason) -> "ClaimScores":
        """Make the empty scores of a claim that was not judged."""
        return cls(np.empty((0, 2), np.int32), np.empty((0, 3), np.float32), (), reason)

    @property
    def has_probabilities(self) -> bool:
        """Whether the claim was judged, and each of its word pieces has a probability."""
        return self.reason is None and self.similarity is None

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """P(not supported) of each word piece, shape ``(n,)``."""
        return np.asarray(1 - self.labels[:, 0])

    def with_rules(self) -> "ClaimScores":
        """Return the model's scores, changed by the findings of the rules.

        A conflict counts if the model's highest P(not supported) of its word pieces reaches the
        conflict's floor. P(not supported) of these pieces is then raised to at least the conflict's
        own probability or :func:`combined_probability`, whichever is higher, and the raised pieces
        get the conflict's label. Pieces of a settled range that are in no conflict get at most
        :data:`SETTLED_PROBABILITY`, unless the model gives a piece of the range
        :data:`SETTLED_BELOW` or more.
        """
        if not (self.conflicts or self.settled):
            return self
        labels, counting = self.labels.copy(), []
        is_free = np.ones(len(labels), bool)
        for conflict in sorted(self.conflicts, key=lambda found: (found.start, found.end)):
            touched = self._touched(conflict)
            is_free &= ~touched
            # ``highest`` is the model's own probability: a probability that another rule has raised
            # does not show what the model finds.
            highest = self.highest(conflict)
            if highest >= np.float32(conflict.floor):
                probability = max(conflict.probability, combined_probability(highest))
                _raise(labels, touched, probability, conflict.label)
                counting.append(conflict)
        for start, end in self.settled:
            inside = (self.offsets[:, 0] >= start) & (self.offsets[:, 1] <= end)
            if self.probabilities[inside].max(initial=0) < np.float32(SETTLED_BELOW):
                _settle(labels, inside & is_free)
        return replace(self, labels=labels, conflicts=tuple(counting), settled=())

    def highest(self, conflict: Conflict) -> float:
        """Return the highest P(not supported) of a conflict's word pieces; -1 without pieces."""
        return float(self.probabilities[self._touched(conflict)].max(initial=-1))

    def _touched(self, conflict: Conflict) -> NDArray[np.bool_]:
        return (self.offsets[:, 0] < conflict.end) & (self.offsets[:, 1] > conflict.start)


#: Maps the model's P(not supported) to the P(not supported) of model and rule together. The map is
#: linear in log-odds, so it has the class of the calibration of answers.
_COMBINED = AnswerCalibration(scale=0.82, offset=0.92)


def combined_probability(doubt: float) -> float:
    """Return P(not supported) of words that a rule finds wrong.

    ``doubt`` is the model's highest P(not supported) of these words. For a doubt of 0.73, the
    result is 0.85.
    """
    return _COMBINED.probability(doubt)


def _raise(
    labels: NDArray[np.float32], touched: NDArray[np.bool_], probability: float, label: Label
) -> None:
    """Raise P(not supported) of word pieces to at least ``probability``.

    All of a raised P(not supported) goes to ``label``.
    """
    least = np.float32(probability)
    raised = touched & (1 - labels[:, 0] < least)
    labels[raised] = 0
    labels[raised, _COLUMNS[Label.SUPPORTED]] = 1 - least
    labels[raised, _COLUMNS[label]] = least


def _settle(labels: NDArray[np.float32], inside: NDArray[np.bool_]) -> None:
    """Lower P(not supported) of word pieces to at most :data:`SETTLED_PROBABILITY`."""
    probability = np.float32(SETTLED_PROBABILITY)
    lowered = inside & (1 - labels[:, 0] > probability)
    # Unsupported and contradicted keep their ratio.
    labels[lowered, 1:] *= probability / labels[lowered, 1:].sum(axis=1, keepdims=True)
    labels[lowered, 0] = 1 - probability
