"""The training loop on a handful of records, and the folder that comes out of it."""

import random
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch
from safetensors.torch import load_file, save_file

from groundwire import Detector
from groundwire.detection.evidence import WordWeights
from groundwire.detection.example import read_sources
from groundwire.engine.models import Manifest, verify
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import CorruptModelError
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training import loop
from groundwire_training.loop import Loader, Recipe, train
from groundwire_training.model import Group, Reader
from groundwire_training.package import package
from groundwire_training.sets import LabelledContext
from tests.training.conftest import Exported, write

pytestmark = pytest.mark.torch

RECIPE = Recipe(
    steps=2,
    ragtruth_per_step=1,
    slots_per_step=1,
    answers=2,
    padded_share=0.0,
    corrupted_share=0.0,
    premise_share=0.0,
)


def write_records(folder: Path, n: int = 6) -> None:
    """Contexts of two sentences, with one right and one wrong answer each."""
    rng = random.Random(0)
    rows: list[dict[str, Any]] = []
    annotated: list[dict[str, Any]] = []
    for i in range(n):
        year, other = rng.sample(range(1800, 2000), 2)
        context = f"The tower of town {i} was built in {year}. It is open."
        row = {"context_id": str(i), "task": "QA", "context": context, "question": "When?"}
        wrong = f"It was built in {other}."
        rows += [
            {**row, "answer": f"It was built in {year}.", "spans": []},
            {**row, "answer": wrong, "spans": [{"start": 16, "end": 20, "label": "Conflict"}]},
        ]
        annotated.append(
            {
                "id": f"s{i}",
                "domain": "towns",
                "context": context,
                "question": "When was it built?",
                "answer": f"It was built in {{{{{year}||{other}||conflict}}}}.",
            }
        )
    write(folder / "ragtruth" / "train.jsonl.gz", rows)
    write(folder / "slots" / "train.jsonl.gz", annotated)
    write(folder / "slots" / "validation.jsonl.gz", annotated[:2])


@pytest.fixture
def loader(
    tmp_path: Path, pieces: WordPieces, words: WordWeights, monkeypatch: pytest.MonkeyPatch
) -> Loader:
    monkeypatch.setattr(loop, "VALIDATION_CONTEXTS", 2)
    write_records(tmp_path / "data")
    return Loader(tmp_path / "data", pieces, words, RECIPE)


def shallow(seed: int) -> Reader:
    """A model of one layer: what the loop does to it does not depend on its depth."""
    torch.manual_seed(seed)
    model = Reader()
    model.layers = model.layers[:1]
    return model


def test_records_are_shared_out_between_training_and_validation(loader: Loader) -> None:
    assert len(loader.validation) == 2
    assert len(loader.ragtruth) == 4
    assert not {r.id for r in loader.validation} & {r.id for r in loader.ragtruth}


def test_a_step_is_the_same_for_the_same_number(
    loader: Loader, tmp_path: Path, pieces: WordPieces, words: WordWeights
) -> None:
    again = Loader(tmp_path / "data", pieces, words, RECIPE)
    for number in (5, 0, 1, 5):  # whatever was drawn before
        assert same(loader.step(number), again.step(number))
    assert not same(loader.step(0), loader.step(1))


def same(some: list[Group], others: list[Group]) -> bool:
    """Whether all tensors of groups are."""
    return len(some) == len(others) and all(
        torch.equal(getattr(one, field.name), getattr(other, field.name))
        for one, other in zip(some, others, strict=True)
        for field in fields(Group)
    )


def test_another_seed_draws_otherwise(loader: Loader) -> None:
    one = loader.step(0)
    loader.recipe = replace(RECIPE, seed=1)
    loader._orders.clear()
    assert not same(one, loader.step(0))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_each_record_comes_once_before_any_comes_again(loader: Loader, n: int) -> None:
    records = [LabelledContext(str(i), "QA", (), None, ()) for i in range(5)]
    drawn = [r.id for step in range(5) for r in loader._turn("some", records, step, n)]
    epochs = [drawn[at : at + 5] for at in range(0, len(drawn), 5)]
    assert all(sorted(epoch) == ["0", "1", "2", "3", "4"] for epoch in epochs)
    assert len(set(map(tuple, epochs))) == len(epochs)  # in another order each time


def test_steps_share_out_the_records_of_the_folder(loader: Loader) -> None:
    steps = [loader.step(number) for number in range(4)]
    assert [len(groups) for groups in steps] == [2] * 4
    towns = [town_of(groups[0], loader) for groups in steps]
    assert sorted(towns) == sorted(int(record.id) for record in loader.ragtruth)


def texts_of(group: Group, loader: Loader) -> list[list[int]]:
    """The word pieces of the passages of a group."""
    rows = zip(group.passages, group.passage_mask, strict=True)
    return [row[mask][1:-1].tolist() for row, mask in rows]


