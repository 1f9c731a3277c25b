"""Published token classifiers: context, question and answer in one sequence.

This is how LettuceDetect, HaluGate and Director-AI read: the whole answer after the context, in
one pass. What does not fit is read in windows, never cut off.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Tokenizer

from groundwire.engine.classifier import Classifier, shares_of
from groundwire.engine.scores import TokenScores
from groundwire.errors import ModelError

#: Word pieces that two neighbouring windows share.
OVERLAP = 64
#: An answer may take what leaves this share of a window for the context; a longer one is windowed.
CONTEXT_SHARE = 1 / 3
#: A question may take this share of a window; of a longer one the beginning and the end are read.
QUESTION_SHARE = 1 / 4

# Names of classes in lower case, letters and digits only. One pattern each.
_SUPPORTED = re.compile(
    "o|supported|entailed|entailment|faithful|factual|grounded|consistent|correct|clean|truthful"
    "|(no|not|non)hallucinat(ed|ion)"
)
_NOT_SUPPORTED = re.compile(
    "hallu|hal|hallucinat(ed|ions?)|fabricated|baseless(info)?|conflict|contradict(ed|ion|ory)"
    "|neutral|(not|non|un|in)(supported|factual|faithful|grounded|consistent|correct|entail(ed|ment))"
)


@dataclass(frozen=True, slots=True)
class Window:
    """What is read in one pass: half-open ranges of word pieces of the context and the answer."""

    context: tuple[int, int]
    answer: tuple[int, int]


def plan_windows(n_context: int, n_answer: int, *, room: int) -> tuple[Window, ...]:
    """Cut context and answer into windows, so that each word piece of the answer is read with all.

    The answer is kept whole as long as it leaves :data:`CONTEXT_SHARE` of the room to the context,
    or the context needs less. Neighbouring windows share up to :data:`OVERLAP` word pieces.

    Args:
        n_context: Word pieces of the context; with none, the answer is read alone.
        n_answer: Word pieces of the answer, at least 1.
        room: Word pieces of both that fit in one pass, at least 2.

    Returns:
        Windows in the order of the answer, then of the context. Each range of the answer is read
        with each range of the context.
    """
    context_room = min(n_context, max(room - n_answer, int(room * CONTEXT_SHARE), 1))
    return tuple(
        Window(context, answer)
        for answer in _cuts(n_answer, room - context_room)
        for context in _cuts(n_context, context_room)
    )


def _cuts(n: int, size: int) -> list[tuple[int, int]]:
    """Cover ``n`` items with ranges of ``size``; the last one ends with the last item."""
    if n <= size:
        return [(0, n)]
    step = size - min(OVERLAP, size // 4)
    return [(start, start + size) for start in (*range(0, n - size, step), n - size)]


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around two texts: before, between and after them, as vocabulary ids."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    #: Token type of the second text; 0 for models that tell no types apart.
    second_type: int = 1

    @classmethod
    def of(cls, tokenizer: Tokenizer, config: Mapping[str, Any]) -> "Frame":
        """Find out how a tokenizer joins a pair of texts.

        Its post-processor says so: ``[CLS] a [SEP] b [SEP]`` for BERT, ``<s> a </s></s> b </s>``
        for RoBERTa. Without one, the tokens that ``tokenizer_config.json`` names do.

        Raises:
            ModelError: If neither knows.
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
        """Special tokens of a pair."""
        return len(self.before) + len(self.between) + len(self.after)

    def join(
        self, context: Sequence[int], question: Sequence[int], answer: Sequence[int]
    ) -> tuple[list[int], list[int], int]:
        """Join ``context [SEP] question [SEP] answer``; an empty question leaves its place out.

        Returns:
            Ids, token types, and where the answer begins.
        """
        ids = [*self.before, *context, *self.between]
        if question:
            ids += [*question, *self.between]
        start = len(ids)
        ids += [*answer, *self.after]
        return ids, [0] * start + [self.second_type] * (len(ids) - start), start


