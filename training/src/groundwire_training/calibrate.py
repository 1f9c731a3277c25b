"""Fits the calibration and the operating points of a model folder, as it is deployed.

``python -m groundwire_training.calibrate --data DIR --model DIR [--compare DIR] [--json FILE]``
reads validation answers through the engine, as the detector does (int8, selection, claim by claim),
fits the maps from logits to probabilities, chooses thresholds on whole answers, and writes both
into the manifest. The scores that it prints are cross-fitted: each answer is scored with maps and
thresholds that were fitted on answers to other contexts. ``--compare`` scores a second folder too,
such as one with the same weights in fp32.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan, log
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression

from groundwire.detection.example import read_sources
from groundwire.detection.rules import Conflict
from groundwire.detection.values import Claim, Label
from groundwire.engine.architecture import Architecture
from groundwire.engine.models import Manifest
from groundwire.engine.part_scores import Calibration, CrossWeights
from groundwire.engine.reader import Reader
from groundwire.engine.scores import AnswerCalibration, ClaimScores, SentenceCalibration
from groundwire.evaluation.calibration import brier, reliability
from groundwire.evaluation.datasets.slots import MarkedAnswer, n_slots, render_slots
from groundwire.evaluation.intervals import Bootstrap
from groundwire.evaluation.metrics import AnswerCounts, Ranking, count_characters, f1_of
from groundwire.explain.nearby import SourceLines
from groundwire.text.segment import Segment, segment
from groundwire_training import contrasts, data, rows, sentences, sets
from groundwire_training.alone import sentences_of
from groundwire_training.loop import VALIDATION_CONTEXTS
from groundwire_training.package import write_manifest
from groundwire_training.sentences import ScoredClaim
from groundwire_training.sets import LabelledContext

#: Threshold at which a claim is read again with other passages; close to ``balanced`` thresholds.
_SECOND_LOOK_AT = 0.3
#: Share of hallucinated answers that ``balanced`` is chosen for: the share in RAGTruth's test set
#: (https://arxiv.org/abs/2401.00396). Half of the validation answers are hallucinated.
_PREVALENCE = 0.35
#: The most that ``balanced`` may lose of the best sum of its two scores.
_MAX_LOSS = 0.01
#: At ``precision``, at most this share of the grounded answers that it is fitted on is flagged. Of
#: others it is more: cross-fitted 1.8 % for reader-base 0.7.1. The aim is 2 %.
_MAX_FALSE_POSITIVES = 0.015
#: At ``recall``, at least this share of hallucinated answers is flagged.
_MIN_RECALL = 0.90
_GRID = np.round(np.linspace(0.01, 0.99, 99), 2)
_FOLDS = 5
# Of each context, only every second answer is also read with a few lines alone. Each such reading
# takes as long as the first.
_LINES_EVERY = 2
#: Weights to try for the cross-encoder's logits.
_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
#: The number of tables and captions whose claims are used to choose these weights.
_PLAIN = 160
#: The number of slot-annotated texts whose claims are used too, and the number of other texts whose
#: sources are added to every second of them.
_WRITTEN, _STRANGERS = 60, 8
_LABELS = (Label.SUPPORTED, Label.UNSUPPORTED, Label.CONTRADICTED)
#: The report groups answers by number of passages; these are the upper ends of the groups.
_BUCKETS = (1, 3, 6, 1_000_000)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """One validation answer with the reader's scores.

    Attributes:
        context: Id of the answer's context. Answers to one context are not independent.
        task: Data set or task of the answer.
        n_passages: Number of passages in the context.
        answer: The text of the answer, with gold spans.
        logits: Log-odds of not supported of each word piece, uncalibrated, shape ``(n,)``.
        labels: Gold labels: 0 supported, 1 unsupported, 2 contradicted, shape ``(n,)``.
        contradicted: P(contradicted) given that the piece is not supported, shape ``(n,)``.
        offsets: Character ranges in the answer, shape ``(n, 2)``.
        conflicts: Conflicts with the evidence that the rules find.
        settled: Ranges that plainly follow from the evidence, according to the rules.
        claims: Scores of the answer's claims, each read as a whole.
        models: Uncalibrated logits of each model, of shape ``(n, 3)``: the reader's, and those of a
            cross-encoder for word pieces and for claims.
    """

    context: str
    task: str
    n_passages: int
    answer: MarkedAnswer
    logits: NDArray[np.float64]
    labels: NDArray[np.int64]
    contradicted: NDArray[np.float64]
    offsets: NDArray[np.int32]
    conflicts: tuple[Conflict, ...] = ()
    settled: tuple[tuple[int, int], ...] = ()
    claims: tuple[ScoredClaim, ...] = ()
    models: tuple[NDArray[np.float32], ...] = ()

    def mixed(self, weights: CrossWeights) -> "Scored":
        """Return the answer with the cross-encoder's weighted logits added to the reader's."""
        if len(self.models) < 3:
            return self
        reader, pieces, claim = (logits.astype(np.float64) for logits in self.models)
        wide = reader + weights.pieces * pieces + weights.claim * claim
        wrong = np.logaddexp(wide[:, 1], wide[:, 2])
        return replace(self, logits=wrong - wide[:, 0], contradicted=np.exp(wide[:, 2] - wrong))

    @property
    def is_hallucinated(self) -> bool:
        """Whether a word piece has a gold mark, or a sentence is known to have a mistake."""
        return bool((self.labels > 0).any()) or any(label > 0 for *_, label in self.answer.doubts)


def validation_records(folder: Path) -> Iterator[LabelledContext]:
    """Yield the records that training holds out for validation.

    In a folder of sets, these are some contexts of RAGTruth's training part, and the validation
    part of the slot-annotated texts. In a user's own file, they are a tenth of the contexts.
    """
    if folder.is_file():
        yield from rows.split(folder, rows.read(folder))[0]
        return
    records = sets.ragtruth(folder / "ragtruth" / "train.jsonl.gz")
    random.Random(0).shuffle(records)
    yield from records[:VALIDATION_CONTEXTS]
    rng = random.Random(1)
    for record in sets.slots(folder / "slots" / "validation.jsonl.gz"):
        yield sets.draw(record, 3, rng)


def plain_claims(folder: Path) -> list[LabelledContext]:
    """Read short claims that training holds out: about tables, captions and slot-annotated texts.

    The cross-encoder's weights are chosen with them, because few whole answers have such plain
    errors. A user's own file has none. Every second slot-annotated text also gets sources of other
    texts, like the wrong passages that a retriever finds.
    """
    if folder.is_file():
        return []
    written = folder / "slots" / "validation-claims.jsonl"
    records = sets.slots(written) if written.exists() else []
    rng = random.Random(2)
    found = contrasts.held_out(folder / "pairs", _PLAIN)
    for n, record in enumerate(records[:_WRITTEN]):
        sources = [*record.sources]
        if n % 2:
            sources += [s for other in rng.sample(records, _STRANGERS) for s in other.sources]
            rng.shuffle(sources)
        slots = record.slots or ""
        wrong = frozenset(range(n_slots(slots)))
        answers = [render_slots(slots, chosen) for chosen in (frozenset[int](), wrong)]
        claims = tuple(claim for answer in answers for claim in sentences_of(answer))
        sources = [replace(source, id="") for source in sources]
        found.append(replace(record, sources=read_sources(sources), answers=claims))
    return found


def score(reader: Reader, records: Iterable[LabelledContext]) -> list[Scored]:
    """Score answers with the reader, as the detector does."""
    plain = sentences.without_calibration(replace(reader, calibration=Calibration()))
    scored = []
    for record in records:
        lines = SourceLines(record.sources)
        for n, answer in enumerate(record.answers):
            session = plain.open(
                record.sources, record.question, threshold=_SECOND_LOOK_AT, tenant=""
            )
            segments = segment(answer.text)
            claims = session.read(answer.text, segments)
            read = [claim for claim in claims if claim.reason is None]
            if not read:
                continue
            offsets = np.concatenate([claim.offsets for claim in read])
            p = np.concatenate([claim.labels for claim in read]).astype(np.float64)
            p = np.clip(p, 1e-7, 1)
            doubt = p[:, 1] + p[:, 2]
            scored.append(
                Scored(
                    context=record.id,
                    task=record.task.split("-")[0],
                    n_passages=len(session.evidence.passages),
                    answer=answer,
                    logits=np.log(doubt) - np.log(p[:, 0]),
                    labels=np.array(data.labels_of(offsets, answer.spans)),
                    contradicted=p[:, 2] / doubt,
                    offsets=offsets,
                    conflicts=tuple(found for claim in read for found in claim.conflicts),
                    settled=tuple(found for claim in read for found in claim.settled),
                    models=tuple(
                        np.concatenate(each)
                        for each in zip(*(claim.logits for claim in read), strict=True)
                    ),
                    claims=tuple(
                        _claim(plain, None if n % _LINES_EVERY else lines, answer, place, claim)
                        for place, claim in zip(segments, claims, strict=True)
                        if claim.entailment is not None
                    ),
                )
            )
    return scored


def _claim(
    reader: Reader,
    lines: SourceLines | None,
    answer: MarkedAnswer,
    place: Segment,
    scores: ClaimScores,
) -> ScoredClaim:
    """Collect the scores of a whole claim, read with its passages and with its best lines alone."""
    assert scores.entailment is not None
    shares = [scores.entailment.of(label) for label in _LABELS]
    claim = Claim(
        start=place.start,
        end=place.end,
        text=answer.text[place.start : place.end],
        label=Label.SUPPORTED,
        probability=None,
        evidence=scores.evidence,
    )
    marks = [k for start, end, k in answer.spans if start < place.end and end > place.start]
    p = np.clip(scores.probabilities.astype(np.float64), 1e-7, 1 - 1e-7).max()
    return ScoredClaim(
        label=max(marks, default=0),
        doubt=float(np.log(p) - np.log1p(-p)),
        whole=np.log(np.clip(shares, 1e-7, 1)),
        lines=sentences.by_lines(reader, lines, claim) if lines else None,
    )


# Fitting.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Fitted maps from logits to probabilities, and thresholds.

    Attributes:
        pieces: Platt's map (1999) for word pieces.
        answers: Platt's map for the highest probability of an answer's pieces.
        thresholds: The threshold for each operating point, by name.
        whole: The map for claims read with their passages; ``None`` if it could not be fitted.
        lines: The map for claims read with a few lines alone; ``None`` if it could not be fitted.
    """

    pieces: Calibration
    answers: AnswerCalibration
    thresholds: dict[str, float]
    whole: SentenceCalibration | None = None
    lines: SentenceCalibration | None = None

    @classmethod
    def on(cls, scored: Sequence[Scored]) -> Self:
        """Fit all maps and thresholds on answers; some must be hallucinated, and some must not."""
        logits = np.concatenate([answer.logits for answer in scored])
        targets = np.concatenate([answer.labels for answer in scored]) > 0
        scale, offset = _platt(logits, targets)
        pieces = Calibration(scale=scale, offset=offset)
        tops = np.array([piece_probabilities(answer, pieces).max() for answer in scored])
        gold = np.array([answer.is_hallucinated for answer in scored])
        tops = np.clip(tops, 1e-6, 1 - 1e-6)
        scale, offset = _platt(np.log(tops) - np.log(1 - tops), gold)
        answers = AnswerCalibration(scale=scale, offset=offset)
        thresholds = choose(scored, pieces)
        claims = [claim for answer in scored for claim in answer.claims]
        return cls(
            pieces=pieces,
            answers=answers,
            thresholds=thresholds,
            whole=sentences.fit_whole(claims),
            lines=sentences.fit_lines(claims, doubt=marked_from(thresholds["balanced"], pieces)),
        )


