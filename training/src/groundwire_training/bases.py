"""Reads pretrained base encoders, and reads and writes the weights of readers.

Both base encoders are converted to BERT's word-piece ids and to positions from 0. So all readers
have the same tokenizer, features, labels and graph.
"""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from groundwire.engine.architecture import MINILM, MPNET, POSITIONS, VOCABULARY, Architecture
from groundwire_training.model import Reader

# MPNet's vocabulary begins with four tokens, <s> <pad> </s> <unk>, before BERT's vocabulary. Its
# texts begin with <s> and end with </s>, as BERT's do with [CLS] and [SEP].
_MPNET_SHIFT, _MPNET_START, _MPNET_END = 4, 0, 2
_CLS, _SEP = 101, 102  # ids in BERT's vocabulary
_MPNET_FIRST_POSITION = 2
# Distance buckets of https://arxiv.org/abs/1910.10683, with MPNet's numbers.
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
    """Make a reader from a pretrained encoder.

    Args:
        path: ``model.safetensors`` of all-MiniLM-L6-v2 or of all-mpnet-base-v2.
        layers: Number of layers to keep, from the first; ``None`` keeps all.
        dropout: Dropout rate of hidden values in training.

    Raises:
        KeyError: If the file has the weights of another model.
        ValueError: If the model has fewer layers than are to be kept.
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
    """Convert MPNet's relative bias to a bias by distance, shape ``(1023, H)``.

    A sentence, its passages and its question are separate texts, with no distance between them.
    Attention between separate texts should have the bias of the largest distance of pretraining,
    which is down to -3 in some heads. That bias is subtracted from the bias of every distance, so
    that separate texts need none; a softmax depends only on differences.

    Args:
        buckets: MPNet's table, shape ``(32, H)``: 16 buckets for keys before the query and 16 for
            keys after it.
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
    """Write weights to a file, with the sizes of the reader's architecture in its metadata."""
    stated = {_METADATA: json.dumps(asdict(model.sizes))}
    save_file({n: t.contiguous() for n, t in weights.items()}, path, metadata=stated)


def sizes_of(path: Path) -> Architecture:
    """Read a reader's architecture from its file of weights; MiniLM's if the file has none."""
    with safe_open(path, "pt") as file:
        stated = (file.metadata() or {}).get(_METADATA)
    return Architecture(**json.loads(stated)) if stated else MINILM


def read_weights(path: Path, *, dropout: float = 0.1) -> Reader:
    """Make a reader with the weights of a file.

    Raises:
        RuntimeError: If the file does not have the weights of a reader.
    """
    model = Reader(sizes_of(path), dropout=dropout)
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model
