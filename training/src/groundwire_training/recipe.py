"""The numbers of a run, which it keeps to when it is resumed.

PyTorch is not imported here: the command shows the numbers without it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train the reader; every number of a run.

    Attributes:
        steps: Optimizer steps.
        rate: Highest learning rate; it rises over ``warmup`` steps, stays, and falls to 2 % in a
            line over the last ``decay_share`` of all steps.
        head_rate: The same for the heads and the table of match features, which begin as nothing.
        warmup: Steps until the highest rate.
        decay_share: Share of the steps over which the rate falls. A run that is to go on later
            keeps its rate: give it more steps than it will do.
        ragtruth_per_step: Contexts of RAGTruth in a step, or of a file of your own; 0.5 is one in
            every second step.
        slots_per_step: Slot-annotated texts in a step.
        edits_per_step: Articles with edited summaries in a step.
        claims_per_step: Premises with claims that are judged as a whole in a step.
        contrasts_per_step: Tables, captions and records with claims that differ in a few words.
        one_slot_share: How often a variant of such a text is wrong in one slot only.
        answers: Answers of each context, at most.
        max_passages: Passages that the answers of a context read together, at most.
        padded_share: How often sources of other records are mixed in.
        max_padding: How many of them, at most.
        no_question_share: How often the question is left out.
        corrupted_share: How often one of a context's answers has a mistake put in by program.
        premise_share: How often the question asserts such a mistake.
        withheld_share: How often what a sentence rests on is taken out of the sources.
        quoted_share: How often one answer of a slot-annotated text is a sentence of its sources.
        alone_share: How often a slot-annotated text is one claim with a few lines alone.
        stranger_share: How often one of these claims is about something else.
        reformatted_share: How often an answer's numbers and dates are written in other ways.
        dropout: Share of hidden values that are left out.
        sentence_weight: Weight of the sentence head's loss.
        worst_weight: Weight of the loss on the most doubtful word piece of each sentence.
        seed: Of the order of records and of all that is drawn.
    """

    steps: int = 900
    rate: float = 2e-4
    head_rate: float = 2e-3
    warmup: int = 50
    decay_share: float = 1.0
    ragtruth_per_step: float = 3
    slots_per_step: float = 2
    edits_per_step: float = 0
    claims_per_step: float = 0
    contrasts_per_step: float = 0
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
    sentence_weight: float = 0.3
    worst_weight: float = 0.2
    seed: int = 0

    def rate_share(self, step: int) -> float:
        """The share of the highest rate at a step, counted from 0: in [0.02, 1]."""
        falling = (self.steps - step) / max(1.0, self.decay_share * self.steps)
        return min((step + 1) / self.warmup, max(0.02, min(1.0, falling)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRecipe:
    """How to fine-tune a Hugging Face encoder.

    Attributes:
        epochs: Times that every answer is seen.
        rate: Highest learning rate of AdamW; it rises over ``warmup_share`` of all steps and falls
            to 0 in a line.
        warmup_share: Share of the steps until the highest rate.
        weight_decay: Of AdamW.
        batch_size: Sequences in one pass.
        accumulate: Passes in one optimizer step.
        max_length: Word pieces of one sequence, at most; the saved model reads as many in use.
        seed: Of the order of sequences, of dropout, and of weights that are new.
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
    """How to fit the gate's head.

    Attributes:
        per_source: Prompts of each set, at most.
        own_weight: What a prompt counts that was labelled by itself.
        source_weight: What all prompts of a set count together.
        softness: Inverse strength of the penalty on large weights.
        held_out_share: Share of the sets that is held out, drawn by chance.
        seed: Of what is drawn.
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
        alpha: Their weight is ``alpha / rank``.
        dropout: Of what they read, in [0, 1).
    """

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.1


class RunExistsError(InputError):
    """A run is there already."""

    def __init__(self, out: Path) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out} holds a run already. Go on with it by --resume, or name another --out."


class DifferentRecipeError(InputError):
    """The run to go on with was started with other numbers."""

    def __init__(self, out: Path, differences: Mapping[str, tuple[object, object]]) -> None:
        super().__init__(out, differences)
        self.out, self.differences = out, differences

    def __str__(self) -> str:
        told = ", ".join(
            f"{name} was {before} and is now {now}"
            for name, (before, now) in self.differences.items()
        )
        return (
            f"The run in {self.out} was started otherwise: {told}. Give the options of the first "
            "call, or name another --out."
        )


def settle(out: Path, numbers: Mapping[str, object], *, is_begun: bool, resume: bool) -> None:
    """Make the folder of a run, and write its numbers into ``recipe.json``.

    Args:
        out: The folder.
        numbers: What must be the same for the run to go on.
        is_begun: Whether it holds a checkpoint.
        resume: Whether to go on from that.

    Raises:
        RunExistsError: If it holds a run that is not to be resumed.
        DifferentRecipeError: If that run has other numbers.
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
