"""Judged answers as scores, each with its interval."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any

import numpy as np

from groundwire.evaluation.columns import Columns, Counts
from groundwire.evaluation.intervals import Bootstrap, Replicates
from groundwire.evaluation.metrics import (
    AnswerCounts,
    Floats,
    Overlap,
    Ranking,
    f1_of,
    ratio,
    ratios,
)

#: Shares of hallucinated answers for which the precision is told; how many there are in
#: production is for who runs it to say.
PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.5)

N_RESAMPLES, SEED = 2000, 0


def scores_of(
    answers: Columns,
    *,
    prevalences: Sequence[float] = PREVALENCES,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """Scores of a group of answers as JSON data: ``null`` where one is undefined.

    Args:
        answers: Whose check failed counts as not flagged.
        prevalences: Shares of hallucinated answers, in [0, 1], to tell the precision at.
        n_resamples: Of the bootstrap, which draws contexts.
        seed: Of its draws.
    """
    if not len(answers):
        return {"n_answers": 0, "example": None, "span": None, "span_lettucedetect": None}
    bootstrap = Bootstrap.of(answers.contexts, n_resamples=n_resamples, seed=seed)
    counts = AnswerCounts.of(answers.flagged, answers.hallucinated)
    return {
        "n_answers": counts.n,
        "n_contexts": bootstrap.n_contexts,
        "n_hallucinated": counts.n_hallucinated,
        "n_flagged": counts.n_flagged,
        "example": _with_ends(_example(answers, bootstrap)),
        **_spans(answers, n_resamples, seed),
        "claims": _claims(answers, bootstrap),
        "baseline_flag_all": {"f1": defined(counts.flag_all_f1)},
        "prevalence": [
            {"prevalence": share, "precision": defined(counts.precision_at(share))}
            for share in prevalences
        ],
    }


def defined(value: float) -> float | None:
    """A ratio as JSON has it: ``null`` if it is undefined."""
    return None if isnan(value) else float(value)


def _example(answers: Columns, bootstrap: Bootstrap) -> dict[str, Replicates]:
    flagged, hallucinated = answers.flagged, answers.hallucinated
    columns = [flagged & hallucinated, flagged, hallucinated, np.ones(len(answers))]
    sums = bootstrap.sums(np.column_stack(columns))
    ranking = Ranking.of(answers.probability, hallucinated)
    auroc, auprc = bootstrap.of_weights_each(ranking.auroc, ranking.average_precision)
    return {
        "precision": sums.of(_share(0, 1)),
        "recall": sums.of(_share(0, 2)),
        "f1": sums.of(_f1),
        "balanced_accuracy": sums.of(_balanced_accuracy),
        "auroc": auroc,
        "auprc": auprc,
        "fpr": sums.of(_false_positive_rate),
    }


def _spans(answers: Columns, n_resamples: int, seed: int) -> dict[str, Any]:
    marked = answers.take(answers.has_spans)
    if not len(marked):
        return {"span": None, "span_lettucedetect": None}
    bootstrap = Bootstrap.of(marked.contexts, n_resamples=n_resamples, seed=seed)
    both, predicted, gold = marked.characters.T.astype(np.float64)
    union = predicted + gold - both
    iou = np.divide(both, union, out=np.ones(len(marked)), where=union > 0)
    overlap = _overlap(marked.characters)
    return {
        "span": {
            "n_answers": len(marked),
            **_with_ends(_span_scores(bootstrap, marked.characters)),
            "iou": defined(overlap.iou),
            "mean_iou": float(iou.mean()),
        },
        "span_lettucedetect": _with_ends(_span_scores(bootstrap, marked.pairs)),
    }


def _span_scores(bootstrap: Bootstrap, counts: "np.typing.ArrayLike") -> dict[str, Replicates]:
    sums = bootstrap.sums(counts)
    return {
        "precision": sums.of(_share(0, 1)),
        "recall": sums.of(_share(0, 2)),
        "f1": sums.of(_f1),
    }


def _claims(answers: Columns, bootstrap: Bootstrap) -> dict[str, Any]:
    passed, n = answers.claims.sum(axis=0, dtype=np.int64).tolist()
    found = bootstrap.sums(answers.claims).of(_share(0, 1))
    return {"n_unmarked": n, "passed": defined(ratio(passed, n)), "ci95": {"passed": _ends(found)}}


def _overlap(counts: Counts) -> Overlap:
    both, predicted, gold = counts.sum(axis=0, dtype=np.int64).tolist()
    return Overlap(both=both, predicted=predicted, gold=gold)


# Statistics of sums of both, flagged, hallucinated, and for two of them all.


def _share(part: int, whole: int) -> "partial[Floats]":
    return partial(_share_of, part, whole)


def _share_of(part: int, whole: int, sums: Floats) -> Floats:
    return ratios(sums[..., part], sums[..., whole])


def _f1(sums: Floats) -> Floats:
    return f1_of(sums[..., :3])


def _false_positive_rate(sums: Floats) -> Floats:
    return ratios(sums[..., 1] - sums[..., 0], sums[..., 3] - sums[..., 2])


def _balanced_accuracy(sums: Floats) -> Floats:
    recall = ratios(sums[..., 0], sums[..., 2])
    return (recall + 1 - _false_positive_rate(sums)) / 2


def _with_ends(found: Mapping[str, Replicates]) -> dict[str, Any]:
    values = {name: defined(each.value) for name, each in found.items()}
    return {**values, "ci95": {name: _ends(each) for name, each in found.items()}}


def _ends(replicates: Replicates) -> list[float | None]:
    interval = replicates.interval()
    return [defined(interval.low), defined(interval.high)]
