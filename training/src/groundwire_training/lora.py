"""Adds low-rank adapters to the reader: small matrices that are trained in place of large ones."""

import torch
from torch import Tensor

from groundwire_training.model import Reader
from groundwire_training.recipe import Lora

#: Matrices of each layer that get adapters: attention and feed-forward.
TARGETS = ("q", "k", "v", "o", "f1", "f2")
_ADAPTER = "default"


def add_adapters(model: Reader, lora: Lora) -> None:
    """Add adapters to every layer, and freeze all weights but adapters, heads and small tables.

    The adapters begin at zero, so the output of the model does not change at first.
    """
    from peft import LoraConfig, inject_adapter_in_model  # imported here, as it takes seconds

    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(TARGETS),
    )
    inject_adapter_in_model(config, model, adapter_name=_ADAPTER)
    for part in (model.head, model.sentence_head, model.feat, model.role):
        part.requires_grad_(True)


@torch.no_grad()
def merged(model: Reader) -> dict[str, Tensor]:
    """Return the weights of a reader with adapters merged, under the names without adapters."""
    weights = {
        name.replace(".base_layer.", "."): tensor
        for name, tensor in model.state_dict().items()
        if ".lora_" not in name
    }
    for name, part in model.named_modules():
        if hasattr(part, "get_delta_weight"):
            whole = weights[f"{name}.weight"]
            weights[f"{name}.weight"] = whole + part.get_delta_weight(_ADAPTER)
    return weights
