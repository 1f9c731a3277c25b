"""The same numbers as scikit-learn, which the package itself does without."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.evaluation.calibration import brier
from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judged_row import JudgedRow
from groundwire.evaluation.metrics import AnswerCounts, Ranking
from tests.evaluation.labelled import labelled
from tests.evaluation.results import header, judged
from tests.tiers import costly

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
    assert ranking.aurocs(weights) == pytest.approx(
        metrics.roc_auc_score(labels, scores, sample_weight=weights)
    )
    assert ranking.average_precisions(weights) == pytest.approx(
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
    assert counts.flag_all_f1 == pytest.approx(metrics.f1_score(labels, np.ones_like(labels)))


@given(answers)
def test_the_brier_score(rows: Answers) -> None:
    scores, labels, _, _ = map(np.array, zip(*rows, strict=True))
    expected = metrics.brier_score_loss(labels, scores, pos_label=True)
    assert brier(scores, labels).score == pytest.approx(expected)


#: What a detector makes of an answer in which it marks something, and of one in which not.
FLAGGED, PASSED = judged([labelled("It is wrong."), labelled("It is fine.")])


def judged_row(row: int, score: float, is_hallucinated: bool, is_flagged: bool) -> JudgedRow:
    """A row of results with this probability, flagged or not."""
    like = FLAGGED if is_flagged else PASSED
    assert like.detection is not None
    (claim,) = like.detection["claims"]
    said = {"probability": score, "claims": [{**claim, "probability": score}]}
    return replace(
        like,
        row=row,
        context_id=str(row % 5),
        hallucinated=is_hallucinated,
        detection={**like.detection, **said},
    )


@costly(0.12)
@given(answers)
def test_the_numbers_of_an_evaluation(rows: Answers) -> None:
    scores, labels, _, flagged = map(np.array, zip(*rows, strict=True))
    assume(labels.any() and not labels.all() and flagged.any())
    found = Evaluation.of(
        header(),
        (judged_row(i, score, so, said) for i, (score, so, _, said) in enumerate(rows, 1)),
    ).to_dict()
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        labels, flagged, average="binary", zero_division=0
    )
    (true_negative, false_positive), _ = metrics.confusion_matrix(labels, flagged)
    expected = {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, flagged),
        "auroc": metrics.roc_auc_score(labels, scores),
        "auprc": metrics.average_precision_score(labels, scores),
        "fpr": false_positive / (false_positive + true_negative),
    }
    example = found["example"]
    assert {name: example[name] for name in expected} == pytest.approx(expected)
    always = metrics.f1_score(labels, np.ones_like(labels))
    assert found["baseline_flag_all"]["f1"] == pytest.approx(always)
    assert found["calibration"]["brier"] == pytest.approx(
        metrics.brier_score_loss(labels, scores, pos_label=True)
    )
