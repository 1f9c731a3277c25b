"""What a token-level detector says about an answer."""

from dataclasses import dataclass, replace
from math import log, tanh

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.rules import Conflict
from groundwire.detection.values import Entailment, EvidenceRef, Label, Reason

#: The highest P(not supported) of what plainly follows from the evidence.
SETTLED_PROBABILITY = 0.1
#: From here on the model is believed: of what seems to follow, four fifths are wrong.
SETTLED_BELOW = 0.65

#: The map from the model's log-odds to those of rule and model together.
_TOGETHER_SCALE, _TOGETHER_OFFSET = 0.82, 0.92

_COLUMNS = {Label.SUPPORTED: 0, Label.UNSUPPORTED: 1, Label.CONTRADICTED: 2}


@dataclass(frozen=True, slots=True)
class AnswerCalibration:
    """The fitted map from an answer's highest P(not supported) to P(it is hallucinated).

    Of many pieces the highest is high by chance: on its own it is no probability of the answer.
    """

    scale: float
    offset: float

    def probability(self, highest: float) -> float:
        """``sigmoid(scale * log-odds + offset)``, in [0, 1]."""
        p = min(max(highest, 1e-6), 1 - 1e-6)
        # A sigmoid that does not overflow, however steep the map is.
        return (1 + tanh((self.scale * log(p / (1 - p)) + self.offset) / 2)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCalibration:
    """The fitted map from a sentence's three logits to probabilities that hold.

    ``softmax(scale * logits + (0, unsupported, contradicted))``. As it is made, it changes nothing.
    """

    scale: float = 1.0
    unsupported: float = 0.0
    contradicted: float = 0.0

    def entailment(self, logits: NDArray[np.float32]) -> Entailment:
        """Three probabilities, from logits of shape ``(3,)``: supported and the two others.

        Raises:
            ValueError: If a logit is not a number.
        """
        moved = self.scale * logits.astype(np.float64)
        moved += (0.0, self.unsupported, self.contradicted)
        shares = np.exp(moved - moved.max())
        # As many digits as the logits have, for JSON prints them all.
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
            start. They are as the tokenizer cuts: some begin with a space, some have no width,
            and pieces of one character share its range.
        probabilities: P(not supported), shape ``(n,)``, float32, in [0, 1]. Not a number where
            the model computed none.
        question_shortened: Whether only the beginning and the end of the question were read.
    """

    offsets: NDArray[np.int32]
    probabilities: NDArray[np.float32]
    question_shortened: bool = False

    def __post_init__(self) -> None:
        if self.offsets.shape != (len(self.probabilities), 2):
            raise ValueError(
                f"{len(self.probabilities)} probabilities need offsets of shape "
                f"({len(self.probabilities)}, 2), not {self.offsets.shape}"
            )

    def __len__(self) -> int:
        return len(self.probabilities)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimScores:
    """What a detector says about one claim.

    Attributes:
        offsets: Half-open character ranges in the answer, shape ``(n, 2)``, int32.
        labels: Calibrated probabilities of supported, unsupported and contradicted for each word
            piece, shape ``(n, 3)``, float32: the model's own, without any rule.
        evidence: What the claim was held against, best match first.
        reason: Why the claim was not judged; it then has no scores.
        n_unread: Characters of a judged claim that the model could not read.
        similarity: Cosine to the nearest source, in [-1, 1], of a detector that compares: its
            scores are of the claim as a whole, and there are none of word pieces.
        entailment: What a detector says of the claim as a whole, if it does.
        conflicts: What rules find plainly wrong in it, with offsets in the answer.
        settled: Ranges of the answer, ``[start, end)``, that plainly follow from the evidence, such
            as a sum of two of its numbers.
        is_line: Whether the claim is a line of the evidence, word for word.
        logits: What each model says of the word pieces before calibration, each of shape
            ``(n, 3)``: the reader; the cross-encoder of each piece, and of the claim as a whole.
            Calibration is fitted on them.
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

    @classmethod
    def compared(
        cls, similarity: float, evidence: tuple[EvidenceRef, ...], n_unread: int
    ) -> "ClaimScores":
        """A claim that was compared as a whole."""
        no_offsets, no_labels = np.empty((0, 2), np.int32), np.empty((0, 3), np.float32)
        return cls(no_offsets, no_labels, evidence, None, n_unread, similarity)

    @classmethod
    def unread(cls, reason: Reason) -> "ClaimScores":
        """A claim that was not judged."""
        return cls(np.empty((0, 2), np.int32), np.empty((0, 3), np.float32), (), reason)

    @property
    def has_probabilities(self) -> bool:
        """Whether the claim was judged word piece by word piece."""
        return self.reason is None and self.similarity is None

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """P(not supported) of each word piece, shape ``(n,)``."""
        return np.asarray(1 - self.labels[:, 0])

    def judged(self) -> "ClaimScores":
        """The scores as they are to be used: the model's, with what rules found, once.

        A conflict counts if the model's highest P(not supported) of its word pieces reaches its
        floor. It raises them to its probability, or to what rule and model say together if that is
        more (:func:`together`). What it raises has its label: a rule knows what the evidence has in
        its place. What is settled,
        in no conflict, and not sure to be wrong by the model (:data:`SETTLED_BELOW`), has at most
        :data:`SETTLED_PROBABILITY`. ``conflicts`` of the result are
        those that count, in reading order. Without conflicts and settled ranges these scores
        themselves are returned.
        """
        if not (self.conflicts or self.settled):
            return self
        labels, counting = self.labels.copy(), []
        is_free = np.ones(len(labels), bool)
        for conflict in sorted(self.conflicts, key=lambda found: (found.start, found.end)):
            touched = self._touched(conflict)
            is_free &= ~touched
            # The model's own: what another rule raised is no second opinion.
            highest = self.highest(conflict)
            if highest >= np.float32(conflict.floor):
                probability = max(conflict.probability, together(highest))
                _raise(labels, touched, probability, conflict.label)
                counting.append(conflict)
        for start, end in self.settled:
            inside = (self.offsets[:, 0] >= start) & (self.offsets[:, 1] <= end)
            if self.probabilities[inside].max(initial=0) < np.float32(SETTLED_BELOW):
                _settle(labels, inside & is_free)
        return replace(self, labels=labels, conflicts=tuple(counting), settled=())

    def highest(self, conflict: Conflict) -> float:
        """The highest P(not supported) of the word pieces that a conflict overlaps; -1 if none."""
        return float(self.probabilities[self._touched(conflict)].max(initial=-1))

    def _touched(self, conflict: Conflict) -> NDArray[np.bool_]:
        return (self.offsets[:, 0] < conflict.end) & (self.offsets[:, 1] > conflict.start)


def together(doubt: float) -> float:
    """P(not supported) of words that a rule finds wrong and the model doubts, in [0, 1].

    Two opinions are more than either: where the model says 0.73 and a rule agrees, 0.85 are marked.
    Fitted on the 187 conflicts that count in the validation answers (docs/conflicts.md).

    Args:
        doubt: The model's highest P(not supported) of these words.
    """
    p = min(max(doubt, 1e-6), 1 - 1e-6)
    return (1 + tanh((_TOGETHER_SCALE * log(p / (1 - p)) + _TOGETHER_OFFSET) / 2)) / 2


def _raise(
    labels: NDArray[np.float32], touched: NDArray[np.bool_], probability: float, label: Label
) -> None:
    """Give word pieces at least a probability of not being supported, all of it of one label."""
    least = np.float32(probability)
    raised = touched & (1 - labels[:, 0] < least)
    labels[raised] = 0
    labels[raised, _COLUMNS[Label.SUPPORTED]] = 1 - least
    labels[raised, _COLUMNS[label]] = least


def _settle(labels: NDArray[np.float32], inside: NDArray[np.bool_]) -> None:
    """Give word pieces at most the probability of what is settled."""
    probability = np.float32(SETTLED_PROBABILITY)
    lowered = inside & (1 - labels[:, 0] > probability)
    # Which of the two it would be is still the model's to say.
    labels[lowered, 1:] *= probability / labels[lowered, 1:].sum(axis=1, keepdims=True)
    labels[lowered, 0] = 1 - probability
