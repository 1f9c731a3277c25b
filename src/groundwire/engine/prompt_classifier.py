"""Gates that are sequence classifiers: they decide whether the answer to a prompt needs a check.

An example is Sentinel, the gate of HaluGate. ``groundwire train gate --base`` trains gates of this
kind.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from groundwire.engine.checkpoints import CheckpointOptions, Task, open_checkpoint
from groundwire.engine.classifier import shares_of
from groundwire.errors import DetectionError, ModelError

_NEEDED = re.compile("(needs)?factcheck(needed)?")
_NOT_NEEDED = re.compile("(needs)?nofactcheck(needed)?")


def needed_label(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Find the class of prompts that need a check, by the names of the classes in ``id2label``.

    Only the letters A to Z of a name count, in upper or lower case.

    Args:
        config: The data of a model's ``config.json``.

    Returns:
        The index of that class, as a tuple of length 1.

    Raises:
        ModelError: If there are not two classes, or their names do not say which is which.
    """
    labels = {int(index): str(name) for index, name in (config.get("id2label") or {}).items()}
    plain = {index: re.sub(r"[^a-z]", "", name.lower()) for index, name in labels.items()}
    needed = [index for index, name in plain.items() if _NEEDED.fullmatch(name)]
    others = [index for index, name in plain.items() if _NOT_NEEDED.fullmatch(name)]
    if (len(labels), len(needed), len(others)) != (2, 1, 1):
        raise ModelError(
            f"The classes {[labels[index] for index in sorted(labels)]} do not say which of them "
            "calls for a check. Name the two in the model's config.json, in its own order: "
            '"id2label": {"0": "NO_FACT_CHECK_NEEDED", "1": "FACT_CHECK_NEEDED"}.'
        )
    return tuple(needed)


PROMPTS = Task(why="it judges a prompt as a whole", labels=needed_label, suffix="-gate")


class PromptClassifier:
    """A Hugging Face classifier of prompts; it keeps no state, so threads may share it.

    Attributes:
        name: Hub id or folder.
        revision: Commit of a hub model, or hash of a folder's files.
    """

    def __init__(self, model: str | Path, **options: Unpack[CheckpointOptions]) -> None:
        """Load a sequence classifier; arguments are as in :func:`.load_checkpoint`.

        The errors are the same too. ModelError is also raised if the model is not a sequence
        classifier, or its classes are not those of a gate.
        """
        self._classifier = opened = open_checkpoint(model, PROMPTS, **options)
        self.name, self.revision, self._frame = opened.name, opened.revision, opened.frame
        self._room = opened.max_length - len(self._frame.before) - len(self._frame.after)
        (self._needed,) = opened.labels
        self.probability("a")  # a graph that does not fit its configuration fails here

    def probability(self, prompt: str) -> float:
        """Return P(the answer to a prompt needs a check), in [0, 1].

        A prompt that is too long for one pass is read in windows; the highest probability counts.

        Raises:
            DetectionError: If the model failed, or its output is not a number.
            ModelError: If the graph does not return two logits.
        """
        return max(map(self._read, self._windows(prompt)))

    def _windows(self, prompt: str) -> Iterator[list[int]]:
        ids = self._classifier.ids(prompt)
        for start in range(0, max(1, len(ids)), self._room):
            yield ids[start : start + self._room]

    def _read(self, window: Sequence[int]) -> float:
        ids = [*self._frame.before, *window, *self._frame.after]
        logits = self._classifier.class_logits(ids, [0] * len(ids), kind="a gate", n=2)
        share = float(shares_of(logits)[0, self._needed])
        if not np.isfinite(share):
            raise DetectionError(f"The output of {self.name} is not a number.")
        return share
