"""Checks of settings; the error for a wrong value names the setting."""

import os
import warnings
from numbers import Real

from groundwire.errors import SettingError

#: Limit on the number of threads that can be set, so that a typing error does no harm.
MAX_THREADS = 256


def is_number(value: object) -> bool:
    """Return whether a value is a real number; ``True`` and ``False`` are not numbers here."""
    return isinstance(value, Real) and not isinstance(value, bool)


def require_whole(
    name: str, value: object, low: int, high: int | None = None, *, otherwise: str = ""
) -> None:
    """Check that a setting is an ``int`` from ``low`` to ``high``, both included, and no ``bool``.

    Without ``high`` there is no upper limit. ``otherwise`` is only for the message of the error: it
    names other values that the caller accepts.

    Raises:
        SettingError: If the value has another type or is outside this range.
    """
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or value < low
        or (high is not None and value > high)
    ):
        valid = f"{low} or more" if high is None else f"{low} to {high}"
        raise SettingError(name, value, valid + otherwise)


def check_for_embedded(*, revision: str | None, device: str, max_length: int | None) -> None:
    """Check settings for a detector, gate or explainer that is not a loaded checkpoint.

    Its model runs only on the CPU. A device other than ``cpu`` has no effect, and gives a
    :class:`.DeviceWarning`.

    Raises:
        SettingError: If a revision or a maximum length is given, or the device has no valid name.
    """
    if revision is not None:
        raise SettingError("revision", revision, "None: the embedded model has one revision")
    if max_length is not None:
        valid = "None: the embedded model reads one sentence at a time"
        raise SettingError("max_length", max_length, valid)
    if device != "cpu":
        from groundwire.engine.checkpoints import DeviceWarning, require_device

        require_device(device)
        warnings.warn(
            f"The embedded model runs on the CPU; device={device!r} is for loaded checkpoints.",
            DeviceWarning,
            stacklevel=3,
        )


def n_threads(threads: int | None) -> int:
    """Return the number of threads; ``None`` means one for each processor this process may use.

    Raises:
        SettingError: If the number is not from 1 to 256.
    """
    if threads is not None:
        require_whole("threads", threads, 1, MAX_THREADS, otherwise=", or None")
        return threads
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)
