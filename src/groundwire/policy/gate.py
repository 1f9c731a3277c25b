"""The gate: does a prompt call for an answer that has to be checked?

A story or a piece of code has nothing to hold against sources; a date has. The gate reads the
prompt alone. Its rule is that of HaluGate's Sentinel; docs/gate.md says how good it is. The
Sentinel itself, or a classifier like it, can be loaded in its place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.example import require_text
from groundwire.engine.embedder import Embedder, NeuralEmbedder
from groundwire.engine.models import (
    DEFAULT_MODEL,
    ENCODER,
    GATE,
    MANIFEST_NAME,
    Manifest,
    find_model,
    verify,
)
from groundwire.engine.prompt_classifier import PromptClassifier
from groundwire.engine.prompts import PromptHead, prompt_features
from groundwire.engine.reader import n_threads
from groundwire.engine.settings import MAX_THREADS, check_for_embedded, require_whole
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import (
    GateError,
    InvalidTextError,
    ModelError,
    SettingError,
    UnknownModelError,
)
from groundwire.text.prompt_excerpt import both_ends

#: HaluGate's. At or above it, a prompt that more likely needs a check than not gets one.
THRESHOLD = 0.6
HEAD = "head.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The result of the gate for a prompt.

    Attributes:
        needs_fact_check: Whether an answer to it has to be checked.
        confidence: P(this decision is right), in [0, 1]: the probability if a check is needed,
            else one minus it. So it may lie below the threshold, and below one half.
        probability: P(needs a check), in [0, 1]: 1 calls for one. Calibrated, but for that of a
            loaded classifier.
    """

    needs_fact_check: bool
    confidence: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "needs_fact_check": self.needs_fact_check,
            "confidence": self.confidence,
            "probability": self.probability,
        }


