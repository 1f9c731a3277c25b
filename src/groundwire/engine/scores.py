"""What a token-level detector says about an answer."""

from dataclasses import dataclass
from math import log, tanh

import numpy as np
from numpy.typing import NDArray

from groundwire.detection import Entailment, EvidenceRef, Reason


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
            piece, shape ``(n, 3)``, float32.
        evidence: What the claim was held against, best match first.
        reason: Why the claim was not judged; it then has no scores.
        n_unread: Characters of a judged claim that the model could not read.
        similarity: Cosine to the nearest source, in [-1, 1], of a detector that compares: its
            scores are of the claim as a whole, and there are none of word pieces.
        entailment: What a detector says of the claim as a whole, if it does.
    """

    offsets: NDArray[np.int32]
    labels: NDArray[np.float32]
    evidence: tuple[EvidenceRef, ...] = ()
    reason: Reason | None = None
    n_unread: int = 0
    similarity: float | None = None
    entailment: Entailment | None = None

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
