"""Pretrained encoders to begin with, and files of a reader's weights.

Both bases come out with BERT's ids and with positions from 0, so that tokenizer, features, labels
and graph are the same for all readers.
"""

import json
import math
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from groundwire.engine.architecture import MINILM, MPNET, POSITIONS, VOCABULARY, Architecture
from groundwire_training.model import Reader

# MPNet's tokenizer is BERT's behind four tokens of its own, and begins and ends a text by two of
# them: <s> <pad> </s> <unk>.
_MPNET_SHIFT, _MPNET_START, _MPNET_END = 4, 0, 2
_CLS, _SEP = 101, 102  # of BERT
_MPNET_FIRST_POSITION = 2
# Of https://arxiv.org/abs/1910.10683, as MPNet has them.
_BUCKETS, _FARTHEST = 32, 128
_BERT = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "ln1": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "ln2": "output.LayerNorm",
}
_MPNET = {
    **{name: f"attention.attn.{name}" for name in "qkvo"},
    "ln1": "attention.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "ln2": "output.LayerNorm",
}
_METADATA = "architecture"


def read_base(path: Path, *, layers: int | None = None, dropout: float = 0.1) -> Reader:
    """Start from a pretrained encoder.

    Args:
        path: ``model.safetensors`` of all-MiniLM-L6-v2 or of all-mpnet-base-v2.
        layers: Keep the first so many; ``None`` keeps all.
        dropout: Share of hidden values that are left out in training.

    Raises:
        KeyError: If it is another model.
        ValueError: If it has fewer layers.
    """
    weights = {name: tensor.float() for name, tensor in load_file(path).items()}
    is_mpnet = "encoder.relative_attention_bias.weight" in weights
    sizes = MPNET if is_mpnet else MINILM
    if layers is not None:
        if not 1 <= layers <= sizes.layers:
            raise ValueError(f"{path} has {sizes.layers} layers, so {layers} cannot be kept.")
        sizes = replace(sizes, layers=layers)
    model = Reader(sizes, dropout=dropout)
    model.word.weight.data = _mpnet_words(weights) if is_mpnet else _bert_words(weights)
    positions = weights["embeddings.position_embeddings.weight"]
    model.pos.weight.data = positions[_MPNET_FIRST_POSITION if is_mpnet else 0 :]
    if model.near is not None:
        model.near.data = relative_bias(weights["encoder.relative_attention_bias.weight"])
        model.role.weight.data.zero_()
    else:
        kinds = weights["embeddings.token_type_embeddings.weight"]
        model.role.weight.data = kinds[[0, 1, 0, 1]].clone()
    for i, layer in enumerate(model.layers):
        for mine, theirs in (_MPNET if is_mpnet else _BERT).items():
            part = getattr(layer, mine)
            part.weight.data = weights[f"encoder.layer.{i}.{theirs}.weight"]
            part.bias.data = weights[f"encoder.layer.{i}.{theirs}.bias"]
    model.ln.weight.data = weights["embeddings.LayerNorm.weight"]
    model.ln.bias.data = weights["embeddings.LayerNorm.bias"]
    return model


def _bert_words(weights: dict[str, Tensor]) -> Tensor:
    return weights["embeddings.word_embeddings.weight"]


def _mpnet_words(weights: dict[str, Tensor]) -> Tensor:
    theirs = weights["embeddings.word_embeddings.weight"]
    table = theirs[_MPNET_SHIFT : _MPNET_SHIFT + VOCABULARY].clone()
    table[_CLS], table[_SEP] = theirs[_MPNET_START], theirs[_MPNET_END]
    return table


def relative_bias(buckets: Tensor) -> Tensor:
    """The bias by distance, as :class:`Reader` keeps it: shape ``(1023, H)``.

    A sentence, its passages and its question are read apart and have no distance. To each other
    they should be as far away as pretraining knew, where the bias is down to -3 in some heads. What
    a softmax sees is differences, so that far value is taken from all distances, and texts that
    are read apart need no bias at all.

    Args:
        buckets: MPNet's table, shape ``(32, H)``: 16 buckets for what stands before, 16 for what
            stands after.
    """
    distance = torch.arange(-(POSITIONS - 1), POSITIONS)
    half = _BUCKETS // 2
    exact = half // 2
    far = distance.abs()
    ratio = (far.clamp_min(1).float() / exact).log() / math.log(_FARTHEST / exact)
    coarse = (exact + (ratio * (half - exact)).long()).clamp_max(half - 1)
    bucket = torch.where(far < exact, far, coarse) + half * (distance > 0)
    farthest = (buckets[half - 1] + buckets[-1]) / 2
    return buckets[bucket] - farthest


def save_weights(model: Reader, weights: dict[str, Tensor], path: Path) -> None:
    """Write the weights of a reader, with its sizes."""
    stated = {_METADATA: json.dumps(model.sizes.to_dict())}
    save_file({n: t.contiguous() for n, t in weights.items()}, path, metadata=stated)


def sizes_of(path: Path) -> Architecture:
    """The sizes of the reader whose weights a file holds; those of MiniLM if it says nothing."""
    with safe_open(path, "pt") as file:
        stated = (file.metadata() or {}).get(_METADATA)
    return Architecture(**json.loads(stated)) if stated else MINILM


def read_weights(path: Path, *, dropout: float = 0.1) -> Reader:
    """A reader with the weights of a file.

    Raises:
        RuntimeError: If they are no reader's.
    """
    model = Reader(sizes_of(path), dropout=dropout)
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model
