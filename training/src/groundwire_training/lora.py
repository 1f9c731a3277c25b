"""Adapters in the reader: small matrices learn beside large ones that stay as they are."""

import torch
from torch import Tensor

from groundwire_training.model import Reader
from groundwire_training.recipe import Lora

#: Of each layer: attention and feed-forward.
TARGETS = ("q", "k", "v", "o", "f1", "f2")
_ADAPTER = "default"


def add_adapters(model: Reader, lora: Lora) -> None:
    """Put adapters into every layer; only they, the heads and the small tables learn from now on.

    They begin as nothing: the model says the same as before.
    """
    from peft import LoraConfig, inject_adapter_in_model  # takes seconds

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
    """The weights of a reader under their own names, adapters added to what they adapt."""
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
