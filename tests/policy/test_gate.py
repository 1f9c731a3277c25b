"""The gate: which prompts call for an answer that has to be checked."""

import dataclasses
import json
import pickle
import shutil
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Gate
from groundwire.engine.models import GATE, find_model
from groundwire.engine.prompts import EDGE_CHARS, N_HASHED, prompt_features
from groundwire.errors import GateError, InvalidTextError, ModelError, SettingError
from groundwire.policy.gate import GateResult, decide
from groundwire.text.prompt_excerpt import both_ends

DOCUMENTED = {
    "When was Einstein born?": True,
    "Write a poem about autumn": False,
    "Debug this Python code": False,
    "What's your opinion on AI?": False,
    "Is the Earth round?": True,
}


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate.load()


@pytest.mark.parametrize(("prompt", "needed"), DOCUMENTED.items())
def test_documented_prompts_are_decided_as_documented(
    gate: Gate, prompt: str, needed: bool
) -> None:
    assert gate.classify(prompt).needs_fact_check is needed


@pytest.mark.parametrize(
    ("prompt", "needed"),
    [
        ("Wann wurde Mozart geboren?", True),
        ("Qui a écrit Les Misérables ?", True),
        ("¿Cuál es la capital de Perú?", True),
        ("中国的首都是哪里？", True),
        ("Schreib ein Gedicht über den Frühling.", False),
        ("Raconte-moi une blague.", False),
        ("Escribe un poema sobre el mar.", False),
        ("写一首关于春天的诗。", False),
    ],
)
def test_plain_prompts_in_other_languages_are_told_apart(
    gate: Gate, prompt: str, needed: bool
) -> None:
    assert gate.classify(prompt).needs_fact_check is needed


# The rule.


@pytest.mark.parametrize(
    ("probability", "needed", "confidence"),
    [(0.75, True, 0.75), (0.625, True, 0.625), (0.5625, False, 0.4375), (0.25, False, 0.75)],
)
def test_a_likely_need_below_the_threshold_becomes_no_need_with_what_is_left(
    probability: float, needed: bool, confidence: float
) -> None:
    found = decide(probability, threshold=0.625)
    assert (found.needs_fact_check, found.confidence) == (needed, confidence)


def test_the_threshold_belongs_to_what_needs_a_check() -> None:
    assert decide(0.6, threshold=0.6).needs_fact_check


def test_the_likelier_label_wins_whatever_the_threshold() -> None:
    assert not decide(0.3, threshold=0.1).needs_fact_check
    assert not decide(0.5, threshold=0.1).needs_fact_check


@given(st.floats(0, 1), st.floats(0.01, 1))
def test_confidence_is_the_probability_of_the_decision(probability: float, at: float) -> None:
    found = decide(probability, threshold=at)
    assert found.probability == probability
    assert found.confidence == (probability if found.needs_fact_check else 1 - probability)


