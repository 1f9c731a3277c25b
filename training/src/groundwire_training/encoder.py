"""Fine-tunes a Hugging Face encoder into a token classifier, a detector that the engine can run.

Its input is ``[CLS] context [SEP] question [SEP] answer [SEP]``, as with LettuceDetect and
HaluGate. The training loop is ``transformers.Trainer``, which knows the devices, precisions and
checkpoints of such models, and restores the state of all random generators when it resumes. This
module makes the training sequences, in the form that the deployed model reads.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from groundwire.engine.checkpoints import pinned_revision
from groundwire.engine.classifier import Frame
from groundwire.engine.token_classifier import TokenClassifierSession
from groundwire.engine.windowing import QUESTION_SHARE, Window, plan_windows
from groundwire.errors import InputError, ModelError
from groundwire.evaluation.metrics import AnswerCounts, Ranking
from groundwire_training import rows, sets
from groundwire_training.data import labels_of
from groundwire_training.loop import VALIDATION_CONTEXTS
from groundwire_training.recipe import EncoderRecipe, Lora, begin_run
from groundwire_training.report import Report
from groundwire_training.sets import LabelledContext

#: Names of the classes, for 2 and for 3 classes. The engine recognises the classes by these names.
LABELS = {2: ("supported", "hallucinated"), 3: ("supported", "unsupported", "contradicted")}
#: The number of variants of a slot-annotated answer to train with, the faithful one included.
_VARIANTS = 4
_IGNORED = -100
CHECKPOINTS, MODEL = "checkpoints", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRun:
    """Settings of a run that fine-tunes an encoder.

    Attributes:
        base: A folder that ``save_pretrained`` wrote, or the id of a hub model.
        revision: Commit of a hub model, 40 hexadecimal digits.
        data: A folder of sets, or a file of labelled answers.
        out: Folder for recipe, checkpoints, and the model folder ``model``.
        recipe: The numbers of the training.
        n_labels: Number of classes, 2 or 3; see :data:`LABELS`.
        class_weights: ``none``, ``balanced`` (inverse to a class's share), or a weight for each
            class.
        lora: Settings of adapters in all linear layers; ``None`` trains all weights.
        device: ``cpu`` or ``cuda``.
        threads: CPU threads; ``None`` leaves the number to PyTorch.
        checkpoint_every: Steps between two checkpoints.
        resume: Whether to continue from the last checkpoint, if there is one.
    """

    base: str
    revision: str | None = None
    data: Path
    out: Path
    recipe: EncoderRecipe
    n_labels: int = 2
    class_weights: str | tuple[float, ...] = "none"
    lora: Lora | None = None
    device: str = "cpu"
    threads: int | None = None
    checkpoint_every: int = 500
    resume: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """One training sequence.

    Attributes:
        ids: Word pieces with special tokens, shape ``(n,)``.
        types: Token types, shape ``(n,)``.
        labels: The class of each word piece of the answer, -100 for all others, shape ``(n,)``.
    """

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Cuts answers into the sequences that the deployed model reads.

    Attributes:
        tokenizer: The tokenizer; it reads special tokens written in a text as plain text.
        frame: The special tokens around the texts.
        max_length: Largest number of word pieces of one sequence.
        n_labels: Number of classes, 2 or 3.
    """

    tokenizer: Tokenizer
    frame: Frame
    max_length: int
    n_labels: int

    def sequences(self, record: LabelledContext) -> Iterator[Lesson]:
        """Yield the training sequences of a record.

        If the context needs several windows, each part of the answer is trained with only one: the
        window that shares most word pieces with it. The deployed model calls a word supported if
        any one window supports it, so the right labels in the other windows are unknown.
        """
        context = self._ids(TokenClassifierSession.join(record.sources))
        asked = self._question(record.question)
        separators = len(self.frame.between) if asked else 0
        room = self.max_length - self.frame.size - separators - len(asked)
        for answer in record.answers:
            pieces = self.tokenizer.encode(answer.text, add_special_tokens=False)
            if not pieces.ids:
                continue
            labels = np.minimum(
                labels_of(np.array(pieces.offsets, np.int32), answer.spans), self.n_labels - 1
            )
            for window in nearest(
                plan_windows(len(context), len(pieces.ids), room=room), context, pieces.ids
            ):
                (a, b), (c, d) = window.context, window.answer
                ids, types, start = self.frame.join(context[a:b], asked, pieces.ids[c:d])
                targets = np.full(len(ids), _IGNORED)
                targets[start : start + d - c] = labels[c:d]
                yield Lesson(np.array(ids), np.array(types), targets)

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _question(self, question: str | None) -> list[int]:
        """Cut the middle out of a long question, as :class:`.windowing.TokenClassifier` does."""
        ids = self._ids(question) if question else []
        limit = int(self.max_length * QUESTION_SHARE)
        head = limit // 2
        return ids if len(ids) <= limit else ids[:head] + ids[len(ids) - (limit - head) :]


def nearest(
    windows: Sequence[Window], context: Sequence[int], answer: Sequence[int]
) -> Iterator[Window]:
    """Yield for each part of the answer the window whose context shares most pieces with it."""
    for stretch in dict.fromkeys(window.answer for window in windows):
        pieces = set(answer[slice(*stretch)])
        mine = [window for window in windows if window.answer == stretch]
        yield max(mine, key=lambda window: len(pieces & set(context[slice(*window.context)])))


def train_encoder(run: EncoderRun, report: Report) -> Path:
    """Fine-tune an encoder, and save it as a folder for the engine, with adapters merged.

    Returns:
        The model folder, ``out / "model"``.

    Raises:
        InputError: If the data cannot be used, or ``out`` has another run.
        UnpinnedModelError: If a hub model is given without its commit.
        ModelError: If transformers cannot load the base as an encoder.
    """
    checkpoints = run.out / CHECKPOINTS
    last = None
    if checkpoints.is_dir():
        last = get_last_checkpoint(str(checkpoints))  # type: ignore[no-untyped-call]
    begin_run(run.out, numbers_of(run), is_begun=last is not None, resume=run.resume)
    if run.threads:
        torch.set_num_threads(run.threads)
    torch.manual_seed(run.recipe.seed)
    model, tokenizer = load_base(run)
    inputs = Inputs(
        open_tokenizer(tokenizer),
        frame_of(tokenizer),
        tokenizer.model_max_length,
        run.n_labels,
    )
    validation: Any  # Trainer accepts a list as a Dataset
    validation, known = (
        [sequence for record in records for sequence in inputs.sequences(record)]
        for records in records_of(run.data, run.recipe.seed)
    )
    report.say(f"{len(known):,} sequences to train with, {len(validation):,} to measure with.")
    if run.lora:
        model = with_adapters(model, run.lora)
    weights = class_weights(run, known)
    trainer = Trainer(
        model=model,
        args=arguments(run, n_sequences=len(known)),
        train_dataset=known,
        data_collator=Batches(tokenizer.pad_token_id or 0, list(tokenizer.model_input_names)),
        compute_loss_func=Loss(None if weights is None else torch.tensor(weights)),
        preprocess_logits_for_metrics=not_supported,
        compute_metrics=scores_of,
        callbacks=[ReportCallback(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    if validation:
        found = trainer.evaluate(validation)
        report.say(
            f"validation: F1 of answers {found['eval_f1']:.4f} at 0.5, "
            f"AUROC {found['eval_auroc']:.4f}, n {len(validation)}"
        )
    trained = model.merge_and_unload() if run.lora else model
    trained.to("cpu").save_pretrained(run.out / MODEL)
    tokenizer.save_pretrained(run.out / MODEL)
    return run.out / MODEL


def load_base(run: EncoderRun) -> tuple[Any, Any]:
    """Load the encoder, with a new classifier, and its tokenizer.

    Raises:
        UnpinnedModelError: If a hub model is given without its commit.
        ModelError: If transformers cannot load the base as an encoder.
    """
    is_folder = Path(run.base).is_dir()
    where: dict[str, Any] = {"trust_remote_code": False}
    if not is_folder:
        where["revision"] = pinned_revision(run.base, run.revision)
    labels = LABELS[run.n_labels]
    try:
        tokenizer = AutoTokenizer.from_pretrained(run.base, **where)
        model = AutoModelForTokenClassification.from_pretrained(
            run.base,
            num_labels=run.n_labels,
            id2label=dict(enumerate(labels)),
            label2id={label: i for i, label in enumerate(labels)},
            ignore_mismatched_sizes=True,  # a classifier for another task is replaced
            use_safetensors=True,
            **where,
        )
        tokenizer.backend_tokenizer.to_str()
    except (OSError, ValueError, AttributeError, ImportError) as error:
        raise ModelError(
            f"transformers cannot load {run.base} as a token classifier with a fast tokenizer from "
            f"safetensors: {error} Name an encoder such as answerdotai/ModernBERT-base with its "
            "commit (--revision), or a folder that save_pretrained wrote."
        ) from error
    limits = [run.recipe.max_length, tokenizer.model_max_length]
    positions = getattr(model.config, "max_position_embeddings", None)
    tokenizer.model_max_length = min([*limits, positions] if positions else limits)
    return model.float(), tokenizer


def open_tokenizer(tokenizer: Any) -> Tokenizer:  # noqa: ANN401  # transformers' own
    """Copy a fast tokenizer, with the settings that the engine uses."""
    opened = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    opened.no_truncation()
    opened.no_padding()
    opened.encode_special_tokens = True
    return opened


def frame_of(tokenizer: Any) -> Frame:  # noqa: ANN401  # transformers' own
    """Return the special tokens with which a tokenizer joins texts."""
    named = {"cls_token": tokenizer.cls_token, "sep_token": tokenizer.sep_token}
    return Frame.of(open_tokenizer(tokenizer), named)


def records_of(data: Path, seed: int) -> tuple[list[LabelledContext], list[LabelledContext]]:
    """Read the records to measure with and those to train with; slots are filled in.

    Raises:
        InputError: If the data cannot be used.
    """
    if data.is_file():
        return rows.split(data, rows.read(data))
    records = sets.ragtruth(data / "ragtruth" / "train.jsonl.gz")
    random.Random(0).shuffle(records)
    parts = [records[:VALIDATION_CONTEXTS], records[VALIDATION_CONTEXTS:]]
    for part, name in zip(parts, ("validation", "train"), strict=True):
        path = data / "slots" / f"{name}.jsonl.gz"
        rng = random.Random(seed)
        if path.exists():
            part += [sets.draw(record, _VARIANTS, rng) for record in sets.slots(path)]
    if not parts[1]:
        raise InputError(
            f"{data} has only {len(records)} contexts, and all are held out. Add more for training."
        )
    return parts[0], parts[1]


def with_adapters(
    model: Any,  # noqa: ANN401  # transformers' own
    lora: Lora,
    *,
    task: str = "TOKEN_CLS",
) -> Any:  # noqa: ANN401
    """Add adapters to all linear layers but the classifier, whose weights are all trained."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type=task,
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        exclude_modules=["classifier"],
    )
    return get_peft_model(model, config)


def class_weights(run: EncoderRun, sequences: Sequence[Lesson]) -> list[float] | None:
    """Return the weight of each class in the loss; ``None`` if all classes count alike.

    Raises:
        InputError: If the number of weights differs from the number of classes.
    """
    if run.class_weights == "none":
        return None
    if run.class_weights == "balanced":
        labels = np.concatenate([sequence.labels for sequence in sequences])
        counts = np.bincount(labels[labels >= 0], minlength=run.n_labels).clip(1)
        return [float(weight) for weight in counts.sum() / (run.n_labels * counts)]
    if len(run.class_weights) != run.n_labels:
        raise InputError(
            f"There are {len(run.class_weights)} class weights and {run.n_labels} classes. Give a "
            f"weight for each of {', '.join(LABELS[run.n_labels])}."
        )
    return [float(weight) for weight in run.class_weights]


def arguments(run: EncoderRun, *, n_sequences: int) -> TrainingArguments:
    """Return the arguments of ``Trainer`` for a run."""
    return trainer_arguments(
        run.recipe, run.out, device=run.device, every=run.checkpoint_every, n_sequences=n_sequences
    )


def trainer_arguments(
    recipe: EncoderRecipe, out: Path, *, device: str, every: int, n_sequences: int
) -> TrainingArguments:
    """Return the arguments of ``Trainer`` for a recipe."""
    passes = -(-n_sequences // recipe.batch_size)
    n_steps = -(-passes // recipe.accumulate) * recipe.epochs
    on_gpu = device == "cuda"
    return TrainingArguments(
        output_dir=str(out / CHECKPOINTS),
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.rate,
        lr_scheduler_type="linear",
        warmup_steps=int(recipe.warmup_share * n_steps),
        weight_decay=recipe.weight_decay,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=recipe.batch_size,
        gradient_accumulation_steps=recipe.accumulate,
        seed=recipe.seed,
        use_cpu=not on_gpu,
        bf16=on_gpu and torch.cuda.is_bf16_supported(),
        save_strategy="steps",
        save_steps=every,
        save_total_limit=1,
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
    )


def numbers_of(run: EncoderRun) -> dict[str, object]:
    """Return the settings that a resumed run must not change."""
    weights = run.class_weights
    return {
        **asdict(run.recipe),
        "base": run.base,
        "revision": run.revision,
        "labels": run.n_labels,
        "class_weights": weights if isinstance(weights, str) else list(weights),
        "lora": run.lora and asdict(run.lora),
    }


@dataclass(frozen=True, slots=True)
class Batches:
    """Makes batches: pads sequences to the length of the longest one in the batch."""

    pad_id: int
    names: Sequence[str]

    def __call__(self, sequences: Sequence[Lesson]) -> dict[str, Tensor]:
        """Make the tensors of a batch, under the names of the model's inputs, and the labels."""

        def padded(arrays: Sequence[NDArray[np.int64]], value: int) -> Tensor:
            tensors = [torch.from_numpy(array) for array in arrays]
            return pad_sequence(tensors, batch_first=True, padding_value=value)

        given = {
            "input_ids": padded([s.ids for s in sequences], self.pad_id),
            "attention_mask": padded([np.ones_like(s.ids) for s in sequences], 0),
            "token_type_ids": padded([s.types for s in sequences], 0),
        }
        batch = {name: given[name] for name in given if name in self.names}
        return {**batch, "labels": padded([s.labels for s in sequences], _IGNORED)}


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss function: cross entropy of answers' word pieces, averaged over a whole step."""

    weights: Tensor | None

    def __call__(
        self,
        outputs: Mapping[str, Tensor],
        labels: Tensor,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """Return the sum over the pieces of one pass, divided by their number in the whole step."""
        logits = outputs["logits"].float().flatten(0, 1)
        weights = None if self.weights is None else self.weights.to(logits.device)
        total = F.cross_entropy(
            logits, labels.flatten(), weights, ignore_index=_IGNORED, reduction="sum"
        )
        n_pieces = num_items_in_batch if num_items_in_batch is not None else (labels >= 0).sum()
        return total / n_pieces


def not_supported(logits: Tensor, labels: Tensor) -> Tensor:
    """Return P(not supported) of each word piece, which ``Trainer`` keeps instead of the logits."""
    del labels
    return 1 - logits.float().softmax(-1)[..., 0]


def scores_of(prediction: Any) -> dict[str, float]:  # noqa: ANN401  # transformers' own
    """Return F1 and AUROC for the decision whether a sequence has a marked word piece."""
    real = prediction.label_ids >= 0
    tops = np.where(real, prediction.predictions, 0).max(1)
    gold = (np.where(real, prediction.label_ids, 0) > 0).any(1)
    return {
        "f1": AnswerCounts.of(tops >= 0.5, gold).f1,
        "auroc": Ranking.of(tops, gold).auroc(),
    }


class ReportCallback(TrainerCallback):
    """Passes the progress of ``Trainer`` on to a report."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401
        """Report the number of steps already done, and the number of all steps."""
        self._report.begin(state.global_step, state.max_steps)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ANN401
        """Report the loss of a step."""
        if logs and "loss" in logs:
            self._report.step(state.global_step, float(logs["loss"]))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401
        """Report that a checkpoint was written."""
        self._report.saved(state.global_step)