def marked_from(threshold: float, calibration: Calibration) -> float:
    """Return the uncalibrated log-odds at which a word piece's probability equals a threshold."""
    p = min(threshold, 1 - 1e-9)
    return (log(p / (1 - p)) - calibration.offset) / calibration.scale


def _platt(logits: NDArray[np.float64], targets: NDArray[np.bool_]) -> tuple[float, float]:
    model = LogisticRegression(C=1e6).fit(logits[:, None], targets)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def can_fit(scored: Sequence[Scored]) -> bool:
    """Return whether some answers are hallucinated and some are not, which fitting requires."""
    return len({answer.is_hallucinated for answer in scored}) == 2


def choose_weights(scored: Sequence[Scored], plain: Sequence[Scored] = ()) -> CrossWeights:
    """Choose the cross-encoder's weights that give the least sum of cross entropies.

    Each cross entropy is computed after a Platt map of its own.

    Args:
        scored: Answers. The cross entropy of their word pieces and that of whole answers count.
        plain: Plain claims (:func:`plain_claims`). Their cross entropy counts as much as that of
            the whole answers.
    """
    targets = np.concatenate([answer.labels for answer in scored]) > 0

    def loss(weights: CrossWeights) -> float:
        logits = np.concatenate([answer.mixed(weights).logits for answer in scored])
        groups = [group for group in (scored, plain) if group]
        return _cross_entropy(logits, targets) + sum(answer_entropy(g, weights) for g in groups)

    return min((CrossWeights(pieces=p, claim=c) for p in _WEIGHTS for c in _WEIGHTS), key=loss)


