"""Fits the weights by which :mod:`groundwire.explain.repair` chooses replacements.

``python -m groundwire_training.replacements --data DIR --model DIR`` writes them into the folder of
``reader-base`` whose hidden states they read; the data has ``slots/``, as for training the reader.
``groundwire_training.card`` then brings the manifest up to date.

First the candidates are ranked: in claims of slot-annotated answers, where a slot's place is taken
for the marked span, the replacement that gives the right claim shall have the highest score; in
right claims it is the words that stand there. Then the detector marks spans of other answers, with
one wrong slot and right ones, and a logistic regression gives the probability that the best
replacement is the right one.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import click
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from rich.progress import track
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from groundwire import Detector
from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.words import Word, is_negation, words_of
from groundwire.detection.example import Example
from groundwire.evaluation.datasets.slots import n_slots, render_slots
from groundwire.explain import repair
from groundwire.explain.ranking import (
    RANKING_FILE,
    Ranker,
    RankingWeights,
    WordStates,
    compared,
    standardised,
)
from groundwire.explain.replacements import FEATURES, Candidates
from groundwire.text.lines import lines_of
from groundwire.text.quantities import Quantity, quantities
from groundwire.text.segment import segment
from groundwire_training import sets
from groundwire_training.sets import LabelledContext

#: Lines of evidence in which words are looked for.
_LINES = 6
#: Wrong answers of a record that the detector reads.
_WRONG = 3
#: Candidates of a claim that are not right, at most.
_OTHERS = 600
#: Share of the right claims that are learned from.
_RIGHT = 0.5
#: Number of values that :func:`.features_of` returns.
_DECIDING = 6
#: Times that each claim is learned from, and claims in one step.
_PASSES, _PER_STEP = 4, 16
#: Size of the projected states, the share of their values left out in training, and rates.
_SIZE, _DROPOUT = 64, 0.3
_RATE, _FEATURE_RATE, _DECAY = 1e-3, 2e-2, 0.3
_ARTICLES = frozenset(("a", "an", "the"))


@dataclass(frozen=True, slots=True)
class Case:
    """The answer of a record with one wrong slot, or with none.

    Attributes:
        record: The record.
        answer: The answer.
        right: The answer with no wrong slot.
        slot: Start and end of the slot in ``answer``.
    """

    record: LabelledContext
    answer: str
    right: str
    slot: tuple[int, int]

    @property
    def is_wrong(self) -> bool:
        """Whether the slot has its wrong text."""
        return self.answer != self.right

    def is_mended(self, changed: str) -> bool:
        """Return whether a changed answer has the values and content words of the right one."""
        return _told(changed) == _told(self.right)


def cases(record: LabelledContext, rng: random.Random, n: int = 1) -> Iterator[Case]:
    """Yield ``n`` answers with one wrong slot of kind conflict, and the right one for each."""
    text = record.slots or ""
    right = render_slots(text, frozenset()).text
    made = [render_slots(text, frozenset({slot})) for slot in range(n_slots(text))]
    conflicts = [answer for answer in made if answer.spans and answer.spans[0][2] == 2]
    for answer in rng.sample(conflicts, min(n, len(conflicts))):
        start, end = answer.spans[0][:2]
        yield Case(record, answer.text, right, (start, end))
        yield Case(record, right, right, (start, end + len(right) - len(answer.text)))


@lru_cache(100_000)
def said(text: str) -> tuple[object, ...]:
    """Return the words and values of a text, in order, without articles."""
    values = quantities(text)
    found: list[tuple[int, object]] = [
        (value.start, (_number(value), value.unit)) for value in values
    ]
    for word in words_of(text):
        is_value = any(value.start < word.end and word.start < value.end for value in values)
        if not is_value and word.lower not in _ARTICLES:
            found.append((word.start, word.lower))
    return tuple(each for _, each in sorted(found, key=lambda each: each[0]))


def _told(text: str) -> Counter[object]:
    """Count the values and the stems of the content words of a text."""
    values = quantities(text)
    found: Counter[object] = Counter((_number(value), value.unit) for value in values)
    for word in words_of(text):
        is_value = any(value.start < word.end and word.start < value.end for value in values)
        if not is_value and (word.is_content or is_negation(word.lower)):
            found[word.stem] += 1
    return found


def _number(value: Quantity) -> object:
    return round(value.value, 6) if isinstance(value.value, float) else value.value


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates of one claim.

    Attributes:
        features: The candidates' features, shape ``(n, F)``.
        places: The places of their words, shape ``(n, 4)``; see :class:`.Candidates`.
        is_right: Which of them are right, shape ``(n,)``.
        states: The states of all words, in float16.
        is_wrong: Whether the claim is wrong.
    """

    features: NDArray[np.float32]
    places: NDArray[np.intp]
    is_right: NDArray[np.bool_]
    states: WordStates
    is_wrong: bool


