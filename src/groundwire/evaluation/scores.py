"""Computes scores of judged answers as JSON data, most of them with intervals."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from groundwire.evaluation.columns import Columns
from groundwire.evaluation.intervals import N_RESAMPLES, Bootstrap, Replicates, ScoreInterval
from groundwire.evaluation.metrics import AnswerCounts, Floats, Overlap, Ranking
from groundwire.evaluation.sums import STATISTICS, answer_sums, score, share_of

#: Default shares of hallucinated answers for which the precision is computed. In production,
#: usually fewer answers are hallucinated than in labelled data.
PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.5)


def scores_of(
    answers: Columns, *, prevalences: Sequence[float] = PREVALENCES, n_resamples: int = N_RESAMPLES
) -> dict[str, Any]:
    """Compute the scores of a group of answers as JSON data; an undefined score is ``None``.

    :func:`.sums.counted` says how answers without a verdict count. ``prevalences`` are shares of
    hallucinated answers, in [0, 1], for which to compute the precision. If the group has no
    answers, most keys are missing.
    """
    if not len(answers):
        return {"n_answers": 0, "example": None, "span": None, "span_lettucedetect": None}
    bootstrap = Bootstrap.of(answers.contexts, n_resamples=n_resamples)
    scored = answers.counted
    counts = AnswerCounts.of(answers.flagged[scored], answers.hallucinated[scored])
    return {
        "n_answers": len(answers),
        "n_scored": counts.n,
        "n_contexts": bootstrap.n_contexts,
        "n_hallucinated": int(answers.hallucinated.sum()),
        "n_flagged": counts.n_flagged,
        "example": _with_ends(of_answers(answers, bootstrap)),
        **_spans(answers, n_resamples),
        "claims": _claims(answers, bootstrap),
        "baseline_flag_all": {"f1": defined(counts.flag_all_f1)},
        "prevalence": precisions(counts, prevalences),
    }


def precisions(counts: AnswerCounts, prevalences: Sequence[float]) -> list[dict[str, Any]]:
    """Compute the precision at each given share of hallucinated answers, as JSON data."""
    return [
        {"prevalence": share, "precision": defined(counts.precision_at(share))}
        for share in prevalences
    ]


def defined(value: float) -> float | None:
    """Return a score as a value for JSON: ``None`` if it is ``nan``, else the score itself."""
    return None if isnan(value) else float(value)


def of_answers(answers: Columns, bootstrap: Bootstrap) -> dict[str, Replicates]:
    """Compute the scores of whole answers, such as F1 and AUROC, with their resamples."""
    sums = bootstrap.sums(answer_sums(answers.flagged, answers.hallucinated, answers.failed))
    ranks = rankings(answers)
    return {
        **{name: score(name, sums) for name in STATISTICS},
        **dict(zip(ranks, bootstrap.of_weights(*ranks.values()), strict=True)),
    }


def rankings(answers: Columns) -> dict[str, Callable[[Floats], Floats]]:
    """Return AUROC and AUPRC as functions for :meth:`.intervals.Bootstrap.of_weights`.

    Answers without a verdict are left out: they may have no probability to be sorted by.
    """
    checked = ~answers.failed
    ranking = Ranking.of(answers.probability[checked], answers.hallucinated[checked])
    return {
        "auroc": lambda weights: ranking.aurocs(weights[..., checked]),
        "auprc": lambda weights: ranking.average_precisions(weights[..., checked]),
    }


def _spans(answers: Columns, n_resamples: int) -> dict[str, Any]:
    marked = answers.take(answers.has_spans)
    marked = marked.take(marked.counted)
    if not len(marked):
        return {"span": None, "span_lettucedetect": None}
    bootstrap = Bootstrap.of(marked.contexts, n_resamples=n_resamples)
    return {
        "span": {
            "n_answers": len(marked),
            **_with_ends(of_spans(marked.characters, bootstrap)),
            "iou": defined(Overlap(*marked.characters.sum(axis=0, dtype=np.int64).tolist()).iou),
            "mean_iou": float(marked.ious.mean()),
        },
        "span_lettucedetect": _with_ends(of_spans(marked.pairs, bootstrap)),
    }


def of_spans(counts: ArrayLike, bootstrap: Bootstrap) -> dict[str, Replicates]:
    """Compute precision, recall and F1 of marked characters, with their resamples.

    ``counts`` has the numbers of :class:`.metrics.Overlap` for each answer, shape ``(n, 3)``.
    """
    sums = bootstrap.sums(counts)
    return {name: score(name, sums) for name in ("precision", "recall", "f1")}


def _claims(answers: Columns, bootstrap: Bootstrap) -> dict[str, Any]:
    passed = bootstrap.sums(answers.claims).of_share(share_of)
    n = int(answers.claims[:, 1].sum(dtype=np.int64))
    return {"n_unmarked": n, **_with_ends({"passed": passed})}


def _with_ends(found: Mapping[str, Replicates]) -> dict[str, Any]:
    return scores_as_json({name: each.interval() for name, each in found.items()})


def scores_as_json(scores: Mapping[str, ScoreInterval]) -> dict[str, Any]:
    """Return scores and the ends of their 95 % intervals as JSON data."""
    ends = {name: [defined(each.low), defined(each.high)] for name, each in scores.items()}
    return {**{name: defined(each.value) for name, each in scores.items()}, "ci95": ends}