def answer_entropy(scored: Sequence[Scored], weights: CrossWeights) -> float:
    """Return the cross entropy of answers, scored by their most doubtful word piece.

    A Platt map is fitted first.

    Args:
        scored: Answers, some hallucinated and some not.
        weights: Weights of the cross-encoder's logits.

    Returns:
        The mean over the answers, in nats.
    """
    tops = np.array([answer.mixed(weights).logits.max() for answer in scored])
    return _cross_entropy(tops, np.array([answer.is_hallucinated for answer in scored]))


def _cross_entropy(logits: NDArray[np.float64], targets: NDArray[np.bool_]) -> float:
    scale, offset = _platt(logits, targets)
    signed = np.where(targets, 1, -1) * (scale * logits + offset)
    return float(np.logaddexp(0, -signed).mean())


def choose(scored: Sequence[Scored], calibration: Calibration) -> dict[str, float]:
    """Choose the threshold of each operating point.

    ``balanced`` is judged by the sum of two scores: F1 of whole answers, weighted to the share of
    hallucinated answers in RAGTruth's test set, and F1 of marked characters. It is the highest
    threshold whose sum is at most :data:`_MAX_LOSS` below the best one, because the sum hardly
    changes around its best, and a higher threshold flags fewer right answers. ``precision`` is the
    lowest threshold that flags at most 1.5 % of grounded answers. ``recall`` is the highest
    threshold that finds at least 90 % of hallucinated answers.
    """
    tops = np.array([piece_probabilities(answer, calibration).max() for answer in scored])
    gold = np.array([answer.is_hallucinated for answer in scored])
    weights = np.where(gold, _PREVALENCE / gold.mean(), (1 - _PREVALENCE) / (1 - gold.mean()))

    def worth(threshold: float) -> float:
        flagged = tops >= threshold
        sums = [weights[flagged & gold].sum(), weights[flagged].sum(), weights[gold].sum()]
        return float(f1_of(sums)) + character_f1(scored, calibration, threshold)

    worths = [worth(threshold) for threshold in _GRID]
    balanced = float(_GRID[np.array(worths) >= max(worths) - _MAX_LOSS].max())
    strict = [t for t in _GRID if (tops[~gold] >= t).mean() <= _MAX_FALSE_POSITIVES]
    wide = [t for t in _GRID if (tops[gold] >= t).mean() >= _MIN_RECALL]
    precision = max(float(strict[0]) if strict else 0.99, balanced)
    recall = min(float(wide[-1]) if wide else 0.01, balanced)
    return {"precision": precision, "balanced": balanced, "recall": recall}


