"""Graphs of models in ONNX Runtime, and the outputs of a reader's graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from groundwire.engine.architecture import Architecture
from groundwire.engine.features import N_FEATURES, TABLE_ROWS
from groundwire.engine.roles import SENTENCE_START, TextRole
from groundwire.errors import ModelError


@dataclass(frozen=True, slots=True, eq=False)
class KeysValues:
    """Attention keys and values of one or several encoded texts, for other texts to attend to.

    Attributes:
        keys: Keys by layer and head, shape ``(layers, heads, n, head width)``, float16.
        values: Values, of the same shape and type.
    """

    keys: NDArray[np.float16]
    values: NDArray[np.float16]

    @property
    def nbytes(self) -> int:
        """Size in bytes: :attr:`Architecture.bytes_per_piece` for each word piece."""
        return self.keys.nbytes + self.values.nbytes

    @classmethod
    def join(cls, parts: Sequence["KeysValues"]) -> "KeysValues":
        """Join the keys and values of one or more texts, in this order."""
        return cls(
            np.concatenate([part.keys for part in parts], axis=2),
            np.concatenate([part.values for part in parts], axis=2),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RawScores:
    """Logits of one sentence, for the labels supported, unsupported and contradicted.

    Attributes:
        pieces: Logits of each word piece except special tokens, shape ``(n, 3)``, float32.
        sentence: Logits of the sentence as a whole, shape ``(3,)``, float32.
    """

    pieces: NDArray[np.float32]
    sentence: NDArray[np.float32]


class Graph:
    """A model's graph, opened in ONNX Runtime; safe to share between threads."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Open an ``.onnx`` file on the CPU; one call of the model may use ``threads`` threads.

        Raises:
            ModelError: If ONNX Runtime cannot open the file.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Idle threads that spin take processor time from other programs, such as an LLM server.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        except Exception as error:  # ONNX Runtime's errors have no common base class
            raise ModelError(
                f"{path} cannot be opened as a model ({error}). "
                "Run `groundwire doctor`, and install the package again if it fails."
            ) from error


class ReaderGraph(Graph):
    """The graph of a reader; ``sizes`` has its number of layers, width and other sizes."""

    def __init__(self, path: Path, sizes: Architecture, *, threads: int) -> None:
        super().__init__(path, threads=threads)
        self.sizes = sizes

    @property
    def nothing(self) -> KeysValues:
        """Empty keys and values, for a text that attends to no other text."""
        shape = (self.sizes.layers, self.sizes.heads, 0, self.sizes.head_width)
        return KeysValues(np.empty(shape, np.float16), np.empty(shape, np.float16))

    def read_source(self, ids: Sequence[int] | NDArray[np.int32], role: TextRole) -> KeysValues:
        """Encode a text of at most 256 word pieces, special tokens included.

        The word pieces attend to no other text.
        """
        n = len(ids)
        inputs = self._inputs(np.asarray(ids, np.int64), role, 0, self.nothing)
        inputs["features"] = np.full((n, N_FEATURES), TABLE_ROWS - 1, np.int64)
        keys, values = self._session.run(["keys", "values"], inputs)
        return KeysValues(keys, values)

    def read_sentence(
        self, ids: Sequence[int] | NDArray[np.int32], features: NDArray[np.int64], past: KeysValues
    ) -> RawScores:
        """Score a sentence that attends to other texts.

        Args:
            ids: At most 256 word pieces, [CLS] first and [SEP] last.
            features: Match features, shape ``(n, 6)``, special tokens included.
            past: Keys and values of the texts that the sentence attends to.
        """
        inputs = self._inputs(np.asarray(ids, np.int64), TextRole.ANSWER, SENTENCE_START, past)
        inputs["features"] = features
        logits, sentence = self._session.run(["logits", "sentence"], inputs)
        return RawScores(logits[1:-1], sentence[0])

    def _inputs(
        self, ids: NDArray[np.int64], role: TextRole, start: int, past: KeysValues
    ) -> dict[str, NDArray[np.generic]]:
        inputs: dict[str, NDArray[np.generic]] = {
            "ids": ids,
            "roles": np.full(len(ids), int(role), np.int64),
            "positions": np.arange(start, start + len(ids), dtype=np.int64),
        }
        for layer in range(self.sizes.layers):
            inputs[f"past_key_{layer}"] = past.keys[layer]
            inputs[f"past_value_{layer}"] = past.values[layer]
        return inputs
