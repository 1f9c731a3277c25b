"""The model and the training loop of the cross-encoder, which reads a claim with its closest lines.

It is trained on the reader's data (:class:`groundwire_training.loop.Loader`), claim by claim.
"""

import os
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from groundwire.detection.closest_lines import LINE_PIECES, closest_lines
from groundwire.detection.evidence import Query, Selection
from groundwire.engine.architecture import Architecture
from groundwire.engine.features import N_FEATURES, NEUTRAL, TABLE_ROWS, match_features
from groundwire.engine.layout import row_of
from groundwire.engine.sentence import parts_of
from groundwire.evaluation.metrics import Ranking
from groundwire.text.segment import segment
from groundwire_training import data, sets
from groundwire_training.loop import Loader, moved, optimizer_of, trained_part
from groundwire_training.model import N_LABELS, AttentionInput, Reader
from groundwire_training.recipe import Recipe
from groundwire_training.report import Report
from groundwire_training.sets import LabelledContext

#: The least budget of evidence for a claim in training, in word pieces.
_LEAST_LINES = 40
#: The most word pieces of one forward pass, padding included, on each device.
_PASS_PIECES = {"cpu": 1_024, "cuda": 32_768}
#: Steps between two reports of the loss: a GPU waits for each.
_REPORT_EVERY = {"cpu": 1, "cuda": 10}
#: The most word pieces of a claim in training.
_MAX_CLAIM = 128


