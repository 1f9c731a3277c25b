"""Checks of settings: a wrong value raises an error that names the setting."""

import warnings
from numbers import Real

from groundwire.errors import SettingError

#: The largest number of threads that can be set. All of them are started, so without a limit a
#: mistyped number could bring the machine down.
MAX_THREADS = 256


def is_number(value: object) -> bool:
    """Return whether a value is a number; ``True`` and ``False`` are not numbers here."""
    return isinstance(value, Real) and not isinstance(value, bool)


def require_whole(
    name: str, value: object, low: int, high: int | None = None, *, otherwise: str = ""
) -> None:
    """Refuse a value that is not a whole number in a range.

    Args:
        name: Name of the setting.
        value: Value of the setting.
        low: The smallest valid number.
        high: The largest valid number; ``None`` if there is no limit.
        otherwise: Other valid values, for the message.

    Raises:
        SettingError: If the value is not a whole number in this range.
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
    """Refuse settings that an embedded model does not have; warn if a device other than cpu is set.

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
