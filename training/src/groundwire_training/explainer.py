"""Trains the explainer: fine-tunes a Hugging Face encoder into an NLI model of claims and evidence.

Without a base encoder no weights are trained. Instead, the probabilities of the embedded reader's
sentence head are calibrated on the given claims; ``groundwire train reader`` trains that head.
"""

import random
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig

from groundwire.detection.evidence import Query
from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Label
from groundwire.engine.architecture import Architecture
from groundwire.engine.checkpoints import pinned_revision
from groundwire.engine.entailment import entailment_labels
from groundwire.engine.models import MANIFEST_NAME, Manifest, find_model
from groundwire.engine.reader import Reader
from groundwire.engine.scores import SentenceCalibration
from groundwire.engine.windowing import plan_windows
from groundwire.errors import InputError, ModelError
from groundwire.evaluation.metrics import f1_of
from groundwire.explain.nearby import SourceLines
from groundwire_training import sentences
from groundwire_training.encoder import MODEL, frame_of, nearest, open_tokenizer
from groundwire_training.package import write_manifest
from groundwire_training.pairs import LABELS, Pair, read_pairs, split_pairs
from groundwire_training.recipe import EncoderRecipe, Lora, begin_run
from groundwire_training.report import Report
from groundwire_training.sequences import (
    Lesson,
    Lessons,
    accuracy,
    balanced_weights,
    fine_tune,
    last_checkpoint,
    load_classifier,
)

_FOLDS = 5
_CACHE_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainerRun:
    """Settings of a run that trains the explainer.

    Attributes:
        base: A folder that ``save_pretrained`` wrote, or the id of a hub model; ``None`` for the
            embedded reader, of which only the calibration is fitted.
        revision: Commit of a hub model, 40 hexadecimal digits.
        data: A file of claims with evidence and labels, or a folder of such files.
        out: Folder for recipe, checkpoints, and the model folder ``model``.
        recipe: The numbers of the training.
        lora: Settings of adapters in all linear layers; ``None`` trains all weights.
        device: ``cpu`` or ``cuda``.
        threads: CPU threads; ``None`` leaves the number to PyTorch.
        checkpoint_every: Steps between two checkpoints.
        resume: Whether to continue from the last checkpoint, if there is one.
    """

    base: str | None
    revision: str | None = None
    data: Path
    out: Path
    recipe: EncoderRecipe
    lora: Lora | None = None
    device: str = "cpu"
    threads: int | None = None
    checkpoint_every: int = 500
    resume: bool = False


def train_explainer(run: ExplainerRun, report: Report) -> Path:
    """Fine-tune an encoder, and save it as an NLI model for the engine.

    If the base is an NLI model already, its classifier and the order of its classes are kept.

    Returns:
        The model folder, ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` has another run.
        UnpinnedModelError: If a hub model is given without its commit.
        ModelError: If transformers cannot load the base as an encoder.
    """
    if run.base is None:
        return fit_embedded(run.data, run.out, report, threads=run.threads)
    last = last_checkpoint(run.out)
    numbers = {
        **asdict(run.recipe),
        "base": run.base,
        "revision": run.revision,
        "lora": run.lora and asdict(run.lora),
    }
    begin_run(run.out, numbers, is_begun=last is not None, resume=run.resume)
    if run.threads:
        torch.set_num_threads(run.threads)
    torch.manual_seed(run.recipe.seed)
    parts = split_pairs(run.data, read_pairs(run.data))
    labels = _labels(run.base, run.revision)
    model, tokenizer = load_classifier(run.base, run.revision, labels)
    longest = _longest(model, tokenizer, run.recipe.max_length)
    tokenizer.model_max_length = longest
    validation, known = (_lessons(part, tokenizer, labels, longest) for part in parts)
    report.say(f"{len(known):,} claims to train with, {len(validation):,} to measure with.")
    found = fine_tune(
        model,
        tokenizer,
        Lessons(known=known, validation=validation, weights=balanced_weights(known, len(LABELS))),
        recipe=run.recipe,
        lora=run.lora,
        out=run.out,
        device=run.device,
        checkpoint_every=run.checkpoint_every,
        last=last,
        report=report,
        scores=scores_of,
    )
    report.say(
        f"held out: accuracy {found['accuracy']:.4f}, mean F1 of the classes "
        f"{found['macro_f1']:.4f}, n {len(validation)}"
    )
    return run.out / MODEL


def scores_of(prediction: Any) -> dict[str, float]:  # noqa: ANN401  # transformers' own
    """Return the accuracy, and the mean F1 of the classes in the predictions or labels."""
    found, wanted = np.asarray(prediction.predictions).argmax(1), prediction.label_ids
    sums = np.array(
        [
            [((found == k) & (wanted == k)).sum(), (found == k).sum(), (wanted == k).sum()]
            for k in range(len(LABELS))
        ]
    )
    return {**accuracy(prediction), "macro_f1": float(np.nanmean(f1_of(sums)))}


def _labels(base: str, revision: str | None) -> tuple[str, ...]:
    """Return the names of the classes, in the order of the base's classifier if it is an NLI model.

    In another order, the outputs of that classifier would get wrong names.
    """
    where: dict[str, Any] = {"trust_remote_code": False}
    if not Path(base).is_dir():
        where["revision"] = pinned_revision(base, revision)
    try:
        config = AutoConfig.from_pretrained(base, **where).to_dict()
        order = entailment_labels(config)
    except (OSError, ValueError, ModelError):
        # Not an NLI model, or a base that cannot be loaded, which fails later with a message.
        return LABELS
    names = sorted(zip(order, LABELS, strict=True))
    return tuple(name for _, name in names)