@dataclass(frozen=True, slots=True, eq=False)
class CrossExample:
    """One claim with its lines, and its labels.

    Attributes:
        ids: Word pieces of the whole sequence, shape ``(n,)``.
        roles: Role of each piece, shape ``(n,)``.
        features: Match features, shape ``(n, F)``.
        labels: 0 supported, 1 unsupported, 2 contradicted, -1 unknown, -100 for pieces outside the
            claim; shape ``(n,)``.
        label: Label of the claim as a whole; -100 unknown.
        answer: Index of the claim's answer in its record.
    """

    ids: NDArray[np.int64]
    roles: NDArray[np.int64]
    features: NDArray[np.int64]
    labels: NDArray[np.int64]
    label: int
    answer: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Several examples of similar length, padded.

    ``features`` has shape ``(B, L, F)``, ``label`` ``(B,)``, and all others ``(B, L)``. ``mask`` is
    false at padding; the other fields are those of :class:`CrossExample`.
    """

    ids: Tensor
    roles: Tensor
    features: Tensor
    labels: Tensor
    label: Tensor
    mask: Tensor


class CrossModel(Reader):
    """A cross-encoder: it has the reader's layers, and all pieces of a sequence attend to all."""

    def __init__(self, sizes: Architecture, *, dropout: float = 0.0) -> None:
        super().__init__(sizes, dropout=dropout)
        self.sentence_head = nn.Linear(2 * sizes.width, N_LABELS)

    def judge(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Compute logits of word pieces, ``(B, L, 3)``, and of claims, ``(B, 3)``."""
        places = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        x = self.ln(self.word(batch.ids) + self.pos(places) + self.role(batch.roles))
        x = self.drop(x + self.feat(batch.features).sum(-2))
        device = x.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        shut = torch.zeros_like(batch.mask, dtype=dtype).masked_fill_(~batch.mask, -torch.inf)
        bias = shut[:, None, None, :] + self._near(places, dtype)
        x = x.to(dtype)
        for layer in self.typed_layers():
            keys, values = layer.keys_values(x)
            x = layer.attend(x, [AttentionInput(slice(None), keys, values, bias)])
        claim = ((batch.labels != data.IGNORED)[..., None]).to(x.dtype)
        mean = (x * claim).sum(1) / claim.sum(1).clamp_min(1)
        return self.head(x), self.sentence_head(torch.cat([x[:, 0], mean], 1))


def examples_of(
    record: LabelledContext, loader: Loader, rng: random.Random | None
) -> list[CrossExample]:
    """Make an example of every claim of a record's answers, with its lines as in deployment.

    Args:
        record: Labelled answers to one context.
        loader: Where the tokenizer, the word weights and the recipe come from.
        rng: Draws the budget of lines, and whether the question is left out. ``None`` keeps the
            question and the budget of deployment.
    """
    pieces = loader.pieces
    evidence = data.evidence_of(record, pieces, loader.words)
    if record.sources and not evidence.passages:
        return []
    with_question = rng is None or rng.random() >= loader.recipe.no_question_share
    asked = pieces.encode(record.question or "").ids if with_question else np.empty(0, np.int32)
    found = []
    for index, answer in enumerate(record.answers):
        before = np.empty(0, np.int32)
        parts = [part for s in segment(answer.text) for part in parts_of(answer.text, s, pieces)]
        for part in parts:
            query = Query.of(part.ids, question=asked, before=before)
            before = part.ids
            if rng is not None and len(part.ids) > _MAX_CLAIM:
                continue
            selection = evidence.select(query) if record.sources else Selection((), ())
            features = match_features(
                part.ids,
                part.offsets,
                part.text,
                passages=[evidence.passages[i] for i in selection.first],
                question_ids=asked,
                idf=evidence.words.idf,
                unknown_id=pieces.unknown_id,
            )
            chosen = sorted({*selection.first, *selection.second})
            budget = LINE_PIECES if rng is None else rng.randint(_LEAST_LINES, LINE_PIECES)
            excerpts = closest_lines(evidence, query, chosen, budget=budget) if chosen else ()
            ids, roles = row_of(
                part.ids, asked, excerpts, cls_id=pieces.cls_id, sep_id=pieces.sep_id
            )
            labels, label = data.sentence_labels(part, answer)
            n = len(part.ids)
            row = np.full(len(ids), data.IGNORED)
            row[1 : n + 1] = labels
            codes = np.full((len(ids), N_FEATURES), TABLE_ROWS - 1)
            codes[0] = NEUTRAL
            codes[1 : n + 1] = features
            found.append(CrossExample(ids, roles, codes, row, label, index))
    return found


def sampled(
    examples: Sequence[CrossExample], recipe: Recipe, rng: random.Random
) -> list[CrossExample]:
    """Draw wrong claims, and right ones in proportion; half of these are similar to wrong ones."""
    distinct = {(e.ids.tobytes(), e.labels.tobytes()): e for e in examples}
    wrong = [e for e in distinct.values() if e.label > 0]
    right = [e for e in distinct.values() if e.label == 0]
    rng.shuffle(wrong)
    rng.shuffle(right)
    wrong = wrong[: recipe.most_wrong]
    n_right = max(2, round(recipe.right_claims * len(wrong)))
    words = [_claim(e) for e in wrong]
    near = sorted(right, key=lambda e: -max((_likeness(_claim(e), w) for w in words), default=0.0))
    kept = near[: (n_right + 1) // 2] if wrong else []
    others = [e for e in right if not any(e is k for k in kept)]
    return [*wrong, *kept, *others[: n_right - len(kept)]]


def _claim(example: CrossExample) -> frozenset[int]:
    return frozenset(example.ids[example.labels != data.IGNORED].tolist())


def _likeness(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / max(1, len(one | other))


def batches(examples: Sequence[CrossExample], device: str = "cpu") -> Iterator[Batch]:
    """Group examples of similar length into batches that fit one pass of the device."""
    ordered = sorted(examples, key=lambda e: -len(e.ids))
    while ordered:
        length = -(-len(ordered[0].ids) // 16) * 16
        n = max(1, _PASS_PIECES[device] // length)
        yield moved(_batch(ordered[:n], length), device)
        ordered = ordered[n:]


def _batch(examples: Sequence[CrossExample], length: int) -> Batch:
    shape = (len(examples), length)
    ids, roles = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    labels, mask = np.full(shape, data.IGNORED), np.zeros(shape, bool)
    features = np.full((*shape, N_FEATURES), TABLE_ROWS - 1)
    for i, e in enumerate(examples):
        n = len(e.ids)
        ids[i, :n], roles[i, :n], labels[i, :n], mask[i, :n] = e.ids, e.roles, e.labels, True
        features[i, :n] = e.features
    arrays = (ids, roles, features, labels, np.array([e.label for e in examples]), mask)
    return Batch(*map(torch.from_numpy, arrays))


def _mixed(device: str) -> AbstractContextManager[object]:
    return torch.autocast(device, dtype=torch.bfloat16)


def loss_of(model: CrossModel, batch: Batch, recipe: Recipe) -> Tensor:
    """Compute the sum of the losses of all claims.

    The loss of a claim has three terms: the mean cross entropy of its word pieces, the cross
    entropy of the claim as a whole, and that of its most doubtful piece, which decides whether an
    answer is flagged.
    """
    with _mixed(batch.ids.device.type):
        pieces, claims = model.judge(batch)
    pieces, claims = pieces.float(), claims.float()
    known = batch.labels >= 0
    each = F.cross_entropy(
        pieces.flatten(0, 1), batch.labels.clamp_min(0).flatten(), reduction="none"
    ).view(batch.labels.shape)
    by_piece = (each * known).sum(1) / known.sum(1).clamp_min(1)
    is_judged = batch.label >= 0
    by_claim = F.cross_entropy(claims, batch.label.clamp_min(0), reduction="none") * is_judged
    real = batch.labels != data.IGNORED
    doubt = (pieces[..., 1:].logsumexp(-1) - pieces[..., 0]).masked_fill(~real, -100.0).amax(1)
    by_worst = F.binary_cross_entropy_with_logits(
        doubt, (batch.label > 0).float(), reduction="none"
    )
    return (
        recipe.piece_weight * by_piece
        + recipe.sentence_weight * by_claim
        + recipe.worst_weight * by_worst * is_judged
    ).sum()


@torch.inference_mode()
def doubts(model: CrossModel, examples: Sequence[CrossExample]) -> tuple[list[Tensor], Tensor]:
    """Compute log-odds of not supported: of each claim's word pieces, and of each whole claim."""
    model.eval()
    device = model.head.weight.device.type
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i].ids))
    found: list[Tensor] = []
    whole: list[Tensor] = []
    for batch in batches([examples[i] for i in order], device):
        with _mixed(device):
            pieces, claims = model.judge(batch)
        pieces, claims, labels = pieces.float().cpu(), claims.float().cpu(), batch.labels.cpu()
        doubt = pieces[..., 1:].logsumexp(-1) - pieces[..., 0]
        found += [d[m] for d, m in zip(doubt, labels != data.IGNORED, strict=True)]
        whole.append(claims[:, 1:].logsumexp(1) - claims[:, 0])
    model.train()
    back = np.argsort(order)
    return [found[i] for i in back], torch.cat(whole)[torch.from_numpy(back)]