def not_supported_labels(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Tell which classes of a token classifier mean that a word is not supported.

    Args:
        config: A model's ``config.json``. Of two classes, a name such as ``hallucinated`` or
            ``supported`` decides; where neither says anything (``LABEL_0``, ``LABEL_1``), it is
            the second, as in all of the published detectors. Of three or more, all are meant but
            those named ``supported``, ``entailment``, ``O`` and the like.

    Returns:
        Their indices, ascending; P(not supported) is the sum of their probabilities.

    Raises:
        ModelError: If the names do not tell.
    """
    names = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
    labels = {int(index): str(name) for index, name in names.items()}
    plain = {index: re.sub(r"[^a-z0-9]", "", name.lower()) for index, name in labels.items()}
    supported = {index for index, name in plain.items() if _SUPPORTED.fullmatch(name)}
    against = {index for index, name in plain.items() if _NOT_SUPPORTED.fullmatch(name)}
    if len(labels) == 2 and not supported and len(against) != 2:
        return tuple(against) or (max(labels),)
    if len(labels) >= 2 and supported and len(supported) < len(labels):
        return tuple(sorted(labels.keys() - supported))
    raise ModelError(
        f"The classes {list(labels.values())} do not say which of them means that a word is "
        'supported. Name it in the model\'s config.json: "id2label": {"0": "supported", ...}.'
    )


class JointModel:
    """A token classifier that reads context, question and answer in one sequence.

    Made by :func:`groundwire.engine.checkpoints.load_checkpoint`. It holds no state between
    calls, so threads may share it.

    Attributes:
        name: Hub id or folder.
        revision: Commit of the hub, or hash of the files.
        max_length: Word pieces of one pass, special tokens included.
        tokenizer: What cuts the texts; special tokens written in them are text.
    """

    def __init__(
        self,
        *,
        name: str,
        revision: str,
        max_length: int,
        tokenizer: Tokenizer,
        frame: Frame,
        not_supported: tuple[int, ...],
        n_labels: int,
        session: ort.InferenceSession,
    ) -> None:
        self.name, self.revision, self.max_length = name, revision, max_length
        self.tokenizer, self._frame = tokenizer, frame
        self._not_supported, self._n_labels = list(not_supported), n_labels
        self._classifier = Classifier(session, name=name, max_length=max_length)

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Judge each word piece of an answer.

        Args:
            context: What the answer may rest on. If it does not fit beside question and answer,
                it is read in windows: one that supports a word is enough, so a word's probability
                is the minimum over windows. (The maximum would flag every fact that only one
                place states.)
            question: What was asked; ``None`` or blank if nothing was.
            answer: The text to judge. Without visible text the model is not called.

        Returns:
            A probability for every word piece, and where it stands in the answer.

        Raises:
            ModelError: If the graph does not answer as a token classifier of these classes.
            DetectionError: If it failed.
        """
        pieces = self.tokenizer.encode(answer, add_special_tokens=False)
        if not answer.strip() or not pieces.ids:
            return TokenScores(np.zeros((0, 2), np.int32), np.zeros(0, np.float32))
        context_ids = self._ids(context)
        asked, is_shortened = self._shorten(self._ids(question) if question else [])
        windows = plan_windows(len(context_ids), len(pieces.ids), room=self._room(len(asked)))
        probabilities = np.ones(len(pieces.ids), np.float32)
        for window in windows:
            (a, b), (c, d) = window.context, window.answer
            read = self._run(context_ids[a:b], asked, pieces.ids[c:d])
            # Not a number stays: a word that was not judged is not supported by another window.
            probabilities[c:d] = np.minimum(probabilities[c:d], read)
        offsets = np.array(pieces.offsets, np.int32).reshape(-1, 2)
        return TokenScores(offsets, probabilities, is_shortened)

    def count(self, text: str) -> int:
        """Word pieces of a text, without special tokens."""
        return len(self._ids(text))

    def context_room(self, question: str | None, answer: str) -> int:
        """Word pieces of context that fit in one pass with all of a question and an answer.

        Zero or less if these two alone fill it.
        """
        n_question = self.count(question) if question and question.strip() else 0
        return self._room(n_question) - self.count(answer)

    def _room(self, n_question: int) -> int:
        """Word pieces left for context and answer."""
        separators = len(self._frame.between) if n_question else 0
        return self.max_length - self._frame.size - separators - n_question

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _shorten(self, question: list[int]) -> tuple[list[int], bool]:
        limit = int(self.max_length * QUESTION_SHARE)
        if len(question) <= limit:
            return question, False
        head = limit // 2
        return question[:head] + question[len(question) - (limit - head) :], True

    def _run(
        self, context: Sequence[int], question: Sequence[int], answer: Sequence[int]
    ) -> NDArray[np.float32]:
        """P(not supported) of each answer piece, by one pass, shape ``(len(answer),)``."""
        ids, types, start = self._frame.join(context, question, answer)
        logits = self._classifier.logits(ids, types)
        if logits.shape != (1, len(ids), self._n_labels):
            raise ModelError(
                f"The graph of {self.name} returned shape {logits.shape} for {len(ids)} word "
                f"pieces, and a token classifier with {self._n_labels} classes returns "
                f"(1, {len(ids)}, {self._n_labels}). Check that id2label in its config.json "
                "belongs to this graph."
            )
        logits = logits[0, start : start + len(answer)]
        bad: NDArray[np.float32] = shares_of(logits)[:, self._not_supported].sum(axis=1)
        return bad.clip(max=1)


def _token_text(token: object) -> str | None:
    """Read a token of ``tokenizer_config.json``: a text, or an object with its content."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else None
