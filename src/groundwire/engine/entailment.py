"""Published models for natural language inference (NLI).

An NLI model decides whether a premise entails or contradicts a hypothesis. The premise is the
evidence, the hypothesis a claim. Texts that do not fit into one pass are read in windows.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.engine.checkpoints import CheckpointOptions, Task, open_checkpoint
from groundwire.engine.classifier import shares_of
from groundwire.engine.windowing import plan_windows
from groundwire.errors import DetectionError, ModelError, UnreadableError

# Patterns of the names of the three classes, in the order of the result of entailment_labels.
_NAMES = (
    re.compile("entail(s|ed|ment)?"),
    re.compile("neutral"),
    re.compile("contradict(s|ed|ion|ory)?"),
)


def entailment_labels(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Find the classes of an NLI model by their names in ``id2label``.

    Only the letters and digits of a name count, in upper or lower case.

    Args:
        config: The data of a model's ``config.json``.

    Returns:
        The indices of entailment, neutral and contradiction.

    Raises:
        ModelError: If there are not three classes, or their names do not say which is which.
    """
    labels = {int(index): str(name) for index, name in (config.get("id2label") or {}).items()}
    plain = {index: re.sub(r"[^a-z0-9]", "", name.lower()) for index, name in labels.items()}
    found = [
        [index for index, name in plain.items() if pattern.fullmatch(name)] for pattern in _NAMES
    ]
    if len(labels) != 3 or any(len(indices) != 1 for indices in found):
        raise ModelError(
            f"The classes {[labels[index] for index in sorted(labels)]} do not say which of them "
            "is entailment, which neutral and which contradiction, and the order differs from "
            'model to model. Name the three in the model\'s config.json: "id2label": '
            '{"0": "entailment", "1": "neutral", "2": "contradiction"}, in its own order.'
        )
    return tuple(index for (index,) in found)


NLI = Task(why="it judges a hypothesis as a whole", labels=entailment_labels, suffix="-nli")


class EntailmentModel:
    """A Hugging Face NLI checkpoint; it keeps no state between calls, so threads may share it.

    Attributes:
        name: Hub id or folder.
        revision: Commit of a hub model, or hash of a folder's files.
        max_length: Limit on the word pieces of one pass, special tokens included.
    """

    def __init__(self, model: str | Path, **options: Unpack[CheckpointOptions]) -> None:
        """Load an NLI checkpoint; arguments and errors are as in :func:`.load_checkpoint`."""
        self._classifier = opened = open_checkpoint(model, NLI, **options)
        self.name, self.revision, self.max_length = opened.name, opened.revision, opened.max_length
        self.judge("a", "a")  # a trial: a graph that does not fit its configuration fails here

    def __call__(self, hypothesis: str, evidence: Sequence[EvidenceRef]) -> Entailment:
        """Judge a claim; the lines of evidence are joined into one premise."""
        return self.judge("\n".join(line.text for line in evidence), hypothesis)

    def judge(self, premise: str, hypothesis: str) -> Entailment:
        """Judge a hypothesis by a premise.

        Of several windows of the premise, the one with the highest P(entailment) counts: the
        evidence need only be in one place. Of several windows of the hypothesis, the one with the
        lowest P(entailment) counts: all of the hypothesis must be entailed.

        Raises:
            UnreadableError: If the hypothesis has no word pieces.
            DetectionError: If the model failed, or its output is not a number.
            ModelError: If the graph does not return three logits.
        """
        premise_ids, claim_ids = self._classifier.ids(premise), self._classifier.ids(hypothesis)
        if not claim_ids:
            raise UnreadableError
        best: dict[tuple[int, int], Entailment] = {}
        room = self.max_length - self._classifier.frame.size
        for window in plan_windows(len(premise_ids), len(claim_ids), room=room):
            found = self._read(
                premise_ids[slice(*window.context)], claim_ids[slice(*window.answer)]
            )
            known = best.setdefault(window.answer, found)
            if found.entailment > known.entailment:
                best[window.answer] = found
        return min(best.values(), key=lambda found: found.entailment)

    def _read(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Entailment:
        ids, types, _ = self._classifier.frame.join(premise, (), hypothesis)
        logits = self._classifier.class_logits(ids, types, kind="an NLI model", n=3)
        shares = shares_of(logits.astype(np.float64))[0, list(self._classifier.labels)].tolist()
        if not np.isfinite(shares).all():
            raise DetectionError("The model's output is not a number.")
        return Entailment(entailment=shares[0], neutral=shares[1], contradiction=shares[2])