def scores(model: CrossModel, records: Sequence[list[CrossExample]]) -> str:
    """Return AUROCs as text: of answers, claims (by pieces and by the head) and word pieces."""
    examples = [e for found in records for e in found]
    by_piece, by_claim = doubts(model, examples)
    answer_of = [(n, e.answer) for n, found in enumerate(records) for e in found]
    tops: dict[tuple[int, int], float] = {}
    golds: dict[tuple[int, int], bool] = {}
    for key, doubt, e in zip(answer_of, by_piece, examples, strict=True):
        tops[key] = max(tops.get(key, -100.0), float(doubt.max()))
        golds[key] = golds.get(key, False) or e.label > 0
    judged = [i for i, e in enumerate(examples) if e.label >= 0]
    gold = np.array([examples[i].label > 0 for i in judged])
    top = np.array([float(by_piece[i].max()) for i in judged])
    labels = np.concatenate([e.labels[e.labels != data.IGNORED] for e in examples])
    flat = torch.cat(by_piece).numpy()
    known = labels >= 0
    answers = Ranking.of(np.array(list(tops.values())), np.array(list(golds.values())))
    return (
        f"answers {answers.auroc():.3f}"
        f" claims {Ranking.of(top, gold).auroc():.3f}"
        f" by head {Ranking.of(by_claim.numpy()[judged], gold).auroc():.3f}"
        f" pieces {Ranking.of(flat[known], labels[known] > 0).auroc():.3f}"
        f" (n {len(tops)}, {len(judged)})"
    )


def _examples_of_step(loader: Loader, step: int) -> list[CrossExample]:
    rng = random.Random(f"{loader.recipe.seed} cross {step}")
    return [
        e
        for record in loader.records(step)
        for e in sampled(examples_of(loader.mixed_in(record, rng), loader, rng), loader.recipe, rng)
    ]


class _Examples(Dataset[list[CrossExample]]):
    """The examples of each step, by its number."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getitem__(self, step: int) -> list[CrossExample]:
        return _examples_of_step(self._loader, step)


def drawn(
    loader: Loader, steps: Sequence[int], device: str, threads: int
) -> Iterator[list[CrossExample]]:
    """Draw the examples of steps ahead: in one thread, or for a GPU in ``threads`` processes.

    One process would need longer to draw a step than a GPU needs to learn from it.
    """
    if device != "cpu" and hasattr(os, "fork"):
        yield from DataLoader(
            _Examples(loader),
            batch_size=None,
            sampler=steps,
            num_workers=threads,
            prefetch_factor=4,
            collate_fn=_unchanged,
            multiprocessing_context="fork",  # so that all share the loader's records
        )
        return
    with ThreadPoolExecutor(1) as pool:
        coming = deque(pool.submit(_examples_of_step, loader, step) for step in steps[:1])
        for step in steps[1:]:
            coming.append(pool.submit(_examples_of_step, loader, step))
            yield coming.popleft().result()
        yield from (each.result() for each in coming)


def _unchanged(examples: list[CrossExample]) -> list[CrossExample]:
    return examples


def _learn(model: CrossModel, recipe: Recipe, n: int, batch: Batch) -> Tensor:
    """Add a batch's share of the gradients of a step of ``n`` claims; return its share of loss."""
    loss = loss_of(model, batch, recipe) / n
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()


