"""The local verifier's map, fitted on claims that were measured by hand."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from groundwire.verify.measured import Measured
from groundwire_training import verifier
from groundwire_training.verifier import LabelledClaim, MeasuredClaim, choose, fit, measure

pytestmark = pytest.mark.torch


def measured(
    kind: str, whole: float, context: int, group: str = "a", *, is_bare: bool = False
) -> MeasuredClaim:
    claim = LabelledClaim(
        group=group,
        context=f"{group}{context}",
        text="It is tall.",
        evidence=(),
        is_supported=kind == "right",
        kind=kind,
    )
    found = Measured(whole=whole, words=-whole, unsupported=-1.0, is_bare=is_bare)
    return MeasuredClaim(claim=claim, measured=found)


def drawn(gap: float, n: int = 400) -> list[MeasuredClaim]:
    """Claims of two sets whose right ones score higher by this much."""
    rng = random.Random(0)
    claims = []
    for group in ("a", "b"):
        for i in range(n):
            kind = "right" if i % 2 else "wrong"
            middle = gap if kind == "right" else 0.0
            claims.append(measured(kind, rng.gauss(middle, 1.0), i // 4, group))
            claims.append(measured("bare", rng.gauss(0.0, 1.0), i // 4, group, is_bare=True))
    return claims


def test_the_map_holds_for_the_prevalence_it_is_fitted_for() -> None:
    claims = [each for each in drawn(1.5, n=4000) if each.claim.kind != "bare"]
    claims += drawn(1.5, n=10)
    fitted = fit(claims, prevalence=0.1)
    p = {kind: [] for kind in ("right", "wrong")}  # type: dict[str, list[float]]
    for each in claims:
        if each.claim.kind in p:
            p[each.claim.kind].append(fitted.probability(each.measured))
    # A calibrated probability says on average what share is so.
    assert 0.9 * np.mean(p["right"]) + 0.1 * np.mean(p["wrong"]) == pytest.approx(0.9, abs=0.005)


def test_claims_read_alone_follow_as_often_as_laplaces_rule_says() -> None:
    claims = drawn(2.0)
    fitted = fit(claims, prevalence=0.1)
    bare = [each for each in claims if each.claim.kind == "bare"]
    n_contexts = len({each.claim.context for each in bare})
    mean = np.mean([fitted.probability(each.measured) for each in bare])
    assert mean == pytest.approx(1 / (n_contexts + 2), rel=1e-3)


def test_the_harder_the_claims_the_lower_the_prevalence_that_lets_enough_pass() -> None:
    assert choose(drawn(1.0)) < choose(drawn(2.5))


def test_what_passes_falls_with_the_target() -> None:
    claims = drawn(2.0)
    fitted = fit(claims, prevalence=0.05)
    found = measure(claims, np.array([fitted.probability(each.measured) for each in claims]))
    shares = [each["right"]["value"] for each in found["passing"].values()]
    assert shares == sorted(shares, reverse=True)
    assert found["auroc"]["low"] < found["auroc"]["value"] < found["auroc"]["high"]
    assert found["n"] == {"bare": 800, "right": 400, "wrong": 400}


def test_cited_answers_give_claims_with_right_other_and_no_evidence(tmp_path: Path) -> None:
    row = {
        "id": "x",
        "spans": [{"sid": "S0", "text": "It is tall."}, {"sid": "S1", "text": "It is old."}],
        "answer": "It is {{tall||small||conflict}} [S0]. It is old [S0].",
        "citations": [
            {"sentence": 0, "cites": ["S0"], "label": "supported", "right": ["S0"]},
            {"sentence": 1, "cites": ["S0"], "label": "misattributed", "right": ["S1"]},
        ],
    }
    path = tmp_path / "cited.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(row).encode()))
    claims = [(c.kind, c.text, c.evidence) for c in verifier.cited(path, "citations")]
    assert claims == [
        ("right", "It is tall.", ("It is tall.",)),
        ("bare", "It is tall.", ()),
        ("wrong", "It is small.", ("It is tall.",)),
        ("right", "It is old.", ("It is old.",)),
        ("bare", "It is old.", ()),
        ("elsewhere", "It is old.", ("It is tall.",)),
    ]
