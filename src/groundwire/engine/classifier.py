"""One pass of a published classifier on ONNX Runtime: word pieces in, logits out."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from groundwire.errors import DetectionError, ModelError

_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class Classifier:
    """The graph of a classifier; it keeps no state between calls, so threads may share it."""

    def __init__(self, session: ort.InferenceSession, *, name: str, max_length: int) -> None:
        """Find the inputs and the output of a graph.

        Args:
            session: The graph.
            name: Hub id or folder, for messages.
            max_length: The most word pieces of one pass, for messages.

        Raises:
            ModelError: If the graph's inputs are not those of a text classifier.
        """
        self.name, self.max_length, self._session = name, max_length, session
        self._inputs = {
            node.name: np.int32 if node.type == "tensor(int32)" else np.int64
            for node in session.get_inputs()
        }
        if not {"input_ids"} <= self._inputs.keys() <= _INPUTS:
            raise ModelError(
                f"The ONNX graph of {name} takes {sorted(self._inputs)}. It must take input_ids "
                f"and may take {sorted(_INPUTS - {'input_ids'})}. Export it as a classifier."
            )
        # Some graphs return hidden states as well as logits.
        outputs = [node.name for node in session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]

    def logits(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[np.float32]:
        """Read a sequence.

        Args:
            ids: Word pieces with special tokens, shape ``(n,)``.
            types: Token types, shape ``(n,)``.

        Returns:
            Logits, of shape ``(1, classes)`` or ``(1, n, classes)``.

        Raises:
            DetectionError: If the model failed.
        """
        given: Mapping[str, Sequence[int]] = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": types,
        }
        feeds = {name: np.array([given[name]], kind) for name, kind in self._inputs.items()}
        try:
            return np.asarray(self._session.run([self._output], feeds)[0], np.float32)
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise DetectionError(
                f"{self.name} failed on {len(ids)} word pieces: {error}. If memory ran out, load "
                f"it with a max_length under {self.max_length}."
            ) from error


def shares_of(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the softmax over the last axis; a logit of +inf gives NaN, which callers check for."""
    with np.errstate(invalid="ignore"):
        exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares: NDArray[np.float32] = exponents / exponents.sum(axis=-1, keepdims=True)
    return shares