def piece_probabilities(answer: Scored, calibration: Calibration) -> NDArray[np.float64]:
    """Return P(not supported) of each word piece, corrected by the rules; shape ``(n,)``."""
    # The sigmoid in a form that does not overflow for steep maps.
    odds = calibration.scale * answer.logits + calibration.offset
    doubt = np.exp(-np.logaddexp(0, -odds))
    if not (answer.conflicts or answer.settled):
        return np.asarray(doubt)
    shares = doubt[:, None] * np.stack([1 - answer.contradicted, answer.contradicted], axis=1)
    scores = ClaimScores(
        offsets=answer.offsets,
        labels=np.column_stack([1 - doubt, shares]).astype(np.float32),
        conflicts=answer.conflicts,
        settled=answer.settled,
    )
    return scores.with_rules().probabilities.astype(np.float64)


def characters(answer: Scored, calibration: Calibration, threshold: float) -> tuple[int, int, int]:
    """Count the characters of an answer: those both flagged and gold, those flagged, those gold."""
    hit = piece_probabilities(answer, calibration) >= threshold
    ranges = [(int(a), int(b)) for a, b in answer.offsets[hit]]
    gold = [(start, end) for start, end, _ in answer.answer.spans]
    return count_characters(ranges, gold, answer.answer.text)