def _longest(model: Any, tokenizer: Any, asked: int) -> int:  # noqa: ANN401  # transformers' own
    positions = getattr(model.config, "max_position_embeddings", None)
    limits = [asked, tokenizer.model_max_length]
    return int(min([*limits, positions] if positions else limits))


def _lessons(
    pairs: Sequence[Pair],
    tokenizer: Any,  # noqa: ANN401  # transformers' own
    labels: Sequence[str],
    longest: int,
) -> list[Lesson]:
    """Make training sequences from claims and evidence, in the form that the deployed model reads.

    If the evidence needs several windows, only the one that shares most word pieces with the claim
    is used.
    """
    opened, frame = open_tokenizer(tokenizer), frame_of(tokenizer)
    names = set(tokenizer.model_input_names)
    lessons = []
    for pair in pairs:
        evidence, claim = (
            opened.encode(text, add_special_tokens=False).ids
            for text in (pair.evidence, pair.claim)
        )
        windows = plan_windows(len(evidence), len(claim), room=longest - frame.size)
        for window in nearest(windows, evidence, claim):
            ids, types, _ = frame.join(
                evidence[slice(*window.context)], (), claim[slice(*window.answer)]
            )
            lesson = {
                "input_ids": ids,
                "attention_mask": [1] * len(ids),
                "token_type_ids": types,
            }
            lessons.append(
                {
                    **{name: lesson[name] for name in lesson if name in names},
                    "labels": labels.index(LABELS[pair.label]),
                }
            )
    return lessons


def fit_embedded(data: Path, out: Path, report: Report, *, threads: int | None = None) -> Path:
    """Calibrate the embedded reader's sentence head, without changing its weights.

    Args:
        data: Claims with evidence and labels.
        out: Folder to write ``model`` into: a reader with the new calibration in its manifest.
        report: Receives scores of the calibration, cross-fitted by evidence.
        threads: CPU threads.

    Raises:
        InputError: If the data cannot be used, or ``out`` has a model already.
    """
    folder = out / MODEL
    if (folder / MANIFEST_NAME).exists():
        raise InputError(f"{folder} exists already. Name another --out.")
    manifest = find_model()
    reader = sentences.without_calibration(
        Reader.load_alone(manifest, threads=threads, cache_bytes=_CACHE_BYTES)
    )
    pairs = read_pairs(data)
    read = [(pair, _by_lines(reader, pair)) for pair in pairs]
    known = [(pair, logits) for pair, logits in read if logits is not None]
    if len({pair.label > 0 for pair, _ in known}) < 2:
        raise InputError(
            f"{data} has {len(pairs)} claims, and of those that the model can read, all or none "
            "are entailed. Both kinds are needed: add claims of the other kind."
        )
    fold_of = _folds([pair.evidence for pair, _ in known])
    judged = []
    for fold in range(_FOLDS):
        rest = [found for found in known if fold_of[found[0].evidence] != fold]
        fitted = _fit(rest) if len({pair.label > 0 for pair, _ in rest}) == 2 else None
        judged += [
            (logits, pair.label, fitted) for pair, logits in known if fold_of[pair.evidence] == fold
        ]
    worth = sentences.measure(judged)
    report.say(
        f"{worth['n']:,} claims, cross-fitted: cross entropy {worth['cross_entropy']:.3f}, without "
        f"the map {worth['cross_entropy_uncalibrated']:.3f}; AUROC of entailment "
        f"{worth['supported_auroc']:.3f}"
    )
    shutil.copytree(manifest.folder, folder)
    write_lines_calibration(folder, _fit(known))
    return folder


def write_lines_calibration(folder: Path, fitted: SentenceCalibration) -> None:
    """Write the calibration for claims read with a few lines into a folder's manifest."""
    manifest = Manifest.read(folder)
    write_manifest(
        folder,
        sizes=Architecture.from_manifest(manifest.raw),
        version=manifest.version,
        operating_points=manifest.operating_points,
        calibration=manifest.calibration,
        answer_calibration=manifest.raw.get("answer_calibration"),
        sentence_calibration=manifest.raw.get("sentence_calibration"),
        lines_calibration=asdict(fitted),
    )


def _fit(known: Sequence[tuple[Pair, Any]]) -> SentenceCalibration:
    return sentences.fit(
        np.array([logits for _, logits in known]),
        np.array([pair.label for pair, _ in known], np.int64),
    )


def _folds(contexts: Sequence[str]) -> dict[str, int]:
    distinct = sorted(set(contexts))
    random.Random(0).shuffle(distinct)
    return {context: i % _FOLDS for i, context in enumerate(distinct)}


def _by_lines(reader: Reader, pair: Pair) -> Any:  # noqa: ANN401  # an array, or None
    """Compute the log-probabilities of a claim, read with the lines that the explainer chooses.

    ``None`` if the model cannot read the claim or the lines.
    """
    source = Source(id="S0", text=pair.evidence)
    evidence = reader.open([source], None, threshold=1.0, tenant="").evidence
    query = Query.of(reader.pieces.encode(pair.claim).ids)
    found = evidence.references(query, evidence.select(query).first)
    claim = Claim(
        start=0,
        end=len(pair.claim),
        text=pair.claim,
        label=Label.SUPPORTED,
        probability=None,
        evidence=found,
    )
    return sentences.by_lines(reader, SourceLines([source]), claim)
