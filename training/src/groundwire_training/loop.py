"""The training loop of the reader, which ``groundwire train reader`` runs.

Each step reads a few contexts of several data sets, with several answers each, through the stages
of the deployed reader. A checkpoint holds everything that resuming the run needs.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from groundwire.detection.evidence import WordWeights
from groundwire.detection.example import read_sources
from groundwire.engine.tokenizer import WordPieces
from groundwire.evaluation.metrics import AnswerCounts, Ranking
from groundwire_training import claims, data, rows, sets
from groundwire_training.alone import alone
from groundwire_training.asides import asides, beside
from groundwire_training.bases import save_weights
from groundwire_training.bound import BOUND, OF_SOURCES
from groundwire_training.contrasts import contrasts, with_stranger
from groundwire_training.corrupt import draw_corrupted, false_premise
from groundwire_training.devices import placed
from groundwire_training.lora import merged
from groundwire_training.model import Group, Reader
from groundwire_training.quoted import quoted
from groundwire_training.recipe import Recipe as Recipe
from groundwire_training.reformat import reformatted
from groundwire_training.report import Logged, Report
from groundwire_training.sets import LabelledContext
from groundwire_training.unlabelled import without_unlabelled
from groundwire_training.withheld import withheld

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Tensors = TypeVar("_Tensors", bound="DataclassInstance")
#: The number of contexts of RAGTruth's training part that are held out for validation.
VALIDATION_CONTEXTS = 150
#: Task of the slot-annotated texts for :func:`.sets.both_ways`: each slot is read right and wrong.
PAIRED = "slots-own-claims"
#: The most records to try when a claim of some kind is made, since not every record allows it.
_MOST_TRIED = 60


class Loader:
    """Draws training data for each step, from a folder of data sets or a user's own file."""

    def __init__(
        self, folder: Path, pieces: WordPieces, words: WordWeights, recipe: Recipe
    ) -> None:
        self.slots: list[LabelledContext] = []
        self.slots_validation: list[LabelledContext] = []
        self.pairs_validation: list[LabelledContext] = []
        self.pairs: list[LabelledContext] = []
        self.edits: list[LabelledContext] = []
        self.claims: list[LabelledContext] = []
        self.contrasts: dict[str, list[LabelledContext]] = {}
        if folder.is_file():
            self.validation, self.ragtruth = rows.split(folder, rows.read(folder))
            recipe = replace(
                recipe,
                slots_per_step=0,
                pairs_per_step=0,
                edits_per_step=0,
                claims_per_step=0,
                contrasts_per_step=0,
                bound_per_step=0,
                asides_per_step=0,
            )
        else:
            records = sets.ragtruth(folder / "ragtruth" / "train.jsonl.gz")
            random.Random(0).shuffle(records)
            self.validation = records[:VALIDATION_CONTEXTS]
            self.ragtruth = [without_unlabelled(r) for r in records[VALIDATION_CONTEXTS:]]
            held_out = folder / "slots" / "validation.jsonl.gz"
            self.slots_validation = sets.slots(held_out)
            written = folder / "slots" / "validation-claims.jsonl"
            self.pairs_validation = sets.slots(written) if written.exists() else []
            for path in sorted((folder / "slots").glob("*.jsonl*")):
                if not path.name.startswith("validation"):
                    self.slots += sets.slots(path)
        if recipe.pairs_per_step:
            self.pairs = [r for r in self.slots if r.task == PAIRED]
        if recipe.edits_per_step:
            for name in ("spans/bump", "spans/defacto", "claims/summedits"):
                self.edits += self._not_held_out(sets.edits(folder / f"{name}.jsonl.gz"))
        if recipe.claims_per_step:
            self.claims = self._not_held_out(claims.claims(folder))
        if recipe.contrasts_per_step:
            self.contrasts = {
                name: self._not_held_out(records)
                for name, records in contrasts(folder / "pairs", seed=recipe.seed).items()
            }
        self.documents: list[LabelledContext] = []
        if recipe.bound_per_step:
            self.documents = sets.documents(folder / "documents")
        self.asides = asides(folder / "asides") if recipe.asides_per_step else []
        self.pieces, self.words, self.recipe = pieces, words, recipe
        self._orders: dict[str, dict[int, list[int]]] = {}

    def _not_held_out(self, records: list[LabelledContext]) -> list[LabelledContext]:
        """Return the records that share no text with validation records."""
        held_out = [*self.validation, *self.slots_validation]
        shared = sets.shares_text(records, held_out)
        return [r for r, is_shared in zip(records, shared, strict=True) if not is_shared]

    def step(self, number: int) -> list[Group]:
        """Make the groups of one step; the number and the recipe's seed determine them."""
        rng = random.Random(self.recipe.seed * 1_000_003 + number)
        groups = [self._group(record, rng) for record in self._records(number, rng)]
        return [group for group in groups if group is not None]

    def records(self, number: int) -> list[LabelledContext]:
        """Make the records of one step; the number and the recipe's seed determine them."""
        return self._records(number, random.Random(self.recipe.seed * 1_000_003 + number))

    def _records(self, number: int, rng: random.Random) -> list[LabelledContext]:
        recipe = self.recipe
        judged = self._turn("ragtruth", self.ragtruth, number, recipe.ragtruth_per_step)
        written = [
            *self._turn("slots", self.slots, number, recipe.slots_per_step),
            *self._turn("edits", self.edits, number, recipe.edits_per_step),
            *self._turn("claims", self.claims, number, recipe.claims_per_step),
        ]
        records = [self._corrupted(sets.draw(r, recipe.answers, rng), rng) for r in judged]
        share = recipe.one_slot_share
        drawn = [sets.draw(r, recipe.answers, rng, one_slot_share=share) for r in written]
        paired = self._turn("pairs", self.pairs, number, recipe.pairs_per_step)
        records += [self._alone(self._quoted(record, rng), rng) for record in drawn]
        records += [
            self._strange(sets.draw(r, recipe.answers, rng), rng) for r in self._contrasting(number)
        ]
        records = [self._withheld(self._reformatted(record, rng), rng) for record in records]
        records += [sets.both_ways(r, rng) for r in paired]
        return [*records, *self._bound(number), *self._beside(number)]

    def mixed_in(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes add sources of other records to a record."""
        is_padded = record.sources and rng.random() < self.recipe.padded_share
        return self._padded(record, rng) if is_padded else record

    def whole(self, record: LabelledContext) -> tuple[Group, LabelledContext] | None:
        """Make the tensors of an unmodified record, with all selected passages; for validation."""
        group = self._group(record, None)
        return None if group is None else (group, record)

    def _turn(
        self, name: str, records: list[LabelledContext], step: int, n: float
    ) -> list[LabelledContext]:
        """Take the next records of a set: each record once, then all again in another order."""
        chosen = []
        for place in range(int(step * n), int((step + 1) * n)):
            epoch, at = divmod(place, len(records))
            if epoch not in self._orders.setdefault(name, {}):
                order = list(range(len(records)))
                random.Random(f"{self.recipe.seed} {name} {epoch}").shuffle(order)
                self._orders[name] = {epoch: order}
            chosen.append(records[self._orders[name][epoch][at]])
        return chosen

    def _contrasting(self, step: int) -> list[LabelledContext]:
        """Take contrasts from each set in turn, so that small sets count as much as large ones."""
        n, names = self.recipe.contrasts_per_step, sorted(self.contrasts)
        return [
            self._turn(name, self.contrasts[name], place // len(names), 1)[0]
            for place in range(int(step * n), int((step + 1) * n))
            for name in [names[place % len(names)]]
        ]

    def _bound(self, step: int) -> list[LabelledContext]:
        """Make records of claims in the words of the sources, each kind of claim in turn."""
        n = self.recipe.bound_per_step
        found: list[LabelledContext] = []
        rng = random.Random(f"{self.recipe.seed} bound {step}")
        for place in range(int(step * n), int((step + 1) * n)):
            make = BOUND[place % len(BOUND)]
            pools = [self.slots]
            if make in OF_SOURCES and self.documents:
                pools.append(self.documents)
            pool = rng.choice(pools)
            tried = rng.sample(pool, min(_MOST_TRIED, len(pool)))
            found += islice(filter(None, (make(record, rng) for record in tried)), 1)
        return found

    def _beside(self, step: int) -> list[LabelledContext]:
        """Make records of parts of answers, without evidence or with that of another text."""
        n = self.recipe.asides_per_step
        rng = random.Random(f"{self.recipe.seed} asides {step}")
        places = range(int(step * n), int((step + 1) * n))
        return [beside(rng.choice(self.slots), self.asides, rng) for _ in places]

    def _strange(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes replace the last claim of a record by a claim about something else."""
        if not self._drawn(self.recipe.stranger_share, rng):
            return record
        return with_stranger(record, rng.sample(self.contrasts[record.task.split("-")[1]], 4))

    def _reformatted(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes write the values of an answer, such as dates, in other formats."""
        share = self.recipe.reformatted_share
        answers = [
            reformatted(answer, rng) if rng.random() < share else answer
            for answer in record.answers
        ]
        return replace(record, answers=tuple(answers))

    def _corrupted(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes put a mistake into the last answer, or into the question."""
        if rng.random() < self.recipe.premise_share:
            return false_premise(record, rng) or record
        if rng.random() >= self.recipe.corrupted_share:
            return record
        strangers = rng.sample(self.ragtruth, min(8, len(self.ragtruth)))
        wrong = draw_corrupted(record, 1, rng, strangers)
        return replace(record, answers=(*record.answers[:-1], *wrong)) if wrong else record

    @staticmethod
    def _drawn(share: float, rng: random.Random) -> bool:
        # For a share of 0 no random number is drawn. So a recipe that is older than this setting
        # still draws the same numbers.
        return share > 0 and rng.random() < share

    def _quoted(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes replace the last answer of a slot-annotated text by a source's sentence."""
        if record.slots is None or not self._drawn(self.recipe.quoted_share, rng):
            return record
        quotation = quoted(record, rng)
        return record.with_last(quotation) if quotation else record

    def _alone(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes cut a slot-annotated text down to one claim with a few lines."""
        if record.slots is None or not self._drawn(self.recipe.alone_share, rng):
            return record
        strangers = rng.sample(self.slots, min(8, len(self.slots)))
        return alone(record, rng, strangers) or record

    def _withheld(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Sometimes remove the evidence of one sentence."""
        if rng.random() >= self.recipe.withheld_share:
            return record
        return withheld(record, rng) or record

    def _padded(self, record: LabelledContext, rng: random.Random) -> LabelledContext:
        """Add sources of other records, like the wrong passages that a retriever finds."""
        known = [*self.ragtruth, *self.slots]
        others = rng.sample(known, min(rng.randint(1, self.recipe.max_padding), len(known)))
        strangers = [rng.choice(other.sources) for other in others]
        sources = [replace(source, id="") for source in (*record.sources, *strangers)]
        rng.shuffle(sources)
        return replace(record, sources=read_sources(sources))

    def _group(self, record: LabelledContext, rng: random.Random | None) -> Group | None:
        if rng is not None:
            record = self.mixed_in(record, rng)
        evidence = data.evidence_of(record, self.pieces, self.words)
        with_question = rng is None or rng.random() >= self.recipe.no_question_share
        sentences = data.sentences_of(record, evidence, self.pieces, question=with_question)
        if not sentences or not evidence.passages:
            return None
        used = sorted({i for sentence in sentences for i in sentence.reads})
        if rng is not None and len(used) > self.recipe.max_passages:
            # Keep the passages that most sentences select, and drop sentences that need others.
            times = Counter(i for sentence in sentences for i in sentence.reads)
            used = sorted(sorted(used, key=lambda i: -times[i])[: self.recipe.max_passages])
            sentences = [s for s in sentences if set(s.reads) <= set(used)]
            if not sentences:
                return None
        place = {index: n for n, index in enumerate(used)}
        passages = [evidence.passages[i] for i in used]
        moved = [replace(s, reads=tuple(place[i] for i in s.reads)) for s in sentences]
        asked = self.pieces.encode(record.question or "").ids if with_question else np.empty(0)
        return data.group_of(moved, passages, asked.astype(np.int32), self.pieces)


def loss_of(model: Reader, group: Group, recipe: Recipe, *, mixed: bool = False) -> Tensor:
    """Compute the loss: cross entropy of word pieces, of sentences, and of sentences' worst pieces.

    The most doubtful piece of a sentence decides whether its answer is flagged. So it has a loss of
    its own, in which a single wrongly flagged piece of a faithful sentence costs much.

    Args:
        model: The reader.
        group: Answers to one context.
        recipe: Where the weights of the three losses come from.
        mixed: Whether to compute matrix products in bfloat16.
    """
    with torch.autocast(group.ids.device.type, dtype=torch.bfloat16, enabled=mixed):
        pieces, sentences = model(group)
    pieces, wanted = pieces.float(), group.sentence_labels
    real = group.labels != data.IGNORED
    doubt = pieces[real, 1:].logsumexp(1) - pieces[real, 0]
    worst = torch.full((len(wanted),), -100.0).scatter_reduce(
        0, group.sentence[real], doubt, "amax"
    )
    judged = wanted >= 0
    by_worst = F.binary_cross_entropy_with_logits(
        worst[judged], (wanted[judged] > 0).float(), reduction="sum"
    )
    return (
        _mean_loss(pieces, group.labels)
        + recipe.sentence_weight * _mean_loss(sentences.float(), wanted)
        + recipe.worst_weight * by_worst / judged.sum().clamp_min(1)
    )


def _mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross entropy of the items that have a label; 0 if there are none."""
    known = labels >= 0
    return F.cross_entropy(logits[known], labels[known], reduction="sum") / known.sum().clamp_min(1)


@torch.inference_mode()
def evaluate(
    model: Reader, groups: list[tuple[Group, LabelledContext]], *, mixed: bool = False
) -> str:
    """Return validation scores as text: best F1 of answers, and AUROC of answers and pieces."""
    model.eval()
    device = model.head.weight.device.type
    tops, golds, tasks, scores, targets = [], [], [], [], []
    for group, record in groups:
        with torch.autocast(device, dtype=torch.bfloat16, enabled=mixed), placed(device):
            logits = model(moved(group, device))[0].cpu()
        unsupported = 1 - logits.float().softmax(-1)[:, 0]
        real = group.labels >= 0
        scores.append(unsupported[real].numpy())
        targets.append((group.labels[real] > 0).numpy())
        answer = torch.where(group.sentence >= 0, group.answers[group.sentence.clamp_min(0)], -1)
        for i in range(len(record.answers)):
            mine = real & (answer == i)
            if mine.any():
                tops.append(float(unsupported[mine].max()))
                golds.append(bool((group.labels[mine] > 0).any()))
                tasks.append(record.task.split("-")[0])
    model.train()
    top, gold, task = np.array(tops), np.array(golds), np.array(tasks)
    best = max(np.linspace(0.02, 0.98, 49), key=lambda t: AnswerCounts.of(top >= t, gold).f1)
    parts = " ".join(
        f"{t} {AnswerCounts.of(top[task == t] >= best, gold[task == t]).f1:.3f}"
        for t in sorted(set(tasks))
    )
    pieces = Ranking.of(np.concatenate(scores), np.concatenate(targets)).auroc()
    return (
        f"F1 {AnswerCounts.of(top >= best, gold).f1:.4f} at {best:.2f}, "
        f"AUROC {Ranking.of(top, gold).auroc():.4f}, word-piece AUROC {pieces:.4f}; {parts}"
    )


def optimizer_of(model: Reader, rate: float, head_rate: float) -> torch.optim.AdamW:
    """Make AdamW, with its own learning rate for heads and feature table, and no decay for vectors.

    Two tables are frozen to save time. The gradient of the table of word pieces would be written as
    a whole at every step, though few pieces occur in a step. The gradient of the relative bias
    would be as large as the attention scores.
    """
    model.word.weight.requires_grad_(False)
    if model.near is not None:
        model.near.requires_grad_(False)
    heads = (model.head, model.sentence_head)
    fast = [model.feat.weight, *(p for head in heads for p in head.parameters())]
    new = {id(p) for p in fast}
    old = [p for p in model.parameters() if id(p) not in new and p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for p in old if p.ndim > 1], "weight_decay": 0.01},
            {"params": [p for p in old if p.ndim <= 1], "weight_decay": 0.0},
            {"params": fast, "weight_decay": 0.0, "lr": head_rate},
        ],
        lr=rate,
    )


def moved(tensors: _Tensors, device: str) -> _Tensors:
    """Return tensors on a device; a copy to a GPU does not wait for the work before it."""
    if device == "cpu":
        return tensors
    parts = (getattr(tensors, field.name) for field in fields(tensors))
    return type(tensors)(*(part.pin_memory().to(device, non_blocking=True) for part in parts))


def has_both_kinds(groups: Sequence[tuple[Group, LabelledContext]]) -> bool:
    """Return whether some answers have marks and some have none, which scores require."""
    return len({bool(answer.spans) for _, record in groups for answer in record.answers}) == 2


def train(
    recipe: Recipe,
    loader: Loader,
    model: Reader,
    out: Path,
    resume: bool,
    *,
    checkpoint_every: int = 100,
    device: str = "cpu",
    mixed: bool = False,
    curve_contexts: int | None = None,
    report: Report | None = None,
) -> None:
    """Train by a recipe, with regular checkpoints and validation scores.

    Args:
        recipe: The numbers of the training.
        loader: Draws the groups of each step.
        model: The model, which is trained in place.
        out: An existing folder. ``reader.safetensors`` gets the weights that were scored last, with
            adapters merged. ``state.pt`` gets what resuming needs: trained weights, optimizer and
            step.
        resume: Whether to continue from ``state.pt``, if it exists.
        checkpoint_every: Steps between two checkpoints. The last step has one too. At every third
            checkpoint, and at the last, the model is scored.
        device: ``cpu`` or ``cuda``.
        mixed: Whether to compute matrix products in bfloat16.
        curve_contexts: Validation contexts of each kind that are scored; ``None`` is all.
        report: Receives the progress; by default it is logged.
    """
    report = report or Logged()
    model.to(device)
    optimizer = optimizer_of(model, recipe.rate, recipe.head_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, recipe.rate_share)
    first, state = 0, out / "state.pt"
    if resume and state.exists():
        saved = torch.load(state, weights_only=True, map_location="cpu")
        model.load_state_dict(saved["model"], strict=False)
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
    validation = [g for r in loader.validation[:curve_contexts] if (g := loader.whole(r))]
    rng = random.Random(1)
    drawn = (sets.draw(record, 3, rng) for record in loader.slots_validation[:curve_contexts])
    variants = [g for r in drawn if (g := loader.whole(r))]
    model.train()
    report.begin(first, recipe.steps)
    for step in range(first, recipe.steps):
        torch.manual_seed(recipe.seed * 1_000_003 + step)
        groups = loader.step(step)
        total = 0.0
        for group in groups:
            with placed(device):
                loss = loss_of(model, moved(group, device), recipe, mixed=mixed) / len(groups)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        number = step + 1
        report.step(number, total)
        if number % checkpoint_every == 0 or number == recipe.steps:
            saved = {
                "model": trained_part(model),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "step": number,
            }
            torch.save(saved, state.with_suffix(".new"))
            state.with_suffix(".new").replace(state)
            report.saved(number)
            if number % (3 * checkpoint_every) == 0 or number == recipe.steps:
                save_weights(model, merged(model), out / "reader.safetensors")
                for name, scored in (("RAGTruth", validation), ("slot", variants)):
                    if has_both_kinds(scored):
                        scores = evaluate(model, scored, mixed=mixed)
                        report.say(f"step {number} {name} validation: {scores}")


def trained_part(model: Reader) -> dict[str, Tensor]:
    """Return the weights that are trained; with adapters, these are a small part of all weights."""
    learning = {name for name, part in model.named_parameters() if part.requires_grad}
    return {name: tensor for name, tensor in model.state_dict().items() if name in learning}
