"""What the weights for repairs are fitted on: cases, right candidates, and the two fits."""

import random

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from groundwire.detection.example import read_sources
from groundwire.engine.architecture import VOCABULARY
from groundwire.engine.models import find_model
from groundwire.engine.tokenizer import WordPieces
from groundwire.explain.replacements import FEATURES, WordVectors
from groundwire_training.replacements import (
    Ranked,
    cases,
    fit_decision,
    fit_ranking,
    ranked,
    said,
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


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    table = np.random.default_rng(0).integers(-128, 128, (VOCABULARY, 16), np.int8)
    return WordVectors(table, WordPieces(find_model().folder / "tokenizer.json"))


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


def test_the_right_candidate_of_a_wrong_claim_makes_it_the_right_one(vectors: WordVectors) -> None:
    rng = random.Random(0)
    for case in cases(RECORD, rng, 2):
        found = ranked(case, vectors, rng)
        assert found is not None
        assert 0 < found.is_right.sum() < len(found.is_right)
        assert found.features.shape == (len(found.is_right), len(FEATURES))


def test_the_fitted_weights_rank_the_right_candidate_first() -> None:
    rng = np.random.default_rng(1)
    claims = []
    for _ in range(40):
        features, is_right = rng.normal(size=(30, len(FEATURES))), np.zeros(30, bool)
        is_right[features[:, 2].argmax()] = True
        claims.append(Ranked(features, is_right))
    weights = np.array(fit_ranking(claims))
    assert np.abs(weights).argmax() == 2
    assert all(claim.is_right[(claim.features @ weights).argmax()] for claim in claims)


def test_the_decision_is_a_logistic_regression() -> None:
    rows = [((float(x), 0.0, 0.0, 0.0), x > 0) for x in range(-20, 20)]
    fitted = fit_decision(rows)
    weights = fitted["of"]
    assert isinstance(weights, list)
    assert weights[0] > 0
    assert weights[1:] == [0.0, 0.0, 0.0]
