"""The training loop on a handful of records, and the folder that comes out of it."""

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch
from safetensors.torch import load_file, save_file

from groundwire import Detector
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import CorruptModelError
from groundwire.evidence import WordWeights
from groundwire.models import Manifest, verify
from groundwire.training import loop
from groundwire.training.loop import Loader, Recipe, train
from groundwire.training.model import Group, Reader
from groundwire.training.package import package
from tests.training.conftest import Exported
from tests.training.test_data import write

pytestmark = pytest.mark.torch

RECIPE = Recipe(steps=2, ragtruth_per_step=1, slots_per_step=1, answers=2)


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
    for number in (0, 1):
        for one, other in zip(loader.step(number), again.step(number), strict=True):
            assert torch.equal(one.ids, other.ids)
            assert torch.equal(one.labels, other.labels)
            assert torch.equal(one.passages, other.passages)


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

    longer = Recipe(steps=3, ragtruth_per_step=1, slots_per_step=1, answers=2)
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
    monkeypatch.setattr("groundwire.models._ROOT", tmp_path / "models")
    with Detector.load(threads=1) as detector:
        result = detector.detect(sources=["The tower is tall."], answer="The tower is red.")
    assert result.detector.threshold == 0.4
    assert result.detector.revision == manifest.revision
    assert result.claims[0].probability is not None

    (out / "reader.onnx").write_bytes(b"other")
    with pytest.raises(CorruptModelError, match=r"reader\.onnx is not the file"):
        Detector.load(threads=1)
