"""What a setting may be: checks that refuse a wrong one by name, when it is given."""

import warnings
from numbers import Real

from groundwire.errors import SettingError

#: Each thread is started: a slip of the finger must not take the machine down.
MAX_THREADS = 256


def is_number(value: object) -> bool:
    """Whether a value is a number; ``True`` is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def require_whole(
    name: str, value: object, low: int, high: int | None = None, *, otherwise: str = ""
) -> None:
    """Refuse what is no whole number in a range.

    Args:
        name: Of the setting.
        value: What was given.
        low: The least it may be.
        high: The most it may be; ``None`` is no bound.
        otherwise: What else is possible, for the message.

    Raises:
        SettingError: If it is something else.
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
    """What is said of a loaded checkpoint has no meaning for the model in the package.

    Raises:
        SettingError: If a revision or a maximum length is given, or what is no device.
    """
    if revision is not None:
        raise SettingError("revision", revision, "None: the embedded model has one revision")
    if max_length is not None:
        raise SettingError("max_length", max_length, "None: the embedded model reads sentences")
    if device != "cpu":
        from groundwire.engine.checkpoints import DeviceWarning, require_device

        require_device(device)
        warnings.warn(
            f"The embedded model runs on the CPU; device={device!r} is for loaded checkpoints.",
            DeviceWarning,
            stacklevel=3,
        )
