"""Fine-tunes a Hugging Face encoder into a sequence classifier with named classes.

A gate and an explainer can be such classifiers. The training loop is that of ``encoder.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
)
from transformers.trainer_utils import get_last_checkpoint

from groundwire.engine.checkpoints import pinned_revision
from groundwire.errors import ModelError
from groundwire_training.encoder import (
    CHECKPOINTS,
    MODEL,
    ReportCallback,
    trainer_arguments,
    with_adapters,
)
from groundwire_training.recipe import EncoderRecipe, Lora
from groundwire_training.report import Report

#: A training sequence: a value for each input of the model, by name, and the class as ``labels``.
Lesson = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """Sequences to train and to measure with.

    Attributes:
        known: Sequences to train with.
        validation: Sequences to measure with.
        weights: Weight of each class in the loss.
    """

    known: Sequence[Lesson]
    validation: Sequence[Lesson]
    weights: Sequence[float]


def last_checkpoint(out: Path) -> str | None:
    """Return the path of the last checkpoint of the run in a folder; ``None`` if there is none."""
    checkpoints = out / CHECKPOINTS
    if not checkpoints.is_dir():
        return None
    last: str | None = get_last_checkpoint(str(checkpoints))  # type: ignore[no-untyped-call]
    return last


def load_classifier(base: str, revision: str | None, labels: Sequence[str]) -> tuple[Any, Any]:
    """Load an encoder with a classifier, and its tokenizer.

    If the base has a classifier with this number of classes, it is kept, so ``labels`` must be in
    its order. Any other classifier is replaced by a new one.

    Args:
        base: A folder that ``save_pretrained`` wrote, or the id of a hub model.
        revision: Commit of a hub model, 40 hexadecimal digits.
        labels: Names of the classes.

    Raises:
        UnpinnedModelError: If a hub model is given without its commit.
        ModelError: If transformers cannot load the base as an encoder.
    """
    where: dict[str, Any] = {"trust_remote_code": False}
    if not Path(base).is_dir():
        where["revision"] = pinned_revision(base, revision)
    try:
        tokenizer = AutoTokenizer.from_pretrained(base, **where)
        model = AutoModelForSequenceClassification.from_pretrained(
            base,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: i for i, label in enumerate(labels)},
            ignore_mismatched_sizes=True,
            use_safetensors=True,
            **where,
        )
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(
            f"transformers cannot load {base} as a sequence classifier: {error} Name an "
            "encoder such as answerdotai/ModernBERT-base with its commit (--revision), or a folder "
            "that save_pretrained wrote."
        ) from error
    return model.float(), tokenizer


def fine_tune(
    model: Any,  # noqa: ANN401  # transformers' own
    tokenizer: Any,  # noqa: ANN401  # transformers' own
    lessons: Lessons,
    *,
    recipe: EncoderRecipe,
    lora: Lora | None,
    out: Path,
    device: str,
    checkpoint_every: int,
    last: str | None,
    report: Report,
    scores: Callable[[Any], Mapping[str, float]],
) -> dict[str, float]:
    """Train a classifier, and save it with its adapters merged in the folder ``out / "model"``.

    Args:
        model: The model of :func:`load_classifier`.
        tokenizer: The tokenizer of :func:`load_classifier`.
        lessons: Sequences to train and to measure with.
        recipe: The numbers of the training.
        lora: Settings of adapters in all linear layers; ``None`` trains all weights.
        out: Folder for checkpoints and the model.
        device: ``cpu`` or ``cuda``.
        checkpoint_every: Steps between two checkpoints.
        last: The checkpoint to continue from.
        report: Receives the progress.
        scores: Computes scores of a prediction of ``Trainer``.

    Returns:
        The scores on the sequences to measure with.
    """
    weights = torch.tensor(lessons.weights, dtype=torch.float32)

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:  # noqa: ANN401
        del num_items_in_batch
        logits = outputs["logits"].float()
        return F.cross_entropy(logits, labels, weights.to(logits.device))

    trainer = Trainer(
        model=with_adapters(model, lora, task="SEQ_CLS") if lora else model,
        args=trainer_arguments(
            recipe, out, device=device, every=checkpoint_every, n_sequences=len(lessons.known)
        ),
        train_dataset=list(lessons.known),  # Trainer accepts a list
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_loss_func=loss,
        compute_metrics=lambda prediction: dict(scores(prediction)),
        callbacks=[ReportCallback(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    found = trainer.evaluate(list(lessons.validation))  # type: ignore[arg-type]
    trained: Any = trainer.model
    if lora:
        trained = trained.merge_and_unload()
    trained.to("cpu").save_pretrained(out / MODEL)
    tokenizer.save_pretrained(out / MODEL)
    return {name.removeprefix("eval_"): float(value) for name, value in found.items()}


def balanced_weights(lessons: Sequence[Lesson], n_labels: int) -> list[float]:
    """Return a weight for each class, inverse to the share of the class."""
    counts = np.bincount([lesson["labels"] for lesson in lessons], minlength=n_labels).clip(1)
    return [float(weight) for weight in counts.sum() / (n_labels * counts)]


def accuracy(prediction: Any) -> dict[str, float]:  # noqa: ANN401  # transformers' own
    """Return the share of sequences whose class is predicted correctly."""
    found = np.asarray(prediction.predictions).argmax(1)
    return {"accuracy": float((found == prediction.label_ids).mean())}