def town_of(group: Group, loader: Loader) -> int:
    """Which town its only context is about."""
    wanted = {
        tuple(loader.pieces.encode(record.sources[0].text).ids.tolist()): int(record.id)
        for record in loader.ragtruth
    }
    (text,) = texts_of(group, loader)
    return wanted[tuple(text)]


# What is put in and mixed in.


def own_text(records: list[LabelledContext]) -> list[str]:
    """The only source of each record."""
    return [record.sources[0].text for record in records]


def test_sources_of_other_records_are_mixed_in(loader: Loader) -> None:
    known = [
        loader.pieces.encode(text).ids.tolist()
        for text in own_text([*loader.ragtruth, *loader.slots])
    ]
    alone = [group for number in range(4) for group in loader.step(number)]
    loader.recipe = replace(RECIPE, padded_share=1.0, max_padding=3)
    padded = [group for number in range(4) for group in loader.step(number)]
    assert all(len(group.passages) == 1 for group in alone)
    for group in padded:
        texts = texts_of(group, loader)
        assert 1 <= len(texts) <= 4
        assert all(text in known for text in texts)
    assert sum(len(group.passages) > 1 for group in padded) > 4


def test_a_padded_record_keeps_its_sources_and_answers(loader: Loader) -> None:
    loader.recipe = replace(RECIPE, max_padding=3)
    record = loader.ragtruth[0]
    for seed in range(10):
        padded = loader._padded(record, random.Random(seed))
        texts = [source.text for source in padded.sources]
        assert record.sources[0].text in texts
        assert 2 <= len(texts) <= 4
        assert set(texts) <= set(own_text([*loader.ragtruth, *loader.slots]))
        assert (padded.answers, padded.question) == (record.answers, record.question)
    orders = {loader._padded(record, random.Random(seed)).sources[0].text for seed in range(10)}
    assert len(orders) > 1  # its own is not always the first


def faithful(loader: Loader) -> None:
    """Leave only right answers to the contexts of the training part."""
    for i, record in enumerate(loader.ragtruth):
        right = tuple(answer for answer in record.answers if not answer.spans)
        loader.ragtruth[i] = replace(record, answers=right)


@pytest.mark.parametrize(("share", "expected"), [(0.0, False), (1.0, True)])
def test_mistakes_are_put_in_by_program(loader: Loader, share: float, expected: bool) -> None:
    faithful(loader)
    loader.recipe = replace(RECIPE, slots_per_step=0, corrupted_share=share)
    groups = [group for number in range(4) for group in loader.step(number)]
    assert len(groups) == 4
    assert [bool((group.labels > 0).any()) for group in groups] == [expected] * 4


def test_the_last_answer_gets_the_mistake_and_the_others_stay(loader: Loader) -> None:
    loader.recipe = replace(RECIPE, corrupted_share=1.0)
    right = MarkedAnswer("It was built in 1850.", ())
    source = "The tower was built in 1850. It is open."
    record = LabelledContext("1", "QA", read_sources([source]), "When?", (right, right))
    for seed in range(5):
        changed = loader._corrupted(record, random.Random(seed))
        assert changed.answers[0] == right
        assert len(changed.answers) == 2
        assert changed.answers[1].spans
        assert (changed.sources, changed.question) == (record.sources, record.question)


def test_a_question_may_assert_the_mistake(loader: Loader) -> None:
    loader.recipe = replace(RECIPE, premise_share=1.0, corrupted_share=0.0)
    record = LabelledContext(
        id="1",
        task="QA",
        sources=read_sources(["The tower was built in 1850. It is open."]),
        question="When?",
        answers=(MarkedAnswer("The tower was built in 1850.", ()),),
    )
    asked = loader._corrupted(record, random.Random(0))
    assert asked.question != "When?"
    faithful_answer, repeated = asked.answers
    assert faithful_answer == record.answers[0]
    assert repeated.spans


@pytest.mark.parametrize("name", ["quoted_share", "alone_share"])
def test_slot_texts_change_as_often_as_the_recipe_says(loader: Loader, name: str) -> None:
    recipe = replace(RECIPE, ragtruth_per_step=0)

    def steps(**shares: float) -> list[list[Group]]:
        loader.recipe = replace(recipe, **shares)  # type: ignore[arg-type]
        return [loader.step(number) for number in range(4)]

    plain, never, always = steps(), steps(**{name: 0.0}), steps(**{name: 1.0})
    assert all(same(one, other) for one, other in zip(plain, never, strict=True))
    assert not any(same(one, other) for one, other in zip(plain, always, strict=True))


def test_a_claim_alone_has_no_question_and_no_sentence_before_it(loader: Loader) -> None:
    loader.recipe = replace(RECIPE, ragtruth_per_step=0, alone_share=1.0)
    for group in [group for number in range(4) for group in loader.step(number)]:
        assert int(group.question_length) == 0
        assert not group.recalls.any()


# The files of the folder.


