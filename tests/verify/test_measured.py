"""The map from what the reader says to P(supported), and its file."""

import json
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.values import Entailment
from groundwire.engine.scores import ClaimScores
from groundwire.errors import ModelError
from groundwire.verify.measured import FILE_NAME, ClaimMap, Measured

MAP = ClaimMap(weights=(0.5, -0.5, -0.25), offset=1.0, bare_offset=-4.0, provenance={"by": "hand"})
numbers = st.floats(-20, 20)


def scores(*supported: float, entailment: float = 0.5) -> ClaimScores:
    labels = [(p, 1 - p, 0.0) for p in supported]
    rest = (1 - entailment) / 2
    return ClaimScores(
        offsets=np.array([(i, i + 1) for i in range(len(labels))], np.int32),
        labels=np.array(labels, np.float32),
        entailment=Entailment(entailment=entailment, neutral=rest, contradiction=rest),
    )


def test_a_claim_is_measured_as_a_whole_and_by_its_words() -> None:
    found = Measured.of(scores(0.5, 0.5, entailment=0.5), is_bare=False)
    assert found.features == pytest.approx((0.0, 0.0, np.log(0.5)), abs=1e-5)
    assert Measured.of(scores(0.5, 0.2), is_bare=False).words == pytest.approx(
        np.log((1 + 4) / 2), abs=1e-5
    )


def test_probabilities_of_0_and_1_stay_finite() -> None:
    for certain in (scores(1.0, entailment=1.0), scores(0.0, entailment=0.0)):
        found = Measured.of(certain, is_bare=False)
        assert all(map(isfinite, found.features))


@given(numbers, numbers, numbers, st.booleans(), st.floats(0, 5))
def test_the_surer_the_reader_the_higher_the_probability(
    whole: float, words: float, unsupported: float, is_bare: bool, more: float
) -> None:
    def p(**others: float) -> float:
        given = {"whole": whole, "words": words, "unsupported": unsupported, **others}
        return MAP.probability(Measured(**given, is_bare=is_bare))

    assert 0 <= p() <= 1
    assert p(whole=whole + more) >= p() >= p(words=words + more)


def test_a_claim_read_alone_has_an_offset_of_its_own() -> None:
    shown, alone = (
        Measured(whole=0.0, words=0.0, unsupported=0.0, is_bare=is_bare)
        for is_bare in (False, True)
    )
    assert (MAP.log_odds(shown), MAP.log_odds(alone)) == (1.0, -4.0)


def test_a_map_is_read_as_it_was_written(tmp_path: Path) -> None:
    MAP.write(tmp_path, graph="ab")
    assert ClaimMap.read(tmp_path, graph="ab") == MAP


def test_a_map_of_other_weights_is_refused(tmp_path: Path) -> None:
    MAP.write(tmp_path, graph="ab")
    with pytest.raises(ModelError, match=r"another graph.*groundwire_training\.verifier"):
        ClaimMap.read(tmp_path, graph="cd")


@pytest.mark.parametrize("key", ["graph", "weights"])
def test_a_map_that_lacks_something_is_refused(tmp_path: Path, key: str) -> None:
    MAP.write(tmp_path, graph="ab")
    raw = json.loads((tmp_path / FILE_NAME).read_text("utf-8"))
    del raw[key]
    (tmp_path / FILE_NAME).write_text(json.dumps(raw), "utf-8")
    with pytest.raises(ModelError, match="cannot be read"):
        ClaimMap.read(tmp_path, graph="ab")


@pytest.mark.parametrize("text", ["", "[]", '{"weights": [NaN, 1, 1]}', "[" * 100_000])
def test_a_map_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text, "utf-8")
    with pytest.raises(ModelError, match="cannot be read"):
        ClaimMap.read(tmp_path, graph="ab")


def test_a_map_that_is_not_there_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"python -m groundwire_training\.verifier"):
        ClaimMap.read(tmp_path, graph="ab")


def test_a_map_with_what_is_no_number_is_refused(tmp_path: Path) -> None:
    MAP.write(tmp_path, graph="ab")
    text = (tmp_path / FILE_NAME).read_text("utf-8").replace("-4.0", "NaN")
    (tmp_path / FILE_NAME).write_text(text, "utf-8")
    with pytest.raises(ModelError, match="cannot be read"):
        ClaimMap.read(tmp_path, graph="ab")
