"""The same numbers as scikit-learn, which the package itself does without."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.evaluation.calibration import brier
from groundwire.evaluation.metrics import AnswerCounts, Ranking

metrics: Any = pytest.importorskip("sklearn.metrics")

#: Scores with many ties, labels, weights and flags of one answer each.
answers = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1),
        st.booleans(),
        st.integers(0, 3),
        st.booleans(),
    ),
    min_size=2,
    max_size=40,
)
Answers = list[tuple[float, bool, int, bool]]


@given(answers)
def test_ranking_metrics(rows: Answers) -> None:
    scores, labels, weights, _ = map(np.array, zip(*rows, strict=True))
    assume(weights[labels].sum() and weights[~labels].sum())
    ranking = Ranking.of(scores, labels)
    assert ranking.auroc() == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert ranking.average_precision() == pytest.approx(
        metrics.average_precision_score(labels, scores)
    )
    assert ranking.auroc(weights) == pytest.approx(
        metrics.roc_auc_score(labels, scores, sample_weight=weights)
    )
    assert ranking.average_precision(weights) == pytest.approx(
        metrics.average_precision_score(labels, scores, sample_weight=weights)
    )


@given(answers)
def test_metrics_of_decisions(rows: Answers) -> None:
    _, labels, _, flagged = map(np.array, zip(*rows, strict=True))
    assume(labels.any() and not labels.all() and flagged.any())
    counts = AnswerCounts.of(flagged, labels)
    expected = metrics.precision_recall_fscore_support(
        labels, flagged, average="binary", zero_division=0
    )
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx(expected[:3])
    assert counts.balanced_accuracy == pytest.approx(
        metrics.balanced_accuracy_score(labels, flagged)
    )
    assert counts.flag_all_f1 == pytest.approx(metrics.f1_score(labels, np.ones_like(labels)))


@given(answers)
def test_the_brier_score(rows: Answers) -> None:
    scores, labels, _, _ = map(np.array, zip(*rows, strict=True))
    expected = metrics.brier_score_loss(labels, scores, pos_label=True)
    assert brier(scores, labels).score == pytest.approx(expected)
