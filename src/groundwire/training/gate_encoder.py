"""The gate by the published recipe: any encoder of Hugging Face, fine-tuned to classify prompts.

HaluGate's Sentinel: LoRA of rank 16, alpha 32, dropout 0.1; cross entropy weighted by class; AdamW
at 2e-5; 3 epochs of at most 50,000 prompts. The loop is that of ``training/encoder.py``.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
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
from groundwire.training.encoder import (
    CHECKPOINTS,
    MODEL,
    Told,
    trainer_arguments,
    with_adapters,
)
from groundwire.training.gate import load
from groundwire.training.prompts import Prompt
from groundwire.training.recipe import EncoderRecipe, GateRecipe, Lora, settle
from groundwire.training.report import Report

#: Prompts, at most.
MOST = 50_000
#: As the Sentinel's are called.
LABELS = ("NO_FACT_CHECK_NEEDED", "FACT_CHECK_NEEDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEncoderRun:
    """What to fine-tune, with what, and where to; attributes as in ``EncoderRun``."""

    base: str
    revision: str | None = None
    data: Path
    out: Path
    prompts: GateRecipe = field(default_factory=GateRecipe)
    recipe: EncoderRecipe = field(default_factory=lambda: EncoderRecipe(max_length=512))
    lora: Lora = field(default_factory=Lora)
    device: str = "cpu"
    checkpoint_every: int = 500
    resume: bool = False


def train_gate_encoder(run: GateEncoderRun, report: Report) -> Path:
    """Fine-tune, and save a sequence classifier with its adapters merged: ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` holds another run.
        ModelError: If the base cannot be loaded.
    """
    checkpoints = run.out / CHECKPOINTS
    last = None
    if checkpoints.is_dir():
        last = get_last_checkpoint(str(checkpoints))  # type: ignore[no-untyped-call]
    numbers = {**asdict(run.recipe), "base": run.base, "lora": asdict(run.lora)}
    settle(run.out, numbers, is_begun=last is not None, resume=run.resume)
    torch.manual_seed(run.recipe.seed)
    known, _ = load(run.data, run.prompts)
    random.Random(run.recipe.seed).shuffle(known)
    known = known[:MOST]
    n_held = max(1, int(len(known) * run.prompts.held_out_share))
    model, tokenizer = _load_base(run)
    held, lessons = (
        _lessons(part, tokenizer, run.recipe.max_length)
        for part in (known[:n_held], known[n_held:])
    )
    report.say(f"{len(lessons):,} prompts to train with, {len(held):,} to measure with.")
    counts = np.bincount([lesson["labels"] for lesson in lessons], minlength=2).clip(1)
    weights = torch.tensor(counts.sum() / (2 * counts), dtype=torch.float32)

    def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:  # noqa: ANN401
        del num_items_in_batch
        logits = outputs["logits"].float()
        return F.cross_entropy(logits, labels, weights.to(logits.device))

    trainer = Trainer(
        model=with_adapters(model, run.lora, task="SEQ_CLS"),
        args=trainer_arguments(
            run.recipe,
            run.out,
            device=run.device,
            every=run.checkpoint_every,
            n_sequences=len(lessons),
        ),
        train_dataset=lessons,  # a list is all that Trainer needs
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_loss_func=loss,
        compute_metrics=_accuracy,
        callbacks=[Told(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    found = trainer.evaluate(held)  # type: ignore[arg-type]
    report.say(f"held out: accuracy {found['eval_accuracy']:.4f}, n {len(held)}")
    trained: Any = trainer.model
    trained.merge_and_unload().to("cpu").save_pretrained(run.out / MODEL)
    tokenizer.save_pretrained(run.out / MODEL)
    return run.out / MODEL


def _load_base(run: GateEncoderRun) -> tuple[Any, Any]:
    where: dict[str, Any] = {"trust_remote_code": False}
    if not Path(run.base).is_dir():
        where["revision"] = pinned_revision(run.base, run.revision)
    try:
        tokenizer = AutoTokenizer.from_pretrained(run.base, **where)
        model = AutoModelForSequenceClassification.from_pretrained(
            run.base,
            num_labels=2,
            id2label=dict(enumerate(LABELS)),
            label2id={label: i for i, label in enumerate(LABELS)},
            ignore_mismatched_sizes=True,
            use_safetensors=True,
            **where,
        )
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(
            f"transformers cannot load {run.base} as a sequence classifier: {error} Name an "
            "encoder such as answerdotai/ModernBERT-base with its commit (--revision), or a folder "
            "that save_pretrained wrote."
        ) from error
    return model.float(), tokenizer


def _lessons(known: Sequence[Prompt], tokenizer: Any, longest: int) -> list[dict[str, Any]]:  # noqa: ANN401
    read = [tokenizer(p.text, truncation=True, max_length=longest) for p in known]
    return [{**dict(r), "labels": int(p.is_due)} for r, p in zip(read, known, strict=True)]


def _accuracy(prediction: Any) -> dict[str, float]:  # noqa: ANN401  # transformers' own
    found = np.asarray(prediction.predictions).argmax(1)
    return {"accuracy": float((found == prediction.label_ids).mean())}
