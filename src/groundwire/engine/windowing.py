"""Published token classifiers, which read context, question and answer in one sequence.

The models of LettuceDetect, HaluGate and Director-AI are examples. Contexts and answers that do not
fit into one pass of the model are read in windows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundwire.engine.classifier import Classifier, shares_of
from groundwire.engine.scores import TokenScores
from groundwire.errors import ModelError

#: Number of word pieces by which neighbouring windows usually overlap; small windows overlap less.
OVERLAP = 64
#: Lowest share of a window that is kept for the context, unless the whole context needs less. An
#: answer that does not fit into the rest of a window is cut into several windows.
CONTEXT_SHARE = 1 / 3
#: Limit on the question, as a share of a pass; of a longer question, the middle is left out.
QUESTION_SHARE = 1 / 4

# Match names of classes that mean "supported", and names that mean "not supported". Before they are
# matched, names are put in lower case, and only their letters and digits are kept.
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
    """Input of one pass: half-open ranges of the context's and the answer's word pieces."""

    context: tuple[int, int]
    answer: tuple[int, int]


def plan_windows(n_context: int, n_answer: int, *, room: int) -> tuple[Window, ...]:
    """Plan windows in which each part of the answer is read with each part of the context.

    The answer is kept whole if it leaves :data:`CONTEXT_SHARE` of the room to the context, or all
    of the context fits beside it.

    Args:
        n_context: Number of word pieces of the context; with 0, the answer is read alone.
        n_answer: Number of word pieces of the answer, at least 1.
        room: Number of word pieces of context and answer that fit in one pass, at least 2.

    Returns:
        Windows in the order of the answer, then of the context.
    """
    context_room = min(n_context, max(room - n_answer, int(room * CONTEXT_SHARE), 1))
    return tuple(
        Window(context, answer)
        for answer in _cuts(n_answer, room - context_room)
        for context in _cuts(n_context, context_room)
    )


def _cuts(n: int, size: int) -> list[tuple[int, int]]:
    """Cover ``n`` items with ranges of ``size``, or with one range if ``n`` is at most ``size``.

    Neighbouring ranges overlap by :data:`OVERLAP` items, or by a quarter of ``size`` if that is
    less. The last range ends at ``n``, and may overlap more.
    """
    if n <= size:
        return [(0, n)]
    step = size - min(OVERLAP, size // 4)
    return [(start, start + size) for start in (*range(0, n - size, step), n - size)]


def not_supported_labels(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Find the classes of a token classifier that mean that a word is not supported.

    These are all classes except those with a name such as ``supported``, ``entailment`` or ``O``.
    If a model has two classes and neither has such a name, the result is the class with a name such
    as ``hallucinated``, or the second class if both names say nothing (``LABEL_0``, ``LABEL_1``).

    Args:
        config: The data of a model's ``config.json``, with the names in ``id2label``.

    Returns:
        The indices of these classes, ascending; P(not supported) is the sum of their probabilities.

    Raises:
        ModelError: If the names do not say which classes these are.
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


class TokenClassifier:
    """A token classifier that reads context, question and answer in one sequence.

    Made by :func:`groundwire.engine.checkpoints.load_checkpoint`. It keeps no state between
    calls, so threads may share it.

    Attributes:
        name: Hub id or folder.
        revision: Commit of a hub model, or hash of a folder's files.
        max_length: Limit on the word pieces of one pass, special tokens included.
        tokenizer: The tokenizer; it reads special tokens written in a text as plain text.
    """

    def __init__(self, classifier: Classifier) -> None:
        self.name, self.revision = classifier.name, classifier.revision
        self.max_length, self.tokenizer = classifier.max_length, classifier.tokenizer
        self._classifier, self._frame = classifier, classifier.frame

    def read(self, context: str, question: str | None, answer: str) -> TokenScores:
        """Score each word piece of an answer.

        Args:
            context: All sources as one text. If it is read in windows, a word's probability is the
                minimum over the windows. (The maximum would flag every fact that only one window
                states.)
            question: The user's question; ``None`` or empty if there is none.
            answer: The text to score; for a blank text, the result is empty.

        Returns:
            The probability and the character range of every word piece.

        Raises:
            ModelError: If the graph does not have the classes of the configuration.
            DetectionError: If the model failed.
        """
        pieces = self.tokenizer.encode(answer, add_special_tokens=False)
        if not answer.strip() or not pieces.ids:
            return TokenScores(np.zeros((0, 2), np.int32), np.zeros(0, np.float32))
        context_ids = self._classifier.ids(context)
        asked, is_shortened = self._shorten(self._classifier.ids(question) if question else [])
        windows = plan_windows(len(context_ids), len(pieces.ids), room=self._room(len(asked)))
        probabilities = np.ones(len(pieces.ids), np.float32)
        for window in windows:
            (a, b), (c, d) = window.context, window.answer
            read = self._run(context_ids[a:b], asked, pieces.ids[c:d])
            # np.minimum keeps NaN: a word that one window could not judge has no probability.
            probabilities[c:d] = np.minimum(probabilities[c:d], read)
        offsets = np.array(pieces.offsets, np.int32).reshape(-1, 2)
        return TokenScores(offsets, probabilities, is_shortened)

    def count(self, text: str) -> int:
        """Count the word pieces of a text, without special tokens."""
        return len(self._classifier.ids(text))

    def context_room(self, question: str | None, answer: str) -> int:
        """Return how many word pieces of context fit in one pass beside question and answer.

        Question and answer are not shortened for this. The number is zero or negative if they fill
        the pass.
        """
        n_question = self.count(question) if question and question.strip() else 0
        return self._room(n_question) - self.count(answer)

    def _room(self, n_question: int) -> int:
        """Return how many word pieces of context and answer fit in one pass beside a question."""
        separators = len(self._frame.between) if n_question else 0
        return self.max_length - self._frame.size - separators - n_question

    def _shorten(self, question: list[int]) -> tuple[list[int], bool]:
        limit = int(self.max_length * QUESTION_SHARE)
        if len(question) <= limit:
            return question, False
        head = limit // 2
        return question[:head] + question[len(question) - (limit - head) :], True

    def _run(
        self, context: Sequence[int], question: Sequence[int], answer: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return P(not supported) of each answer piece in one pass, shape ``(len(answer),)``."""
        ids, types, start = self._frame.join(context, question, answer)
        logits, n_labels = self._classifier.logits(ids, types), self._classifier.n_labels
        if logits.shape != (1, len(ids), n_labels):
            raise ModelError(
                f"The graph of {self.name} returned shape {logits.shape} for {len(ids)} word "
                f"pieces, and a token classifier with {n_labels} classes returns "
                f"(1, {len(ids)}, {n_labels}). Check that id2label in its config.json "
                "belongs to this graph."
            )
        logits = logits[0, start : start + len(answer)]
        not_supported = list(self._classifier.labels)
        bad: NDArray[np.float32] = shares_of(logits)[:, not_supported].sum(axis=1)
        return bad.clip(max=1)
