"""Where tensors live: on the CPU, or on a GPU that PyTorch finds."""

from contextlib import AbstractContextManager, nullcontext

import torch

from groundwire.errors import SettingError


def find_device(choice: str) -> str:
    """``cpu`` or ``cuda``.

    Raises:
        SettingError: If a GPU is asked for that PyTorch does not find.
    """
    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise SettingError(
            "device", choice, "cpu here: PyTorch finds no GPU. Install a build of it with CUDA"
        )
    return "cuda" if has_gpu and choice != "cpu" else "cpu"


def placed(device: str) -> AbstractContextManager[object]:
    """Tensors that the model makes on its way are made on the device."""
    return nullcontext() if device == "cpu" else torch.device(device)


def is_mixed(precision: str, device: str) -> bool:
    """Whether products are computed in bfloat16.

    Args:
        precision: ``fp32``, ``bf16`` or ``auto``. A CPU without instructions for bfloat16 takes
            nearly twice as long with it.
        device: ``cpu`` or ``cuda``.
    """
    if precision != "auto":
        return precision == "bf16"
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu.get_capabilities().get("avx512_bf16"))
