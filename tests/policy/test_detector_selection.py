"""Which detector judges for a tenant, and where it flags."""

import pytest

from groundwire.errors import ConfigError
from groundwire.policy.detector_selection import Chosen, Detectors
from groundwire.policy.policy import Overrides

READER = Detectors()
NEURAL = Detectors(configured="similarity")
HASH = Detectors(configured="similarity", embedder="hash")
HUB = Detectors(configured="someone/some-model")


@pytest.mark.parametrize("known", [READER, NEURAL, HASH, HUB])
def test_without_a_detector_of_its_own_a_tenant_has_the_configured_one(known: Detectors) -> None:
    assert known.choose(None) == known.choose(Overrides()) == Chosen(detector=known.first)


@pytest.mark.parametrize(
    ("known", "said", "name"),
    [
        (READER, "reader", "reader"),
        (READER, "similarity", "similarity"),
        (READER, "similarity:neural", "similarity"),
        (READER, "similarity:hash", "similarity:hash"),
        (NEURAL, "similarity:neural", "similarity"),
        (HASH, "similarity", "similarity:hash"),
        (HASH, "similarity:neural", "similarity"),
        (HUB, "someone/some-model", "someone/some-model"),
        (HUB, "reader", "reader"),
    ],
)
def test_a_tenant_may_name_embedded_detectors_and_the_configured_one(
    known: Detectors, said: str, name: str
) -> None:
    assert known.choose(Overrides(detector=said)) == Chosen(detector=name)


def test_what_is_beside_the_configured_one_is_not_it_again() -> None:
    assert READER.others == ("similarity", "similarity:hash")
    assert (HASH.first, HASH.others) == ("similarity:hash", ("reader", "similarity"))
    assert HUB.others == ("reader", "similarity", "similarity:hash")


def test_another_model_is_none_that_a_tenant_can_have() -> None:
    with pytest.raises(ConfigError, match=r"'x/y' is not possible. It must be one of reader, sim"):
        READER.choose(Overrides(detector="x/y"))


@pytest.mark.parametrize("point", [0.25, "recall"])
def test_probabilities_have_an_operating_point(point: str | float) -> None:
    chosen = READER.choose(Overrides(operating_point=point))
    assert chosen == Chosen(detector="reader", operating_point=point)


def test_similarities_have_a_threshold_or_a_named_point() -> None:
    own = Overrides(detector="similarity", similarity_threshold=0.6)
    assert READER.choose(own) == Chosen(detector="similarity", operating_point=0.6)
    own = Overrides(operating_point="recall")
    assert NEURAL.choose(own) == Chosen(detector="similarity", operating_point="recall")


@pytest.mark.parametrize(
    ("known", "own", "problem"),
    [
        (
            NEURAL,
            Overrides(operating_point=0.5),
            "of probabilities, and similarity gives similarities.",
        ),
        (
            READER,
            Overrides(detector="similarity:hash", operating_point=0.5),
            "similarity:hash gives similarities",
        ),
        (READER, Overrides(similarity_threshold=0.5), "and reader gives probabilities. Set oper"),
        (
            Detectors(configured="own", compares=True),
            Overrides(operating_point=0.5),
            "own gives similarities",
        ),
    ],
)
def test_a_threshold_of_the_other_kind_is_refused(
    known: Detectors, own: Overrides, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        known.choose(own)
