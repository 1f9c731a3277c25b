"""The documented pairs of context and claim: how many the embedded models judge as documented."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundwire import Detector
from groundwire.detection.example import Source
from groundwire.detection.values import Entailment
from groundwire.explain import Explained, Explainer

#: What the small model has reached; docs/explanations.md tells which fail, and how.
N_JUDGED, N_HANDLED = 8, 8


@dataclass(frozen=True)
class DocumentedPair:
    """A context, a claim, and what the one means for the other."""

    id: str
    context: str
    claim: str
    label: str

    @property
    def is_right(self) -> bool:
        return self.label == "entailment"


PAIRS = [
    DocumentedPair(**row)
    for row in tomllib.loads(Path(__file__).with_name("pairs.toml").read_text("utf-8"))["pair"]
]


@dataclass(frozen=True)
class Told:
    """What became of a pair."""

    pair: DocumentedPair
    entailment: Entailment
    explained: Explained

    @property
    def is_judged(self) -> bool:
        """Whether the likeliest of the three is the documented one."""
        values = self.entailment.to_dict()
        likeliest = max(("entailment", "neutral", "contradiction"), key=values.__getitem__)
        return likeliest in self.pair.label.split(" or ")

    @property
    def is_handled(self) -> bool:
        """Whether what is wrong stays marked under the right name, and nothing else does."""
        if self.pair.is_right:
            return not self.explained.detection.spans
        wanted = {"neutral": "unsupported_addition", "contradiction": "contradiction"}
        found = {str(each.category) for each in self.explained.explanations}
        return bool(found) and found <= {wanted[name] for name in self.pair.label.split(" or ")}


@pytest.fixture(scope="module")
def told(detector: Detector) -> list[Told]:
    explainer = Explainer.load(threads=1)
    results = []
    for pair in PAIRS:
        found = detector.detect(sources=[pair.context], answer=pair.claim)
        (claim,) = found.claims
        assert claim.entailment is not None
        sources = [Source(id="S0", text=pair.context)]
        results.append(Told(pair, claim.entailment, explainer.explain(found, sources)))
    return results


def test_no_fewer_pairs_are_judged_as_documented_than_were(told: list[Told]) -> None:
    wrong = [each.pair.id for each in told if not each.is_judged]
    assert len(told) - len(wrong) >= N_JUDGED, wrong


def test_no_fewer_pairs_are_marked_as_documented_than_were(told: list[Told]) -> None:
    wrong = [each.pair.id for each in told if not each.is_handled]
    assert len(told) - len(wrong) >= N_HANDLED, wrong


def test_nothing_that_is_wrong_is_dropped(told: list[Told]) -> None:
    assert [
        each.pair.id for each in told if each.explained.dropped and not each.pair.is_right
    ] == []


@pytest.mark.parametrize("id_", ["everest", "amazon-length"])
def test_what_is_clean_is_clean(told: list[Told], id_: str) -> None:
    (found,) = [each for each in told if each.pair.id == id_]
    assert found.is_judged
    assert found.is_handled
