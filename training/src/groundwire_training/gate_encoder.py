"""Trains a gate by the published recipe: fine-tunes a Hugging Face encoder to classify prompts.

The recipe is that of HaluGate's Sentinel: LoRA of rank 16, alpha 32, dropout 0.1; cross entropy
weighted by class; AdamW at 2e-5; 3 epochs of at most 50,000 prompts. The training loop is that of
``encoder.py``.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from groundwire_training.encoder import MODEL
from groundwire_training.gate import load
from groundwire_training.prompts import Prompt
from groundwire_training.recipe import EncoderRecipe, GateRecipe, Lora, begin_run
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

#: The most prompts to use.
MOST = 50_000
#: Names of the classes, as in the Sentinel.
LABELS = ("NO_FACT_CHECK_NEEDED", "FACT_CHECK_NEEDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEncoderRun:
    """Settings of a run that fine-tunes a gate.

    The attributes are those of ``EncoderRun``, but for ``prompts``, which says how many prompts of
    each set are used, and how many of them are held out.
    """

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
    """Fine-tune an encoder, and save it as a sequence classifier with its adapters merged.

    Returns:
        The model folder, ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` has another run.
        ModelError: If the base cannot be loaded.
    """
    last = last_checkpoint(run.out)
    numbers = {**asdict(run.recipe), "base": run.base, "lora": asdict(run.lora)}
    begin_run(run.out, numbers, is_begun=last is not None, resume=run.resume)
    torch.manual_seed(run.recipe.seed)
    known, _ = load(run.data, run.prompts)
    random.Random(run.recipe.seed).shuffle(known)
    known = known[:MOST]
    n_held = max(1, int(len(known) * run.prompts.held_out_share))
    model, tokenizer = load_classifier(run.base, run.revision, LABELS)
    validation, lessons = (
        _lessons(part, tokenizer, run.recipe.max_length)
        for part in (known[:n_held], known[n_held:])
    )
    report.say(f"{len(lessons):,} prompts to train with, {len(validation):,} to measure with.")
    found = fine_tune(
        model,
        tokenizer,
        Lessons(
            known=lessons, validation=validation, weights=balanced_weights(lessons, len(LABELS))
        ),
        recipe=run.recipe,
        lora=run.lora,
        out=run.out,
        device=run.device,
        checkpoint_every=run.checkpoint_every,
        last=last,
        report=report,
        scores=accuracy,
    )
    report.say(f"held out: accuracy {found['accuracy']:.4f}, n {len(validation)}")
    return run.out / MODEL


def _lessons(known: Sequence[Prompt], tokenizer: Any, longest: int) -> list[Lesson]:  # noqa: ANN401
    read = [tokenizer(p.text, truncation=True, max_length=longest) for p in known]
    return [{**dict(r), "labels": int(p.is_due)} for r, p in zip(read, known, strict=True)]