def ranked(case: Case, ranker: Ranker, rng: random.Random) -> Ranked | None:
    """Find the candidates of a case's claim; ``None`` if none of them is right."""
    held = _held(case, rng)
    if held is None:
        return None
    found = Candidates.of(held)
    claim = held.claim.text
    start = case.answer.rindex(claim, 0, case.slot[0] + len(claim))
    longer = len(case.right) - len(case.answer)
    wanted = said(case.right[start : start + len(claim) + longer])
    slot = {*said(case.right[case.slot[0] : case.slot[1] + longer])}
    is_right = np.array(
        [
            (not slot or not slot.isdisjoint(said(change.text)))
            and said(change.applied(claim)) == wanted
            for change in found.replacements
        ],
        bool,
    )
    if not is_right.any():
        return None
    others = np.flatnonzero(~is_right).tolist()
    kept = [*np.flatnonzero(is_right).tolist(), *rng.sample(others, min(len(others), _OTHERS))]
    states = ranker.states(held, case.record.question or "")
    half = WordStates(states.claim.astype(np.float16), states.lines.astype(np.float16))
    return Ranked(found.features[kept], found.places[kept], is_right[kept], half, case.is_wrong)


def _held(case: Case, rng: random.Random) -> Held | None:
    """Return the claim around a slot, as if the detector had marked the slot, or nearly so."""
    start, end = case.slot
    pieces = (p for p in segment(case.answer) if p.start <= start and end <= p.end)
    piece = next(pieces, None)
    if piece is None:
        return None
    claim = ComparedText(case.answer[piece.start : piece.end])
    marked = [w for w in claim.words if w.start < end - piece.start and w.end > start - piece.start]
    if not marked:
        return None
    marked = _shifted(marked, claim.words, rng)
    lines = [
        ComparedText(source.text[line.start : line.end])
        for source in case.record.sources
        for line in lines_of(source.text)
    ]
    lines.sort(key=lambda line: -len(line.content & claim.content))
    return Held(claim, marked[0].start, marked[-1].end, tuple(lines[:_LINES]))


def _shifted(marked: list[Word], words: Sequence[Word], rng: random.Random) -> list[Word]:
    """Sometimes leave out a word at an end, or add the next one, as the detector does."""
    chance = rng.random()
    if chance < 0.3 and len(marked) > 1:
        return marked[1:] if chance < 0.15 else marked[:-1]
    following = [word for word in words if word.start >= marked[-1].end]
    return [*marked, *following[:1]] if chance > 0.85 else marked


