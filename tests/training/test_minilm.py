"""The shipped encoder computes what the base computes, as sentence-transformers reads it."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")

import torch
from transformers import BertConfig, BertModel

from groundwire.engine.embedder import GRAPH, Encoder
from groundwire.engine.models import Manifest, verify
from groundwire_training.minilm import package, write_manifest

pytestmark = pytest.mark.torch

TEXTS = [[101, 7, 102], [101, *range(200, 230), 102], [101, *([5, 60, 400] * 84), 9, 9, 102]]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[BertModel, Path]:
    """A BERT of the base's shape that knows nothing, and few words."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=500,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        initializer_range=0.06,
    )
    model = BertModel(config)
    model.train(mode=False)
    folder = tmp_path_factory.mktemp("bert")
    model.save_pretrained(folder)
    return model, folder / "model.safetensors"


def embedded(model: BertModel, ids: list[int]) -> NDArray[np.float32]:
    """Mean over all word pieces, [CLS] and [SEP] included, of length 1."""
    with torch.inference_mode():
        mean = model(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(0)
    return np.asarray(torch.nn.functional.normalize(mean, dim=0).numpy())


@pytest.mark.parametrize("ids", TEXTS, ids=len)
def test_fp32_is_the_base(bert: tuple[BertModel, Path], tmp_path: Path, ids: list[int]) -> None:
    model, weights = bert
    package(weights, tmp_path, int8=False)
    found = Encoder(tmp_path / GRAPH, threads=1).read(ids)
    np.testing.assert_allclose(found, embedded(model, ids), atol=1e-5)


@pytest.mark.parametrize("ids", TEXTS, ids=len)
def test_int8_is_near_it(bert: tuple[BertModel, Path], tmp_path: Path, ids: list[int]) -> None:
    model, weights = bert
    package(weights, tmp_path)
    found = Encoder(tmp_path / GRAPH, threads=1).read(ids)
    assert found @ embedded(model, ids) > 0.98
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6)


def test_the_folder_is_written_alike_each_time_and_verifies(
    bert: tuple[BertModel, Path], tmp_path: Path
) -> None:
    _, weights = bert
    for name in ("a", "b"):
        package(weights, tmp_path / name)
    one, other = (Manifest.read(tmp_path / name) for name in ("a", "b"))
    assert one.files == other.files
    assert one.revision == other.revision
    verify(one)
    assert (one.name, one.kind, one.licence) == ("minilm", "encoder", "Apache-2.0")


def test_thresholds_and_card_are_kept_when_it_is_written_again(
    bert: tuple[BertModel, Path], tmp_path: Path
) -> None:
    _, weights = bert
    package(weights, tmp_path)
    write_manifest(tmp_path, operating_points={"balanced": 0.6})
    (tmp_path / "MODEL_CARD.md").write_text("A card.\n")
    package(weights, tmp_path)
    manifest = Manifest.read(tmp_path)
    assert manifest.operating_points == {"balanced": 0.6}
    assert set(manifest.files) == {GRAPH, "MODEL_CARD.md"}
