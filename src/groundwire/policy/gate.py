"""The gate: it decides from a prompt whether the answer has to be checked.

An answer that states facts, such as a date, can be checked against sources; a story or a piece of
code cannot. The gate reads only the prompt. It decides by the same rule as the Sentinel, the prompt
classifier of HaluGate; docs/gate.md reports the gate's quality. The Sentinel itself, or a similar
classifier, can be loaded instead of the embedded model, which is a part of this package.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from groundwire import errors
from groundwire.detection.example import require_text
from groundwire.detection.values import JsonRecord
from groundwire.engine import models
from groundwire.engine.embedder import Embedder, NeuralEmbedder
from groundwire.engine.models import Manifest
from groundwire.engine.prompt_classifier import PromptClassifier
from groundwire.engine.prompts import PromptHead, prompt_features
from groundwire.engine.settings import check_for_embedded, n_threads
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.prompt_excerpt import both_ends

#: HaluGate's threshold. A prompt needs a check if P(needs a check) is above 0.5 and at least this.
THRESHOLD = 0.6
#: Name of the file, in a model folder, with the weights of the head. The head is the part of the
#: model that classifies embeddings.
HEAD = "head.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult(JsonRecord):
    """The result of the gate for a prompt.

    Attributes:
        needs_fact_check: Whether the answer to the prompt has to be checked.
        confidence: P(this decision is right), in [0, 1]: ``probability`` if a check is needed, else
            ``1 - probability``. It can be below one half.
        probability: P(needs a check), in [0, 1]. It is calibrated, except for a loaded classifier.
    """

    needs_fact_check: bool
    confidence: float
    probability: float


def decide(probability: float, *, threshold: float) -> GateResult:
    """Turn a probability into a decision, as HaluGate's Sentinel does.

    A check is needed if ``probability`` is above 0.5, and at least ``threshold``.

    >>> decide(0.75, threshold=0.6)
    GateResult(needs_fact_check=True, confidence=0.75, probability=0.75)
    >>> decide(0.5625, threshold=0.6)
    GateResult(needs_fact_check=False, confidence=0.4375, probability=0.5625)

    Args:
        probability: P(needs a check), in [0, 1].
        threshold: Lowest probability at which a check may be needed, in (0, 1].
    """
    needed = probability > 0.5 and probability >= threshold
    return GateResult(
        needs_fact_check=needed,
        confidence=probability if needed else 1 - probability,
        probability=probability,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Decides whether answers to prompts have to be checked; safe to share between threads.

    Attributes:
        threshold: Lowest P(needs a check) at which :func:`decide` may ask for a check, in (0, 1].
        revision: Revision of the model that judges prompts: the gate in this package, a gate that
            ``groundwire train gate`` trained, or a loaded classifier.
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
        """Load the gate's model.

        >>> Gate.load().classify("When was Einstein born?").needs_fact_check
        True

        Args:
            model: ``None`` or ``"gate"`` for the embedded gate; or a folder that
                ``groundwire train gate`` wrote; or a Hugging Face classifier with the classes of
                HaluGate's Sentinel, by its folder or its hub id.
            threshold: Lowest P(needs a check) at which :func:`decide` may ask for a check, in
                (0, 1].
            revision: Commit of a hub model, 40 hexadecimal digits.
            device: ``cpu``, ``cuda`` or ``cuda:N``, for loaded classifiers.
            threads: CPU threads, at most 256; ``None``: one for each processor this process may
                use.

        Raises:
            SettingError: If a setting is outside its range, or not possible with the model.
            UnknownModelError: If ``model`` has a slash, but is neither a folder nor a hub id.
            UnpinnedModelError: If a hub model has no pinned revision.
            MissingExtraError: If a classifier has no ONNX graph or no ``tokenizer.json``, and the
                ``train`` extra is not installed.
            ModelError: If ``model`` leads to no gate and no classifier, or to one that cannot be
                used or was trained on another encoder.
            DetectionError: If a classifier fails on a short trial prompt.
        """
        # Written with `not`, so that NaN is refused as well.
        if not 0 < threshold <= 1:
            raise errors.SettingError("threshold", threshold, "above 0 and at most 1")
        n_threads(threads)  # raises an error if the number is not allowed
        manifest, encoder = _find(model), models.find_model(models.ENCODER)
        embedder = load_embedder(threads)
        if manifest is None:
            assert model is not None
            try:
                loaded = PromptClassifier(model, revision=revision, device=device, threads=threads)
            except errors.UnknownModelError as error:
                raise errors.UnknownModelError(str(model), (models.GATE,)) from error
            return cls(threshold, loaded.revision, embedder, loaded)
        check_for_embedded(revision=revision, device=device, max_length=None)
        models.verify(manifest)
        if manifest.raw.get("encoder") != encoder.revision:
            raise errors.ModelError(
                f"{manifest.folder} was trained on revision {manifest.raw.get('encoder')!r} of the "
                f"encoder, and the installed revision is {encoder.revision!r}. Train it again: "
                "groundwire train gate."
            )
        try:
            head = PromptHead.read(manifest.folder / HEAD)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise errors.ModelError(
                f"{manifest.folder / HEAD} cannot be read: {error}. Train it again: "
                "groundwire train gate."
            ) from error
        return cls(threshold, manifest.revision, embedder, head)

    def classify(self, prompt: str) -> GateResult:
        """Decide whether the answer to a prompt, the user's text without sources, needs a check.

        A blank prompt needs no check, with confidence 1. Of a prompt of more than 4,000
        characters, the first and last 2,000 are read. Callers should check the answer if an error
        is raised.

        Raises:
            InvalidTextError: If the prompt is not a ``str``, or not valid text.
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
            raise errors.GateError(len(prompt), f"{type(error).__name__}: {error}") from error
        if not math.isfinite(logit):
            raise errors.GateError(len(prompt), "the model's output is not a number")
        return decide(_sigmoid(logit), threshold=self.threshold)

    def embed(self, prompts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embedding of each text as a row, for signals that compare embeddings."""
        return self._embedder.embed(prompts)


def load_embedder(threads: int | None) -> NeuralEmbedder:
    """Load the embedded encoder of prompts.

    ``threads`` is the number of CPU threads; ``None``: one for each processor this process may use.

    Raises:
        ModelError: If a model is missing, damaged or cannot be opened.
    """
    encoder, tables = models.find_model(models.ENCODER), models.find_model(models.DEFAULT_MODEL)
    for needed in (encoder, tables):
        models.verify(needed)
    pieces = WordPieces(tables.folder / "tokenizer.json")
    return NeuralEmbedder.load(encoder, pieces, threads=n_threads(threads))


def _find(model: str | Path | None) -> Manifest | None:
    """Return the manifest of a gate's folder; ``None`` for a Hugging Face classifier.

    Raises:
        ModelError: If there is no gate and no classifier, or if the model is of another kind.
    """
    if model is None or str(model) == models.GATE:
        return models.find_model(models.GATE)
    folder = Path(model)
    if not (folder / models.MANIFEST_NAME).is_file():
        if (folder / "config.json").is_file() or (not folder.is_dir() and "/" in str(model)):
            return None
        raise errors.ModelError(
            f"{folder} has no {models.MANIFEST_NAME}. Name a folder that groundwire train gate "
            "wrote, or the folder or hub id of a sequence classifier; or name no model, to use the "
            "embedded gate."
        )
    manifest = Manifest.read(folder)
    if manifest.kind != "gate":
        raise errors.ModelError(f"{folder} has a model of kind {manifest.kind!r}, not a gate.")
    return manifest


def _sigmoid(value: float) -> float:
    small = math.exp(-abs(value))
    return 1 / (1 + small) if value >= 0 else small / (1 + small)