def character_f1(scored: Iterable[Scored], calibration: Calibration, threshold: float) -> float:
    """Return F1 over the characters of all answers together, in [0, 1]."""
    sums = np.sum([characters(answer, calibration, threshold) for answer in scored], axis=0)
    return float(np.nan_to_num(f1_of(sums)))


def calibrate(
    folder: Path, scored: Sequence[Scored], *, weights: CrossWeights | None = None
) -> Fitted:
    """Fit on answers that a folder's model has scored, and write the result into its manifest.

    Raises:
        ValueError: If all answers are hallucinated, or none is.
    """
    fitted = Fitted.on(scored)
    manifest = Manifest.read(folder)
    write_manifest(
        folder,
        sizes=Architecture.from_manifest(manifest.raw),
        version=manifest.version,
        companion=manifest.raw.get("companion"),
        knows_remarks=bool(manifest.raw.get("knows_remarks")),
        cross_weights=asdict(weights) if weights else None,
        operating_points=fitted.thresholds,
        calibration={"scale": fitted.pieces.scale, "offset": fitted.pieces.offset},
        answer_calibration={"scale": fitted.answers.scale, "offset": fitted.answers.offset},
        sentence_calibration=asdict(fitted.whole) if fitted.whole else None,
        lines_calibration=asdict(fitted.lines) if fitted.lines else None,
    )
    return fitted


# Measuring.


def cross_fitted(scored: Sequence[Scored]) -> list[tuple[Scored, Fitted]]:
    """Pair each answer with the maps that were fitted on the answers to other contexts."""
    folds = _folds(scored)
    fitted = [Fitted.on(rest) for rest in _rests(scored)]
    return [(answer, fitted[fold]) for answer, fold in zip(scored, folds, strict=True)]


def can_cross_fit(scored: Sequence[Scored]) -> bool:
    """Return whether fitting is possible without any one of the folds."""
    return all(map(can_fit, _rests(scored)))


def _rests(scored: Sequence[Scored]) -> list[list[Scored]]:
    folds = _folds(scored)
    return [
        [answer for answer, at in zip(scored, folds, strict=True) if at != fold]
        for fold in range(_FOLDS)
    ]


def _folds(scored: Sequence[Scored]) -> list[int]:
    contexts = sorted({answer.context for answer in scored})
    random.Random(0).shuffle(contexts)
    fold_of = {context: i % _FOLDS for i, context in enumerate(contexts)}
    return [fold_of[answer.context] for answer in scored]


def ece_by_chance(probabilities: ArrayLike, *, n_draws: int = 200) -> NDArray[np.float64]:
    """Simulate the calibration errors that perfectly calibrated forecasts would have by chance.

    In a bin with few forecasts the frequency differs from the probability by chance, so the error
    of a sample is hardly ever 0. A measured error is evidence of bad calibration only if it is
    above most of the simulated errors.

    Returns:
        The expected calibration error of each simulated sample, shape ``(n_draws,)``.
    """
    said = np.asarray(probabilities, np.float64)
    rng = np.random.default_rng(0)
    drawn = (rng.random(said.shape) < said for _ in range(n_draws))
    return np.array([reliability(said, so).ece for so in drawn])


