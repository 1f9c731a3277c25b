"""The cross-encoder: it reads a claim and the closest lines of its evidence in one sequence.

In a reader's own graph, passages do not attend to the claim, so a passage is encoded once for all
claims. In a cross-encoder, claim and evidence attend to each other in every layer. So a
cross-encoder judges some claims better, such as those with a negation, but it must read the
evidence again for each claim.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from groundwire.detection.closest_lines import Excerpt
from groundwire.engine.features import N_FEATURES, NEUTRAL, TABLE_ROWS
from groundwire.engine.layout import row_of
from groundwire.engine.models import Manifest
from groundwire.engine.runtime import Graph, RawScores
from groundwire.engine.tokenizer import WordPieces

#: Files of a model folder: the graph of the cross-encoder, and its embeddings of word pieces.
CROSS_GRAPH, CROSS_WORDS = "cross.onnx", "cross-words.bin"
#: Name of the graph's output for the hidden states after a layer in the middle.
STATES = "states"
#: Makes a run compute only what its outputs need: for ``STATES``, the layers up to the middle.
_PART = onnxruntime.RunOptions()
_PART.only_execute_path_to_fetches = True


class CrossEncoder(Graph):
    """The ONNX graph of the cross-encoder, opened with ONNX Runtime."""

    @classmethod
    def of(cls, manifest: Manifest, *, threads: int) -> Self | None:
        """Open the cross-encoder of a model folder; ``None`` if the folder has no such graph."""
        if CROSS_GRAPH not in manifest.files:
            return None
        return cls(manifest.folder / CROSS_GRAPH, threads=threads)

    def read(
        self,
        claim: NDArray[np.int32],
        features: NDArray[np.int64],
        question: NDArray[np.int32],
        excerpts: Sequence[Excerpt],
        pieces: WordPieces,
    ) -> RawScores:
        """Score a claim that is read together with lines of evidence.

        Args:
            claim: Word pieces of the claim, at most 254, shape ``(n,)``.
            features: Match features of each word piece of the claim, shape ``(n, 6)``.
            question: Word pieces of the question; may be empty.
            excerpts: The lines of evidence; may be empty.
            pieces: The tokenizer, for its special tokens.
        """
        inputs = _inputs(claim, features, question, excerpts, pieces)
        logits, claim_logits = self._session.run(["logits", "claim"], inputs)
        return RawScores(logits, claim_logits[0])

    def states(
        self,
        claim: NDArray[np.int32],
        question: NDArray[np.int32],
        lines: Sequence[NDArray[np.int32]],
        pieces: WordPieces,
    ) -> list[NDArray[np.float32]]:
        """Compute hidden states of word pieces; each piece attends to all of the input.

        Args:
            claim: Word pieces of the claim, shape ``(n,)``; n is at least 1.
            question: Word pieces of the question; may be empty.
            lines: Word pieces of each line of evidence. The input may have at most 512 word pieces,
                with the special tokens.
            pieces: The tokenizer, for its special tokens.

        Returns:
            The states of the claim, and then those of each line, each of shape ``(n, width)``.
        """
        features = np.tile(np.array(NEUTRAL, np.int64), (len(claim), 1))
        excerpts = [Excerpt(np.empty(0, np.int32), (line,)) for line in lines]
        inputs = _inputs(claim, features, question, excerpts, pieces)
        (states,) = self._session.run([STATES], inputs, _PART)
        found, start = [states[1 : len(claim) + 1]], len(states) - sum(len(x) + 1 for x in lines)
        for line in lines:
            found.append(states[start : start + len(line)])
            start += len(line) + 1
        return found


def _inputs(
    claim: NDArray[np.int32],
    features: NDArray[np.int64],
    question: NDArray[np.int32],
    excerpts: Sequence[Excerpt],
    pieces: WordPieces,
) -> Mapping[str, NDArray[np.generic]]:
    n = len(claim)
    ids, roles = row_of(claim, question, excerpts, cls_id=pieces.cls_id, sep_id=pieces.sep_id)
    codes = np.full((len(ids), N_FEATURES), TABLE_ROWS - 1, np.int64)
    codes[0] = NEUTRAL
    codes[1 : n + 1] = features
    return {"ids": ids, "roles": roles, "features": codes, "claim_end": np.array([n + 1], np.int64)}
