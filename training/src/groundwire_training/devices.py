"""Chooses the device and the precision of training: the CPU, or a GPU that PyTorch finds."""

from contextlib import AbstractContextManager, nullcontext

import torch

from groundwire.errors import SettingError


def find_device(choice: str) -> str:
    """Choose ``cpu`` or ``cuda``; ``auto`` takes a GPU if there is one.

    Raises:
        SettingError: If ``choice`` is ``cuda`` and PyTorch finds no GPU.
    """
    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise SettingError(
            "device", choice, "cpu here: PyTorch finds no GPU. Install a build of it with CUDA"
        )
    return "cuda" if has_gpu and choice != "cpu" else "cpu"


def placed(device: str) -> AbstractContextManager[object]:
    """Return a context manager in which new tensors are made on the device."""
    return nullcontext() if device == "cpu" else torch.device(device)


def is_mixed(precision: str, device: str) -> bool:
    """Return whether to compute matrix products in bfloat16.

    Args:
        precision: ``fp32``, ``bf16``, or ``auto``: bfloat16 if the device has instructions for it.
            Without these, a CPU takes nearly twice as long in bfloat16.
        device: ``cpu`` or ``cuda``.
    """
    if precision != "auto":
        return precision == "bf16"
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu.get_capabilities().get("avx512_bf16"))
