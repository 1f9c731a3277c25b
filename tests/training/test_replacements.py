"""What the weights for repairs are fitted on: cases, right candidates, and the two fits."""

import random

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.example import read_sources
from groundwire.engine.models import BASE_PACKAGE
from groundwire.explain.ranking import Ranker, WordStates
from groundwire.explain.replacements import FEATURES, Candidates
from groundwire_training.replacements import (
    Ranked,
    RankingModel,
    cases,
    fit_decision,
    fit_ranking,
    ranked,
    said,
    shares_found,
)
from groundwire_training.sets import LabelledContext

pytestmark = pytest.mark.torch

RECORD = LabelledContext(
    id="1",
    task="slots-docs",
    sources=read_sources(["The tower was opened in 1889. Eiffel built it."]),
    question=None,
    answers=(),
    slots="It was opened in {{1889||1950||conflict}}, and {{Eiffel||Garnier||conflict}} built it"
    "{{|| for a queen||baseless}}.",
)


def _held_of(claim: str, span: str, line: str) -> Held:
    start = claim.index(span)
    return Held(ComparedText(claim), start, start + len(span), (ComparedText(line),))


def test_each_conflict_gives_a_wrong_answer_and_the_right_one() -> None:
    found = list(cases(RECORD, random.Random(0), 3))
    assert [each.is_wrong for each in found] == [True, False] * 2
    slots = {each.answer[slice(*each.slot)] for each in found}
    assert slots == {"1950", "1889", "Garnier", "Eiffel"}
    assert {each.right for each in found} == {"It was opened in 1889, and Eiffel built it."}


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("the 3 PM train", "The train at 15:00", False),
        ("at 3 PM", "at 15:00", True),
        ("in the Philippines", "in Philippines", True),
        ("It is lower.", "It is higher.", False),
    ],
)
def test_texts_are_compared_by_words_and_values(one: str, other: str, is_same: bool) -> None:
    assert (said(one) == said(other)) is is_same


def test_the_right_candidate_of_a_wrong_claim_makes_it_the_right_one() -> None:
    pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
    ranker = Ranker.load(weights=RankingModel(1).weights())
    rng = random.Random(0)
    for case in cases(RECORD, rng, 2):
        found = ranked(case, ranker, rng)
        assert found is not None
        assert 0 < found.is_right.sum() < len(found.is_right)
        assert found.features.shape == (len(found.is_right), len(FEATURES))
        # Eleven words and two lines, with a row before, between and after.
        assert len(found.states.lines) >= found.places[:, :2].max() + 2


def claims_of(rng: np.random.Generator, n: int) -> list[Ranked]:
    """Claims whose right candidate is the word with the state of the replaced word."""
    made = []
    for _ in range(n):
        lines = rng.normal(size=(8, 24)).astype(np.float16)
        right = int(rng.integers(1, 7))
        claim = rng.normal(size=(3, 24)).astype(np.float16)
        claim[1] = lines[right]
        places = np.array([(word, word, 1, 1) for word in range(1, 7)])
        features = np.zeros((6, len(FEATURES)), np.float32)
        is_right = places[:, 0] == right
        made.append(Ranked(features, places, is_right, WordStates(claim, lines), True))
    return made


def test_the_learned_ranking_finds_corresponding_words() -> None:
    rng = np.random.default_rng(1)
    model = fit_ranking(claims_of(rng, 600))
    assert shares_found(model, claims_of(rng, 100))[0] > 0.9


def test_the_shipped_scores_are_those_that_were_learned() -> None:
    pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")
    model = RankingModel(768).eval()
    ranker = Ranker.load(weights=model.weights())
    held = _held_of("It was opened in 1950.", "1950", "The tower was opened in 1889.")
    found = Candidates.of(held)
    claim = Ranked(
        found.features,
        found.places,
        np.ones(len(found.places), bool),
        ranker.states(held, ""),
        True,
    )
    scores = model.scores(claim).detach().numpy()
    best = ranker.ranked(held, "")
    assert [score for _, score in best] == pytest.approx(sorted(scores, reverse=True), abs=1e-4)


def test_the_decision_is_a_logistic_regression() -> None:
    rows = [((float(x), 0.0, 0.0, 0.0), x > 0) for x in range(-20, 20)]
    bias, *weights = fit_decision(rows).tolist()
    assert abs(bias) < 1
    assert weights[0] > 0
    assert weights[1:] == [0.0, 0.0, 0.0]