def test_claims_in_pairs_are_read_with_both_texts_of_each_slot(
    tmp_path: Path, pieces: WordPieces, words: WordWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "VALIDATION_CONTEXTS", 2)
    data = tmp_path / "data"
    write_records(data)
    row = {"domain": "own-claims", "context": "It is red.", "question": None, "id": "claims"}
    write(data / "slots" / "own.jsonl", [{**row, "answer": "It is {{red||blue||conflict}}."}])
    loader = Loader(data, pieces, words, replace(RECIPE, pairs_per_step=1))
    (record,) = [r for r in loader.records(0) if r.id == "claims" and len(r.answers) == 2]
    assert {answer.text for answer in record.answers} == {"It is red.", "It is blue."}


def test_slots_are_read_from_every_file_but_that_of_validation(
    tmp_path: Path, pieces: WordPieces, words: WordWeights
) -> None:
    data = tmp_path / "data"
    write_records(data)
    row = {"domain": "towns", "context": "It is red.", "question": None, "answer": "It is red."}
    write(data / "slots" / "more.jsonl", [{**row, "id": "plain"}])
    write(data / "slots" / "again.jsonl.gz", [{**row, "id": "packed"}])
    write(data / "slots" / "validation.jsonl", [{**row, "id": "unpacked by hand"}])
    write(data / "slots" / "validation-claims.jsonl", [{**row, "id": "held out"}])
    (data / "slots" / "GUIDE.md").write_text("How to write slots.")
    loader = Loader(data, pieces, words, RECIPE)
    ids = [record.id for record in loader.slots]
    assert ids == ["packed", "plain", *(f"s{i}" for i in range(6))]
    assert [record.id for record in loader.slots_validation] == ["s0", "s1"]


def test_edits_are_read_on_request_but_for_articles_that_are_held_out(
    loader: Loader, tmp_path: Path, pieces: WordPieces, words: WordWeights
) -> None:
    assert loader.edits == []
    held, held_slot = (
        loader.validation[0].sources[0].text,
        loader.slots_validation[0].sources[0].text,
    )
    rows = [
        {"id": str(i), "context": context, "answer": "It is open.", "label": "consistent"}
        for i, context in enumerate([held, held_slot, "The bridge is long.", "It is open."])
    ]
    for name in ("spans/bump", "spans/defacto", "claims/summedits"):
        write(tmp_path / "data" / f"{name}.jsonl.gz", rows)
    recipe = replace(RECIPE, ragtruth_per_step=0, slots_per_step=0, edits_per_step=2)
    edited = Loader(tmp_path / "data", pieces, words, recipe)
    assert [record.id for record in edited.edits] == ["2", "3"] * 3
    assert len(edited.step(0)) == 2


def test_two_steps_change_the_weights_and_training_goes_on_where_it_stopped(
    loader: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    draw = loader.step

    def step(number: int) -> list[Group]:
        steps.append(number)
        return draw(number)

    monkeypatch.setattr(loader, "step", step)
    model = shallow(seed=0)
    before = model.head.weight.detach().clone()
    train(RECIPE, loader, model, tmp_path, resume=False)
    saved = load_file(tmp_path / "reader.safetensors")
    assert steps == [0, 1]
    assert not torch.equal(saved["head.weight"], before)
    assert all(torch.isfinite(tensor).all() for tensor in saved.values())

    longer = replace(RECIPE, steps=3)
    other = shallow(seed=1)
    train(longer, loader, other, tmp_path, resume=True)
    assert steps == [0, 1, 2]
    # It went on from what was saved, not from its own beginning: one step moves little.
    moved = load_file(tmp_path / "reader.safetensors")["head.weight"] - saved["head.weight"]
    assert 0 < float(moved.abs().max()) < 0.01


# The folder that ships.


def test_a_package_is_a_model_folder_that_a_detector_opens(
    exported: Exported,
    model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights = tmp_path / "weights.safetensors"
    save_file(exported.model.state_dict(), weights)
    out = tmp_path / "models" / "reader"
    package(
        weights,
        model_folder,
        out,
        version="9.9",
        operating_points={"balanced": 0.4},
        calibration={"scale": 0.5, "offset": 0.1},
    )
    manifest = Manifest.read(out)
    verify(manifest)
    assert (manifest.name, manifest.version, manifest.licence) == ("reader", "9.9", "Apache-2.0")
    assert manifest.labels == ("supported", "unsupported", "contradicted")
    assert manifest.total_bytes < 30_000_000
    monkeypatch.setattr("groundwire.engine.models._ROOT", tmp_path / "models")
    with Detector.load(threads=1) as detector:
        result = detector.detect(sources=["The tower is tall."], answer="The tower is red.")
    assert result.detector.threshold == 0.4
    assert result.detector.revision == manifest.revision
    assert result.claims[0].probability is not None

    (out / "reader.onnx").write_bytes(b"other")
    with pytest.raises(CorruptModelError, match=r"reader\.onnx is not the file"):
        Detector.load(threads=1)
