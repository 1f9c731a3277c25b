"""A cross-encoder: it reads a claim together with its few best lines, all of it at once.

The reader's passages are read before the answer exists, so they know nothing of the claim. Here
claim and evidence attend to each other in every layer, as in pretraining: that tells roles,
negation and neighbouring values apart, at a price for each claim.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.closest_lines import Excerpt
from groundwire.engine.features import N_FEATURES, NEUTRAL, TABLE_ROWS
from groundwire.engine.layout import row_of
from groundwire.engine.models import Manifest
from groundwire.engine.runtime import RawScores, open_session
from groundwire.engine.tokenizer import WordPieces

#: The files of a model folder that hold its graph and its table of word pieces.
CROSS_GRAPH, CROSS_WORDS = "cross.onnx", "cross-words.bin"


class CrossEncoder:
    """One session, shared by all threads."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Open a graph.

        Args:
            path: The ``.onnx`` file.
            threads: CPU threads that one claim is read with.

        Raises:
            ModelError: If ONNX Runtime cannot open it.
        """
        self._session = open_session(path, threads=threads)

    @classmethod
    def of(cls, manifest: Manifest, *, threads: int) -> Self | None:
        """The cross-encoder of a model folder; ``None`` if it has none."""
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
        """Judge a claim.

        Args:
            claim: Its word pieces, at most 254, shape ``(n,)``.
            features: Match features of each, shape ``(n, 6)``.
            question: Word pieces of the question, perhaps none.
            excerpts: The lines to hold it against.
            pieces: The tokenizer, for its special tokens.
        """
        n = len(claim)
        ids, roles = row_of(claim, question, excerpts, cls_id=pieces.cls_id, sep_id=pieces.sep_id)
        codes = np.full((len(ids), N_FEATURES), TABLE_ROWS - 1, np.int64)
        codes[0] = NEUTRAL
        codes[1 : n + 1] = features
        inputs: Mapping[str, NDArray[np.generic]] = {
            "ids": ids,
            "roles": roles,
            "features": codes,
            "claim_end": np.array([n + 1], np.int64),
        }
        logits, claim_logits = self._session.run(["logits", "claim"], inputs)
        return RawScores(logits, claim_logits[0])