@given(st.floats(0, 1), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_higher_threshold_never_needs_more(probability: float, a: float, b: float) -> None:
    low, high = sorted((a, b))
    if decide(probability, threshold=high).needs_fact_check:
        assert decide(probability, threshold=low).needs_fact_check


def test_a_result_is_frozen_and_says_the_same_as_json() -> None:
    found = decide(0.75, threshold=0.6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.confidence = 1.0  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(found)) == found
    assert GateResult(**found.to_dict()) == found


# Prompts of all kinds.


@pytest.mark.parametrize("prompt", ["", " ", "\n\t \u3000"])
def test_nothing_needs_no_check_for_certain(gate: Gate, prompt: str) -> None:
    found = gate.classify(prompt)
    assert (found.needs_fact_check, found.confidence) == (False, 1.0)


@pytest.mark.parametrize(
    "prompt",
    ["\x00", "\u202e\u200b", "[SEP] [CLS]", "🤷" * 50, "a" * 5000, "?", "\\", "̀" * 300, "नमस्ते"],
)
def test_hostile_text_gets_a_decision(gate: Gate, prompt: str) -> None:
    assert 0 <= gate.classify(prompt).probability <= 1


@pytest.mark.parametrize("prompt", [None, b"When?", 7, ["When?"]])
def test_what_is_no_text_is_refused(gate: Gate, prompt: object) -> None:
    with pytest.raises(InvalidTextError, match="prompt is not valid text"):
        gate.classify(prompt)  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_refused(gate: Gate) -> None:
    with pytest.raises(InvalidTextError, match="position 5"):
        gate.classify("When \ud800?")


class Counting:
    """Passes texts on to an embedder, and keeps them."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts += texts
        return np.zeros((len(texts), 384), np.float32)


def with_embedder(gate: Gate, embedder: object) -> Gate:
    return dataclasses.replace(gate, _embedder=embedder)  # type: ignore[arg-type]


def test_a_very_long_prompt_is_read_at_both_ends(gate: Gate) -> None:
    counting = Counting()
    prompt = "It rained. " * 5818 + "Who built it?"
    assert len(prompt) > 64_000
    with_embedder(gate, counting).classify(prompt)
    assert counting.texts == [both_ends(prompt)]


def test_words_count_at_both_ends_of_a_long_prompt() -> None:
    middle = "x" * EDGE_CHARS * 3
    plain = set(prompt_features(middle).places.tolist())
    for prompt in (f"Summarise this: {middle}", f"{middle} Who wrote it?"):
        assert set(prompt_features(prompt).places.tolist()) - plain


@given(st.text())
def test_features_are_in_order_and_each_place_is_there_once(text: str) -> None:
    features = prompt_features(text)
    places = features.places.tolist()
    assert places == sorted(set(places))
    assert len(places) == len(features.values)
    assert not places or 0 <= places[0] <= places[-1] < N_HASHED


def test_features_are_known_by_the_checksums_of_their_bytes() -> None:
    # What a head has learned holds for these places, on any machine.
    places = set(prompt_features("Who wrote it?").places.tolist())
    for feature in ("who", "who wrote", "who wrote it", "#<who", "#rote>", "q:who", "first:who"):
        assert crc32(feature.encode()) % N_HASHED in places


def test_numbers_and_quotations_are_counted_beside_the_cues() -> None:
    places = set(prompt_features('How many of 12 and 30 are in "A"?').places.tolist())
    for feature in ("qn:amount|2", "qu:amount|True"):
        assert crc32(feature.encode()) % N_HASHED in places


def test_the_same_prompt_always_gets_the_same_probability(gate: Gate) -> None:
    prompt = "How deep is Lake Baikal, and since when do we know?"
    first = gate.classify(prompt)
    gate.classify("Something else")
    assert gate.classify(prompt) == first
    assert Gate.load().classify(prompt) == first


# What fails.


class Broken:
    def embed(self, texts: list[str]) -> object:
        raise RuntimeError("out of memory")


class NotANumber:
    def embed(self, texts: list[str]) -> object:
        return np.full((len(texts), 384), np.nan, np.float32)


@pytest.mark.parametrize("embedder", [Broken(), NotANumber()])
def test_a_failing_gate_says_to_check(gate: Gate, embedder: object) -> None:
    broken = with_embedder(gate, embedder)
    with pytest.raises(GateError, match="Check the answer to this prompt"):
        broken.classify("Write a poem about autumn")


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1, float("nan")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(SettingError, match="above 0 and at most 1"):
        Gate.load(threshold=threshold)


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="groundwire train gate"):
        Gate.load(tmp_path)


def test_a_model_of_another_kind_is_refused() -> None:
    with pytest.raises(ModelError, match="not a gate"):
        Gate.load(find_model("minilm").folder)


def test_a_head_that_belongs_to_another_encoder_is_refused(tmp_path: Path) -> None:
    shutil.copytree(find_model(GATE).folder, tmp_path / "gate")
    path = tmp_path / "gate" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "encoder": "0" * 12}))
    with pytest.raises(ModelError, match="was trained on revision"):
        Gate.load(tmp_path / "gate")