class FloatCopies:
    """Copies in float32 of a model's bfloat16 weights, for its optimizer.

    A step changes a weight by less than bfloat16 can tell from no change.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        """Make the copies, and let the optimizer change them in place of the weights."""
        self._pairs: list[tuple[Tensor, Tensor]] = []
        for group in optimizer.param_groups:
            group["params"] = [self._copied(weight) for weight in group["params"]]

    def _copied(self, weight: Tensor) -> Tensor:
        if weight.dtype != torch.bfloat16:
            return weight
        copy = weight.detach().float()
        self._pairs.append((weight, copy))
        return copy

    def take_gradients(self) -> None:
        """Move the gradients of the weights to their copies."""
        for weight, copy in self._pairs:
            copy.grad = weight.grad.float() if weight.grad is not None else None
            weight.grad = None

    @torch.no_grad()
    def give_weights(self) -> None:
        """Write the copies into the weights."""
        for weight, copy in self._pairs:
            weight.copy_(copy)

    def state(self) -> list[Tensor]:
        """Return the copies, for a checkpoint."""
        return [copy for _, copy in self._pairs]

    def restore(self, state: Sequence[Tensor]) -> None:
        """Take the copies of a checkpoint, and write them into the weights."""
        for (_, copy), saved in zip(self._pairs, state, strict=True):
            copy.copy_(saved)
        self.give_weights()


def train(
    recipe: Recipe,
    loader: Loader,
    model: CrossModel,
    out: Path,
    *,
    resume: bool,
    checkpoint_every: int,
    curve_contexts: int | None,
    report: Report,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Train by a recipe. A checkpoint has the trained weights and the optimizer's state.

    On a CPU, each of several threads learns from one batch at a time and uses one core. That is
    faster than matrix products that share all cores, since a batch of claims is small. For a GPU,
    ``threads`` processes draw the examples.
    """
    model.to(device)
    optimizer = optimizer_of(model, recipe.rate, recipe.head_rate)
    copies = FloatCopies(optimizer)
    learning = [weight for group in optimizer.param_groups for weight in group["params"]]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, recipe.rate_share)
    first, state = 0, out / "state.pt"
    if resume and state.exists():
        saved = torch.load(state, weights_only=True, map_location=device)
        model.load_state_dict(saved["model"], strict=False)
        copies.restore(saved["copies"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
    validation = {
        "RAGTruth": [examples_of(r, loader, None) for r in loader.validation[:curve_contexts]],
        "slots": [
            examples_of(sets.draw(r, 3, random.Random(1), one_slot_share=1.0), loader, None)
            for r in loader.slots_validation[:curve_contexts]
        ],
        "short texts": [
            examples_of(sets.both_ways(r, random.Random(1)), loader, None)
            for r in loader.pairs_validation[:curve_contexts]
        ],
    }
    model.train()
    report.begin(first, recipe.steps)
    n_pieces, started = 0, time.perf_counter()
    pool = ThreadPoolExecutor(threads if device == "cpu" else 1)
    steps = range(first, recipe.steps)
    for step, examples in zip(steps, drawn(loader, steps, device, threads), strict=True):
        torch.manual_seed(recipe.seed * 1_000_003 + step)
        learn = partial(_learn, model, recipe, len(examples))
        losses = list(pool.map(learn, batches(examples, device)))
        n_pieces += sum(len(e.ids) for e in examples)
        copies.take_gradients()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        copies.give_weights()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        number = step + 1
        if number % _REPORT_EVERY[device] == 0 or number == recipe.steps:
            report.step(number, float(sum(losses)))
        if number % 10 == 0:
            rate = n_pieces / (time.perf_counter() - started)
            report.say(f"step {number}: {len(examples)} claims, {rate:.0f} word pieces a second")
            n_pieces, started = 0, time.perf_counter()
        if number % checkpoint_every == 0 or number == recipe.steps:
            saved = {
                "model": trained_part(model),
                "copies": copies.state(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "step": number,
            }
            torch.save(saved, state.with_suffix(".new"))
            state.with_suffix(".new").replace(state)
            report.saved(number)
            if number % (3 * checkpoint_every) == 0 or number == recipe.steps:
                for name, records in filter(all, validation.items()):
                    report.say(f"step {number} {name}: {scores(model, records)}")
            started = time.perf_counter()