def measure(judged: Sequence[tuple[Scored, Fitted]]) -> dict[str, Any]:
    """Compute the scores of a report, each answer with its own maps; shares are in [0, 1]."""
    gold = np.array([answer.is_hallucinated for answer, _ in judged])
    tops = np.array([piece_probabilities(a, fitted.pieces).max() for a, fitted in judged])
    bootstrap = Bootstrap.of([answer.context for answer, _ in judged])

    def f1(sums: Sequence[tuple[int, int, int]]) -> dict[str, float]:
        interval = bootstrap.of_sums(sums, f1_of).interval()
        return {
            "f1": float(f1_of(np.sum(sums, axis=0))),
            "low": interval.low,
            "high": interval.high,
        }

    points = {}
    for name in judged[0][1].thresholds:
        flagged = tops >= np.array([fitted.thresholds[name] for _, fitted in judged])
        counts = AnswerCounts.of(flagged, gold)
        kinds = zip((flagged & gold).tolist(), flagged.tolist(), gold.tolist(), strict=True)
        points[name] = {
            "precision": counts.precision,
            "recall": counts.recall,
            "false_positive_rate": counts.false_positive_rate,
            **f1([(int(both), int(found), int(wrong)) for both, found, wrong in kinds]),
            "characters": f1(
                [characters(a, fitted.pieces, fitted.thresholds[name]) for a, fitted in judged]
            ),
        }
    pieces = np.concatenate([piece_probabilities(a, fitted.pieces) for a, fitted in judged])
    marked = np.concatenate([answer.labels for answer, _ in judged]) > 0
    whole = [fitted.answers.probability(top) for top, (_, fitted) in zip(tops, judged, strict=True)]
    return {
        "n": len(judged),
        "hallucinated": float(gold.mean()),
        "flag_all_f1": AnswerCounts.of(gold, gold).flag_all_f1,
        "auroc": Ranking.of(tops, gold).auroc(),
        "points": points,
        "piece_auroc": Ranking.of(pieces, marked).auroc(),
        "answer_ece": reliability(whole, gold).ece,
        "answer_ece_by_chance": float(np.quantile(ece_by_chance(whole), 0.95)),
        "answer_brier_skill": brier(whole, gold).skill,
        "piece_ece_from_0.1": reliability(pieces, marked, lowest=0.1).ece,
        "piece_brier_skill": brier(pieces, marked).skill,
    }


def report(scored: Sequence[Scored]) -> dict[str, Any]:
    """Compute cross-fitted scores of all answers together, by task and by number of passages."""
    judged = cross_fitted(scored)
    groups = {"all": judged}
    if any(answer.task == "slots" for answer in scored):
        groups["RAGTruth"] = [pair for pair in judged if pair[0].task != "slots"]
    for task in sorted({answer.task for answer in scored}):
        groups[task] = [pair for pair in judged if pair[0].task == task]
    for low, high in zip((0, *_BUCKETS), _BUCKETS, strict=False):
        name = f"{low + 1}-{high} passages" if high < _BUCKETS[-1] else f"over {low} passages"
        groups[name] = [pair for pair in judged if low < pair[0].n_passages <= high]
    measured = {
        name: measure(group)
        for name, group in groups.items()
        if group and can_fit([answer for answer, _ in group])
    }
    labels = np.concatenate([answer.labels for answer in scored])
    share = np.concatenate([answer.contradicted for answer in scored])[labels > 0]
    kind = labels[labels > 0] == 2
    return {
        "groups": measured,
        "contradicted_auroc": Ranking.of(share, kind).auroc(),
        "claims": claims_report(judged),
    }


def claims_report(judged: Sequence[tuple[Scored, Fitted]]) -> dict[str, Any]:
    """Compute scores of whole claims, for all claims and for those that ``balanced`` flags.

    Claims are scored both as read with their passages, and as read with a few lines alone.
    """
    claims = [
        (claim, fitted, claim.doubt >= marked_from(fitted.thresholds["balanced"], fitted.pieces))
        for answer, fitted in judged
        for claim in answer.claims
    ]
    ways = {
        "whole": [(c.whole, c.label, fitted.whole, marked) for c, fitted, marked in claims],
        "lines": [
            (c.lines, c.label, fitted.lines, marked)
            for c, fitted, marked in claims
            if c.lines is not None
        ],
    }
    return {
        f"{way}, {which}": sentences.measure([row[:3] for row in rows if row[3] or which == "all"])
        for way, rows in ways.items()
        for which in ("all", "marked")
        if any(row[3] or which == "all" for row in rows)
    }


