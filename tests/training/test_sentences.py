"""The map that makes what is said of claims as a whole hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("torch")
pytest.importorskip("scipy")

from groundwire.detection.example import read_sources
from groundwire.detection.values import Claim, EvidenceRef, Label
from groundwire.engine.reader import Reader
from groundwire.engine.scores import SentenceCalibration
from groundwire.explain.nearby import SourceLines
from groundwire_training import sentences
from groundwire_training.sentences import (
    ScoredClaim,
    fit,
    fit_lines,
    fit_whole,
    log_shares,
    measure,
)

pytestmark = pytest.mark.torch

TRUE = SentenceCalibration(scale=0.5, unsupported=-1.0, contradicted=0.7)


def drawn(n: int, *, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits, and labels that come true as often as :data:`TRUE` says."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (n, 3))
    shares = np.exp(log_shares(logits, TRUE))
    return logits, (rng.random((n, 1)) > shares.cumsum(1)).sum(1)


def claim(label: int, *, doubt: float = 0.0, lines: bool = True) -> ScoredClaim:
    logits = np.log(np.array([0.5, 0.3, 0.2]))
    return ScoredClaim(label=label, doubt=doubt, whole=logits, lines=logits if lines else None)


def test_the_map_is_found_by_which_labels_were_drawn() -> None:
    found = fit(*drawn(20_000))
    assert found.scale == pytest.approx(TRUE.scale, rel=0.05)
    assert found.unsupported == pytest.approx(TRUE.unsupported, abs=0.1)
    assert found.contradicted == pytest.approx(TRUE.contradicted, abs=0.1)


def test_shares_become_how_often_a_label_is_right() -> None:
    claims = [claim(label) for label in (0, 0, 0, 0, 0, 0, 1, 2)]
    found = fit_whole(claims)
    assert found is not None
    told = found.entailment(claims[0].whole.astype(np.float32))
    assert told.entailment == pytest.approx(0.75, abs=0.02)
    assert told.neutral == pytest.approx(0.125, abs=0.02)


def test_nothing_is_fitted_on_claims_of_one_kind() -> None:
    assert fit_whole([claim(0)] * 3) is None
    assert fit_whole([claim(1), claim(2)]) is None
    assert fit_whole([]) is None


def test_a_label_that_never_comes_is_not_ruled_out() -> None:
    found = fit_whole([claim(0), claim(1)] * 50)
    assert found is not None
    assert 0 < found.entailment(claim(0).whole.astype(np.float32)).contradiction < 0.1


def test_the_map_for_lines_is_fitted_on_what_would_be_marked() -> None:
    clean = [claim(0, doubt=-3.0)] * 90
    marked = [claim(0, doubt=1.0), claim(1, doubt=1.0)] * 5
    without = [claim(2, doubt=1.0, lines=False)] * 9
    found = fit_lines([*clean, *marked, *without], doubt=0.0)
    assert found == fit_lines(marked, doubt=0.0)
    assert fit_lines(clean, doubt=0.0) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-30, 30)] * 3), min_size=1, max_size=5))
def test_the_three_are_probabilities(rows: list[tuple[float, float, float]]) -> None:
    shares = np.exp(log_shares(np.array(rows), TRUE))
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    for row, expected in zip(rows, shares, strict=True):
        told = TRUE.entailment(np.array(row, np.float32))
        given = (told.entailment, told.neutral, told.contradiction)
        assert given == pytest.approx(tuple(expected), abs=1e-5)


def test_a_fitted_map_is_worth_more_than_none() -> None:
    logits, labels = drawn(4_000, seed=1)
    found = fit(*drawn(4_000))
    rows = [(row, int(label), found) for row, label in zip(logits, labels, strict=True)]
    worth = measure(rows)
    assert worth["n"] == sum(worth["labels"]) == 4_000
    assert worth["cross_entropy"] < worth["cross_entropy_uncalibrated"]
    assert max(worth["ece"]) < 0.05
    assert worth["supported_auroc"] > 0.8
    plain = measure([(row, label, None) for row, label, _ in rows])
    assert plain["cross_entropy"] == plain["cross_entropy_uncalibrated"]


def test_a_claim_is_read_with_its_best_lines_alone(reader: Reader) -> None:
    sources = read_sources(["The tower is 330 m tall. It is green.", "Bread is sold."])
    text = "The tower is 330 m tall."
    place = EvidenceRef(source_id="S0", start=0, end=24, text=sources[0].text[:24])
    found = Claim(
        start=0,
        end=len(text),
        text=text,
        label=Label.SUPPORTED,
        probability=None,
        evidence=(place,),
    )
    shares = sentences.by_lines(reader, SourceLines(sources), found)
    assert shares is not None
    assert np.exp(shares).sum() == pytest.approx(1)
    assert shares.argmax() == 0
    unread = Claim(start=0, end=5, text="Город", label=Label.SUPPORTED, probability=None)
    assert sentences.by_lines(reader, SourceLines(sources), unread) is None