def decide(probability: float, *, threshold: float) -> GateResult:
    """Turn a probability into a decision, as HaluGate's Sentinel does.

    The likelier label wins; if it is *needed* with less than the threshold, it becomes *not
    needed*, with the confidence that is left: 1 - c.

    >>> decide(0.75, threshold=0.6)
    GateResult(needs_fact_check=True, confidence=0.75, probability=0.75)
    >>> decide(0.5625, threshold=0.6)
    GateResult(needs_fact_check=False, confidence=0.4375, probability=0.5625)

    Args:
        probability: P(needs a check), in [0, 1].
        threshold: In (0, 1]. One below 0.5 decides as 0.5 does, for the likelier label wins.
    """
    needed = probability > 0.5 and probability >= threshold
    return GateResult(
        needs_fact_check=needed,
        confidence=probability if needed else 1 - probability,
        probability=probability,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Tells prompts that call for a check from others; safe to share between threads.

    Attributes:
        threshold: See :func:`decide`.
        revision: What pins the weights of the head, or of a loaded classifier.
    """

    threshold: float
    revision: str
    _embedder: Embedder
    _head: PromptHead | PromptClassifier

    @classmethod
    def load(
        cls,
        model: str | Path | None = None,
        *,
        threshold: float = THRESHOLD,
        revision: str | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> Self:
        """Open the gate.

        >>> Gate.load().classify("When was Einstein born?").needs_fact_check
        True

        Args:
            model: ``None`` or ``"gate"`` is the embedded one; else a folder that
                ``groundwire train gate`` wrote, or a Hugging Face classifier with the classes of
                HaluGate's Sentinel: its folder, or its id on the hub.
            threshold: In (0, 1].
            revision: Commit of a hub model, 40 hexadecimal digits.
            device: ``cpu`` or ``cuda:N``, for loaded classifiers.
            threads: CPU threads, at most 256; by default one for each processor this process may
                use.

        Raises:
            SettingError: If a setting is outside its range.
            UnknownModelError: If there is no such model.
            UnpinnedModelError: If a hub model has no pinned revision.
            MissingExtraError: If it has no ONNX graph and the ``train`` extra is not installed.
            ModelError: If the model cannot be used, or belongs to another encoder.
        """
        # `not` lets NaN fail as well.
        if not 0 < threshold <= 1:
            raise SettingError("threshold", threshold, "above 0 and at most 1")
        if threads is not None:
            require_whole("threads", threads, 1, MAX_THREADS, otherwise=", or None")
        manifest, encoder = _find(model), find_model(ENCODER)
        tables = find_model(DEFAULT_MODEL)
        for needed in (encoder, tables):
            verify(needed)
        pieces = WordPieces(tables.folder / "tokenizer.json")
        embedder = NeuralEmbedder.load(encoder, pieces, threads=n_threads(threads))
        if manifest is None:
            assert model is not None
            try:
                loaded = PromptClassifier(model, revision=revision, device=device, threads=threads)
            except UnknownModelError as error:
                raise UnknownModelError(str(model), (GATE,)) from error
            return cls(threshold, loaded.revision, embedder, loaded)
        check_for_embedded(revision=revision, device=device, max_length=None)
        verify(manifest)
        if manifest.raw.get("encoder") != encoder.revision:
            raise ModelError(
                f"{manifest.folder} was trained on encoder {manifest.raw.get('encoder')!r} and "
                f"this is {encoder.revision!r}. Train it again: groundwire train gate."
            )
        try:
            head = PromptHead.read(manifest.folder / HEAD)
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(
                f"{manifest.folder / HEAD} cannot be read: {error}. Train it again: "
                "groundwire train gate."
            ) from error
        return cls(threshold, manifest.revision, embedder, head)

    def classify(self, prompt: str) -> GateResult:
        """Decide about one prompt: what the user wrote, without sources.

        A prompt of white space needs no check, with confidence 1. Of more than 4,000 characters the
        first and last 2,000 are read. Who calls it lets an error mean: check, as
        :func:`needs_check` does.

        Raises:
            InvalidTextError: If it is no ``str``, or not valid text.
            GateError: If the model failed.
        """
        require_text(prompt, "prompt")
        if not prompt.strip():
            return decide(0.0, threshold=self.threshold)
        prompt = both_ends(prompt)
        try:
            if isinstance(self._head, PromptClassifier):
                return decide(self._head.probability(prompt), threshold=self.threshold)
            (embedding,) = self._embedder.embed([prompt])
            logit = self._head.logit(embedding, prompt_features(prompt))
        except Exception as error:
            raise GateError(len(prompt), f"{type(error).__name__}: {error}") from error
        if not math.isfinite(logit):
            raise GateError(len(prompt), "the model gave no number")
        return decide(_sigmoid(logit), threshold=self.threshold)

    def embed(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors by the gate's encoder, one row each: for signals, which need the same model."""
        return self._embedder.embed(prompts)


def needs_check(gate: Gate, prompt: str) -> bool:
    """Whether to check the answer to a prompt; a gate that fails means: check."""
    try:
        return gate.classify(prompt).needs_fact_check
    except (GateError, InvalidTextError):
        return True


def _find(model: str | Path | None) -> Manifest | None:
    """The manifest of a head; ``None`` for a classifier of a folder or the hub."""
    if model is None or str(model) == GATE:
        return find_model(GATE)
    folder = Path(model)
    if not (folder / MANIFEST_NAME).is_file():
        if (folder / "config.json").is_file() or (not folder.is_dir() and "/" in str(model)):
            return None
        raise ModelError(
            f"{folder} has no {MANIFEST_NAME}. Name a folder that groundwire train gate wrote, "
            "that of a sequence classifier, or the id of one on the hub; or leave the model out "
            "for the embedded gate."
        )
    manifest = Manifest.read(folder)
    if manifest.kind != "gate":
        raise ModelError(f"{folder} holds a model of kind {manifest.kind!r}, not a gate.")
    return manifest


def _sigmoid(value: float) -> float:
    small = math.exp(-abs(value))
    return 1 / (1 + small) if value >= 0 else small / (1 + small)
