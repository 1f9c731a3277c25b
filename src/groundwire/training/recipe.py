"""The numbers of a run. PyTorch is not imported here: the command shows them without it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train the reader; every number of a run.

    Attributes:
        steps: Optimizer steps.
        rate: Highest learning rate; it rises over ``warmup`` steps and falls to 2 % in a line.
        warmup: Steps until the highest rate.
        ragtruth_per_step: Contexts of RAGTruth in a step, or of a file of your own.
        slots_per_step: Slot-annotated texts in a step.
        edits_per_step: Articles with edited summaries in a step.
        answers: Answers of each context, at most.
        max_passages: Passages that the answers of a context read together, at most.
        padded_share: How often sources of other records are mixed in.
        max_padding: How many of them, at most.
        no_question_share: How often the question is left out.
        sentence_weight: Weight of the sentence head's loss.
        worst_weight: Weight of the loss on the most doubtful word piece of each sentence.
        seed: Of the order of records and of all that is drawn.
    """

    steps: int = 900
    rate: float = 2e-4
    warmup: int = 50
    ragtruth_per_step: int = 3
    slots_per_step: int = 2
    edits_per_step: int = 0
    answers: int = 4
    max_passages: int = 6
    padded_share: float = 0.3
    max_padding: int = 8
    no_question_share: float = 0.15
    sentence_weight: float = 0.3
    worst_weight: float = 0.2
    seed: int = 0


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
