"""Runs published classifiers in ONNX Runtime, and joins texts with special tokens for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from tokenizers import Tokenizer

from groundwire.errors import DetectionError, ModelError

_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around two texts: before, between and after them, as vocabulary ids."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    #: Token type of the second text.
    second_type: int = 1

    @classmethod
    def of(cls, tokenizer: Tokenizer, config: Mapping[str, Any]) -> "Frame":
        """Find out how a tokenizer joins a pair of texts.

        The tokenizer's post-processor joins the texts, to ``[CLS] a [SEP] b [SEP]`` for BERT and
        ``<s> a </s></s> b </s>`` for RoBERTa. Without a post-processor that adds special tokens,
        the texts are joined as for BERT, with the ``cls_token`` and ``sep_token`` that
        ``tokenizer_config.json`` names.

        Raises:
            ModelError: If no post-processor adds special tokens, and ``cls_token`` or ``sep_token``
                is missing or not in the vocabulary.
        """
        pair = tokenizer.encode("a", "b")
        sequence = pair.sequence_ids
        first = [i for i, s in enumerate(sequence) if s == 0]
        second = [i for i, s in enumerate(sequence) if s == 1]
        if first and second and len(sequence) > len(first) + len(second):
            return cls(
                tuple(pair.ids[: first[0]]),
                tuple(pair.ids[first[-1] + 1 : second[0]]),
                tuple(pair.ids[second[-1] + 1 :]),
                pair.type_ids[second[0]],
            )
        names = [_token_text(config.get(key)) for key in ("cls_token", "sep_token")]
        ids = [None if name is None else tokenizer.token_to_id(name) for name in names]
        if ids[0] is None or ids[1] is None:
            raise ModelError(
                "The tokenizer does not say how it joins two texts: it has no post-processor, and "
                "tokenizer_config.json names no cls_token and sep_token that it knows. "
                "Save it again with a current version of transformers."
            )
        return cls((ids[0],), (ids[1],), (ids[1],))

    @property
    def size(self) -> int:
        """Number of special tokens around a pair of texts."""
        return len(self.before) + len(self.between) + len(self.after)

    def join(
        self, context: Sequence[int], question: Sequence[int], answer: Sequence[int]
    ) -> tuple[list[int], list[int], int]:
        """Join context, question and answer with special tokens; leave out an empty question.

        Returns:
            Ids, token types, and the index of the answer's first piece.
        """
        ids = [*self.before, *context, *self.between]
        if question:
            ids += [*question, *self.between]
        start = len(ids)
        ids += [*answer, *self.after]
        return ids, [0] * start + [self.second_type] * (len(ids) - start), start


@dataclass(kw_only=True, eq=False)
class Classifier:
    """A published classifier; it keeps no state between calls, so threads may share it.

    Creating a classifier raises ModelError if the inputs of its graph are not those of a text
    classifier.

    Attributes:
        name: Hub id or folder.
        revision: Commit of a hub model, or hash of a folder's files.
        labels: Indices of the relevant classes, which :attr:`.checkpoints.Task.labels` found.
        n_labels: Number of all classes of the model.
        max_length: Limit on the word pieces of one pass, special tokens included.
        tokenizer: The tokenizer; it reads special tokens in a text as plain text.
        frame: The special tokens around two texts.
        session: The session of ONNX Runtime with the graph.
    """

    name: str
    revision: str
    labels: tuple[int, ...]
    n_labels: int
    max_length: int
    tokenizer: Tokenizer
    frame: Frame
    session: ort.InferenceSession

    def __post_init__(self) -> None:
        self._inputs = {
            node.name: np.int32 if node.type == "tensor(int32)" else np.int64
            for node in self.session.get_inputs()
        }
        if not {"input_ids"} <= self._inputs.keys() <= _INPUTS:
            raise ModelError(
                f"The ONNX graph of {self.name} takes {sorted(self._inputs)}. It must take "
                f"input_ids and may take {sorted(_INPUTS - {'input_ids'})}. Export it as a "
                "classifier."
            )
        # Some graphs return hidden states as well as logits.
        outputs = [node.name for node in self.session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]

    def ids(self, text: str) -> list[int]:
        """Cut a text into word pieces, without special tokens."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def logits(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[np.float32]:
        """Return the logits for one sequence of ids with their token types, both of length ``n``.

        The shape is ``(1, n, classes)`` for a token classifier, and ``(1, classes)`` for a sequence
        classifier.

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
            return np.asarray(self.session.run([self._output], feeds)[0], np.float32)
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise DetectionError(
                f"{self.name} failed on {len(ids)} word pieces: {error}. If memory ran out, load "
                f"it with a max_length under {self.max_length}."
            ) from error

    def class_logits(
        self, ids: Sequence[int], types: Sequence[int], *, kind: str, n: int
    ) -> NDArray[np.float32]:
        """Return the logits of the ``n`` classes of a text, ``(1, n)``.

        ``kind`` says, for messages, what kind of model the classifier is, such as ``a gate``.

        Raises:
            DetectionError: If the model failed.
            ModelError: If the graph does not return ``n`` logits.
        """
        logits = self.logits(ids, types)
        if logits.shape != (1, n):
            raise ModelError(
                f"The graph of {self.name} returned shape {logits.shape}, and {kind} returns "
                f"(1, {n}). Check that id2label in its config.json belongs to this graph."
            )
        return logits


def shares_of(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the softmax over the last axis.

    A row with a logit of +inf or NaN, or with no logit but -inf, becomes NaN.
    """
    with np.errstate(invalid="ignore"):
        exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares: NDArray[np.float32] = exponents / exponents.sum(axis=-1, keepdims=True)
    return shares


def _token_text(token: object) -> str | None:
    """Read a token of ``tokenizer_config.json``: a string, or an object with its ``content``.

    The result is ``None`` if the token is neither.
    """
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else None