def table(measured: dict[str, Any]) -> str:
    """Return a report as a text table, in per cent."""
    lines = [
        "group              n  halluc.  AUROC    F1 (95 %)          P    R    FPR  flag all"
        "  char. F1 (95 %)     ECE answer (chance)/piece  skill answer/piece"
    ]
    for name, group in measured["groups"].items():
        point = group["points"]["balanced"]
        marked = point["characters"]
        lines.append(
            f"{name:16}{group['n']:5}  {group['hallucinated']:6.1%}  {group['auroc']:.3f}"
            f"  {100 * point['f1']:5.1f} ({100 * point['low']:.1f}-{100 * point['high']:.1f})"
            f"  {100 * point['precision']:5.1f} {100 * point['recall']:5.1f}"
            f" {100 * point['false_positive_rate']:5.1f}    {100 * group['flag_all_f1']:5.1f}"
            f"     {100 * marked['f1']:5.1f} ({100 * marked['low']:.1f}-{100 * marked['high']:.1f})"
            f"    {group['answer_ece']:.3f} ({group['answer_ece_by_chance']:.3f})"
            f"/{group['piece_ece_from_0.1']:.3f}"
            f"        {group['answer_brier_skill']:.2f}/{group['piece_brier_skill']:.2f}"
        )
    for name, point in measured["groups"]["all"]["points"].items():
        found, wrong = point["recall"], point["false_positive_rate"]
        lines.append(f"{name:10} finds {found:.1%}, flags {wrong:.1%} of grounded answers")
    lines.append(f"contradicted against unsupported: AUROC {measured['contradicted_auroc']:.3f}")
    for name, found in measured.get("claims", {}).items():
        lines.append(
            f"claims, {name:14} n {found['n']:5}  cross entropy {found['cross_entropy']:.3f} "
            f"(uncalibrated {found['cross_entropy_uncalibrated']:.3f})  AUROC supported "
            f"{found['supported_auroc']:.3f}, contradicted {found['contradicted_auroc']:.3f}  ECE "
            + " ".join(f"{value:.3f}" for value in found["ece"])
        )
    return "\n".join(lines)


def open_reader(folder: Path, threads: int) -> Reader:
    """Load the reader of a model folder."""
    return Reader.load_alone(Manifest.read(folder), threads=threads, cache_bytes=512_000_000)


def main() -> None:
    """Calibrate from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--compare", type=Path, help="another folder to score")
    parser.add_argument("--json", type=Path, help="where to write the scores")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--contexts", type=int, help="number of contexts to read, for a quick run")
    options = parser.parse_args()
    records = list(validation_records(options.data))
    if options.contexts:
        records = records[:: max(1, len(records) // options.contexts)]
    scores = {}
    for name, folder in (("model", options.model), ("other", options.compare)):
        if folder is not None:
            reader = open_reader(folder, options.threads)
            scored, weights = score(reader, records), None
            if len(scored[0].models) > 1:
                weights = choose_weights(scored, score(reader, plain_claims(options.data)))
            if weights is not None:
                scored = [answer.mixed(weights) for answer in scored]
            if name == "model":
                print(calibrate(folder, scored, weights=weights), weights)  # noqa: T201
            scores[name] = report(scored)
            print(f"{folder}\n{table(scores[name])}")  # noqa: T201
    if options.json:
        text = json.dumps(_defined(scores), indent=1, allow_nan=False)
        options.json.write_text(text + "\n", encoding="utf-8")


def _defined(value: Any) -> Any:  # noqa: ANN401  # JSON data
    """Replace NaN by ``None`` in JSON data, since JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _defined(item) for key, item in value.items()}
    return None if isinstance(value, float) and isnan(value) else value


if __name__ == "__main__":
    main()
