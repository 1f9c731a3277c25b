"""Recipes: the numbers of a training run, which a resumed run must not change.

This module does not import PyTorch, so that the help of the command can show the defaults of the
numbers without it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Recipe for training the reader: all numbers that a run depends on.

    Attributes:
        steps: Optimizer steps.
        rate: Highest learning rate. It rises over ``warmup`` steps, stays constant, and falls
            linearly to 2 % over the last ``decay_share`` of all steps.
        head_rate: Highest learning rate of the heads and of the table of match features.
        warmup: Steps until the highest rate.
        decay_share: Share of the steps over which the rate falls. To continue a run later at a
            constant rate, give more steps than it will do.
        ragtruth_per_step: Contexts of RAGTruth, or of a file of your own, in a step; 0.5 is one in
            every second step.
        slots_per_step: Slot-annotated texts in a step.
        pairs_per_step: Short texts in a step whose claims are read with both texts of each slot;
            they have the domain ``own-claims``.
        edits_per_step: Articles with edited summaries in a step.
        claims_per_step: Premises in a step, with claims that are labelled as a whole.
        contrasts_per_step: Tables, captions and records in a step, with claims that differ in a
            few words.
        bound_per_step: Slot-annotated texts in a step whose claims are made by program of words of
            their sources: with the subject or number of another sentence, a value for a blank in a
            question, two swapped names, or a mistake.
        asides_per_step: Records in a step of four parts of answers each, such as headings and
            offers, which are read without evidence or with that of another text.
        most_wrong: The most wrong claims of a record in one step, for the cross-encoder.
        right_claims: Right claims that are drawn for each wrong one, for the cross-encoder. Every
            record gives at least two right claims if it has them.
        one_slot_share: Share of slot-annotated variants with only one wrong slot.
        answers: Most answers of each context.
        max_passages: Most passages that the answers of a context read together.
        padded_share: Share of records that get sources of other records.
        max_padding: Most sources that such a record gets.
        no_question_share: Share of records without their question.
        corrupted_share: Share of records in which one answer gets a mistake by program.
        premise_share: Share of records whose question asserts such a mistake.
        withheld_share: Share of records in which the evidence of one sentence is removed.
        quoted_share: Share of slot-annotated texts with a sentence of the sources as an answer.
        alone_share: Share of slot-annotated texts cut down to one claim with a few lines.
        stranger_share: Share of contrasts with a claim about something else.
        reformatted_share: Share of answers whose numbers and dates are written in other formats.
        dropout: Dropout rate of hidden values.
        piece_weight: Weight of the loss on all word pieces of a claim, in the cross-encoder.
        sentence_weight: Weight of the sentence head's loss.
        worst_weight: Weight of the loss on the most doubtful word piece of each sentence.
        seed: Seed of the order of records and of all random choices.
    """

    steps: int = 900
    rate: float = 2e-4
    head_rate: float = 2e-3
    warmup: int = 50
    decay_share: float = 1.0
    ragtruth_per_step: float = 3
    slots_per_step: float = 2
    pairs_per_step: float = 0
    edits_per_step: float = 0
    claims_per_step: float = 0
    contrasts_per_step: float = 0
    bound_per_step: float = 0
    asides_per_step: float = 0
    most_wrong: int = 6
    right_claims: float = 1.0
    one_slot_share: float = 0.7
    answers: int = 4
    max_passages: int = 6
    padded_share: float = 0.3
    max_padding: int = 8
    no_question_share: float = 0.15
    corrupted_share: float = 0.5
    premise_share: float = 0.05
    withheld_share: float = 0.0
    quoted_share: float = 0.0
    alone_share: float = 0.0
    stranger_share: float = 0.0
    reformatted_share: float = 0.25
    dropout: float = 0.1
    piece_weight: float = 1.0
    sentence_weight: float = 0.3
    worst_weight: float = 0.2
    seed: int = 0

    def rate_share(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0, as a share of the highest rate."""
        falling = (self.steps - step) / max(1.0, self.decay_share * self.steps)
        return min((step + 1) / self.warmup, max(0.02, min(1.0, falling)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecipe:
    """Recipe for fine-tuning a Hugging Face encoder.

    Attributes:
        epochs: Number of passes over the data.
        rate: Highest learning rate of AdamW. It rises over ``warmup_share`` of all steps and falls
            linearly to 0.
        warmup_share: Share of the steps until the highest rate.
        weight_decay: Weight decay of AdamW.
        batch_size: Sequences in one pass.
        accumulate: Passes in one optimizer step.
        max_length: Most word pieces of one sequence, in training and in use.
        seed: Seed of the order of sequences, of dropout, and of new weights.
    """

    epochs: int = 3
    rate: float = 2e-5
    warmup_share: float = 0.1
    weight_decay: float = 0.01
    batch_size: int = 8
    accumulate: int = 1
    max_length: int = 4096
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRecipe:
    """Recipe for fitting the gate's head.

    Attributes:
        per_source: Most prompts of each set.
        own_weight: Weight of a prompt that was labelled by itself.
        source_weight: Weight of all prompts of a set together.
        softness: Inverse strength of the penalty on large weights.
        held_out_share: Share of the sets' prompts that is held out, drawn at random.
        seed: Seed of all random choices.
    """

    per_source: int = 500
    own_weight: float = 8.0
    source_weight: float = 45.0
    softness: float = 0.08
    held_out_share: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters (https://arxiv.org/abs/2106.09685) in place of whole matrices.

    Attributes:
        rank: Rank of the adapters.
        alpha: Scale of the adapters; their weight is ``alpha / rank``.
        dropout: Dropout rate of the adapters' input, in [0, 1).
    """

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.1


class RunExistsError(InputError):
    """The output folder has a training run already, and the command was not told to resume it."""

    def __init__(self, out: Path) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out} has a run already. Continue it with --resume, or name another --out."


class DifferentRecipeError(InputError):
    """The training run to resume was started with another recipe."""

    def __init__(self, out: Path, differences: Mapping[str, tuple[object, object]]) -> None:
        super().__init__(out, differences)
        self.out, self.differences = out, differences

    def __str__(self) -> str:
        changes = ", ".join(
            f"{name} was {before} and is now {now}"
            for name, (before, now) in self.differences.items()
        )
        return (
            f"The run in {self.out} was started with other options: {changes}. Give the options of "
            "the first call, or name another --out."
        )


def begin_run(out: Path, numbers: Mapping[str, object], *, is_begun: bool, resume: bool) -> None:
    """Make the folder of a run, and write its numbers into ``recipe.json``.

    Args:
        out: The folder.
        numbers: Numbers that a resumed run must not change.
        is_begun: Whether the folder has a checkpoint.
        resume: Whether to continue from that checkpoint.

    Raises:
        RunExistsError: If there is a checkpoint and ``resume`` is false.
        DifferentRecipeError: If the run to continue was started with other numbers.
    """
    path = out / "recipe.json"
    if is_begun and not resume:
        raise RunExistsError(out)
    if is_begun and path.exists():
        before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        differences = {
            name: (before[name], now)
            for name, now in numbers.items()
            if name in before and before[name] != now
        }
        if differences:
            raise DifferentRecipeError(out, differences)
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