class RankingModel(nn.Module):
    """The scores of :meth:`.Ranker.ranked`, to learn their weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projections = nn.Parameter(torch.randn(4, width, _SIZE) * width**-0.5)
        self.ways = nn.Parameter(torch.full((4,), 5.0))
        self.features = nn.Parameter(torch.zeros(len(FEATURES)))

    def scores(self, claim: Ranked) -> Tensor:
        """Return the score of each candidate, shape ``(n,)``."""
        scores = torch.from_numpy(claim.features) @ self.features
        own, line = (
            F.dropout(
                torch.from_numpy(standardised(each.astype(np.float32))), _DROPOUT, self.training
            )
            for each in (claim.states.claim, claim.states.lines)
        )
        pairs = zip(*map(torch.from_numpy, compared(claim.places)), strict=True)
        for way, projection, (ours, theirs) in zip(self.ways, self.projections, pairs, strict=True):
            one, other = F.normalize(own @ projection, dim=1), F.normalize(line @ projection, dim=1)
            scores = scores + way * (one @ other.T)[ours, theirs]
        return scores

    def weights(self) -> RankingWeights:
        """Return the weights, with a decision that is still to be fitted."""
        return RankingWeights(
            self.projections.detach().numpy(),
            self.ways.detach().numpy(),
            self.features.detach().numpy(),
            np.zeros(_DECIDING + 1, np.float32),
        )


def fit_ranking(claims: Sequence[Ranked]) -> RankingModel:
    """Learn weights with which a right candidate has the highest score."""
    torch.manual_seed(0)
    model = RankingModel(claims[0].states.claim.shape[1])
    groups = [
        {"params": [model.projections], "lr": _RATE, "weight_decay": _DECAY},
        {"params": [model.ways, model.features], "lr": _FEATURE_RATE, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    n_steps = max(1, _PASSES * len(claims) // _PER_STEP)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: max(0.02, 1 - n / n_steps))
    order = [n for _ in range(_PASSES) for n in torch.randperm(len(claims)).tolist()]
    for done, n in enumerate(track(order, "learning"), start=1):
        scores = model.scores(claims[n])
        is_right = torch.from_numpy(claims[n].is_right)
        loss = scores.logsumexp(0) - scores[is_right].logsumexp(0)
        (loss / _PER_STEP).backward()  # type: ignore[no-untyped-call]
        if done % _PER_STEP == 0:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    return model.eval()


@torch.inference_mode()
def shares_found(model: RankingModel, claims: Sequence[Ranked]) -> list[float]:
    """Return in what share of wrong claims a right candidate is the first, and in the best 16."""
    ranks = []
    for claim in claims:
        scores = model.scores(claim).numpy()
        if claim.is_wrong:
            ranks.append((scores > scores[claim.is_right].max()).sum())
    return [float(np.mean([rank < n for rank in ranks])) for n in (1, 16)]


def decisions(
    case: Case, detector: Detector, ranker: Ranker
) -> Iterator[tuple[tuple[float, ...], bool]]:
    """Yield, for each marked span with a replacement, what decides about it, and if it is right."""
    sources, question = case.record.sources, case.record.question
    found = detector.detect(sources=sources, question=question, answer=case.answer)
    example = Example(sources=sources, question=question, answer=case.answer)
    mender = repair.Mender(detector.detect_batch, example, ranker)
    for claim in found.claims:
        for span in claim.spans if len(claim.spans) == 1 else ():
            is_here = span.start < case.slot[1] and case.slot[0] < span.end
            fits = mender.fits(claim)
            if fits and (is_here or not case.is_wrong):
                text = fits[0].changes[0].applied(claim.text)
                changed = case.answer[: claim.start] + text + case.answer[claim.end :]
                seen = repair.features_of(fits[0], fits[1:], span)
                yield seen, case.is_wrong and case.is_mended(changed)


def fit_decision(rows: Sequence[tuple[tuple[float, ...], bool]]) -> NDArray[np.float32]:
    """Fit the probability that the best replacement is the right one: bias, then weights."""
    features, targets = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    model = LogisticRegression(C=1.0).fit(features, targets)
    return np.concatenate([model.intercept_, model.coef_[0]]).astype(np.float32)


def main() -> None:
    """Fit the weights from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder of reader-base")
    parser.add_argument("--rounds", type=int, default=2, help="claims of each record to rank")
    parser.add_argument("--records", type=int, default=300, help="records for the decision alone")
    options = parser.parse_args()
    rng = random.Random(7)
    judged = sets.slots(options.data / "slots" / "train.jsonl.gz")
    written = [
        record
        for path in sorted((options.data / "slots").glob("own-*.jsonl"))
        for record in sets.slots(path)
    ]
    rng.shuffle(judged)
    kept, judged = judged[: options.records], judged[options.records :]
    reading = Ranker.load(options.model, RankingModel(1).weights())

    def read(records: Sequence[LabelledContext], what: str) -> list[Ranked]:
        return [
            found
            for record in track(records, what)
            for case in cases(record, rng)
            if (case.is_wrong or rng.random() < _RIGHT) and (found := ranked(case, reading, rng))
        ]

    model = fit_ranking(read((judged * 2 + written) * options.rounds, "reading claims"))
    shares = shares_found(model, read(kept, "reading other claims"))
    click.echo(
        "Right candidates of claims not learned from: {:.3f} first, {:.3f} in 16".format(*shares)
    )
    detector = Detector.load(options.model)
    ranker = Ranker.load(options.model, model.weights())
    rows = [
        row
        for record in track(kept, "reading answers")
        for n, case in enumerate(cases(record, rng, _WRONG))
        if case.is_wrong or n == 1
        for row in decisions(case, detector, ranker)
    ]
    weights = asdict(replace(model.weights(), decision=fit_decision(rows)))
    weights["projections"] = weights["projections"].astype(np.float16)
    np.savez(options.model / RANKING_FILE, **weights)
    n_right = sum(is_right for _, is_right in rows)
    click.echo(f"{n_right} of {len(rows)} best replacements are right")


if __name__ == "__main__":
    main()
