"""Pretrained encoders: their weights under our names, and files of a reader's weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import save_file
from torch import Tensor

from groundwire.engine.architecture import MINILM, MPNET
from groundwire.engine.roles import TextRole
from groundwire_training.bases import read_base, read_weights, relative_bias, save_weights
from groundwire_training.model import AttentionInput, Reader

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small MPNet of transformers with weights drawn by chance, and its file."""
    from transformers import MPNetConfig, MPNetModel

    torch.manual_seed(0)
    theirs: Any = MPNetModel(MPNetConfig(num_hidden_layers=2, layer_norm_eps=1e-5))
    theirs.eval()
    torch.nn.init.normal_(theirs.encoder.relative_attention_bias.weight)
    path = tmp_path_factory.mktemp("mpnet") / "model.safetensors"
    save_file(theirs.state_dict(), path)
    return path, theirs


def hidden(model: Reader, ids: Tensor) -> Tensor:
    """A text read alone; ``(1, L)`` to ``(1, L, D)``."""
    places = torch.arange(ids.shape[1])
    found = model.embed(ids, places, TextRole.SOURCE, None)
    for layer in model.typed_layers():
        keys, values = layer.keys_values(found)
        found = layer.attend(
            found, [AttentionInput(slice(None), keys, values, model._near(places, found.dtype))]
        )
    return found


def test_a_text_read_alone_is_read_as_by_mpnet(mpnet: tuple[Path, Any]) -> None:
    path, theirs = mpnet
    model = read_base(path, layers=2).eval()
    own = torch.tensor([[101, *range(2000, 2150), 102]])  # longer than what it tells apart
    their_ids = own + 4
    their_ids[0, 0], their_ids[0, -1] = 0, 2
    with torch.inference_mode():
        expected = theirs(their_ids).last_hidden_state
        torch.testing.assert_close(hidden(model, own), expected, atol=1e-4, rtol=0)


def test_the_first_layers_can_be_kept_alone(mpnet: tuple[Path, Any]) -> None:
    path, _ = mpnet
    assert read_base(path, layers=1).sizes == replace(MPNET, layers=1)
    with pytest.raises(ValueError, match="has 12 layers, so 13 cannot be kept"):
        read_base(path, layers=13)


def test_far_places_have_no_bias() -> None:
    buckets = torch.randn(32, 12)
    buckets[31] = buckets[15]  # before and after alike
    bias = relative_bias(buckets)
    assert bias.shape == (1023, 12)
    assert bias[[0, 511 - 128, 511 + 128, 1022]].abs().max() == 0
    torch.testing.assert_close(bias[511 + 1] - bias[511 - 1], buckets[17] - buckets[1])


def test_weights_come_back_with_their_sizes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = replace(MINILM, layers=1, recalls=False)
    model = Reader(sizes)
    save_weights(model, model.state_dict(), tmp_path / "reader.safetensors")
    again = read_weights(tmp_path / "reader.safetensors")
    assert again.sizes == sizes
    assert all(torch.equal(again.state_dict()[name], t) for name, t in model.state_dict().items())


def test_weights_without_sizes_are_of_minilms(tmp_path: Path) -> None:
    save_file(Reader().state_dict(), tmp_path / "old.safetensors")
    assert read_weights(tmp_path / "old.safetensors").sizes == MINILM
