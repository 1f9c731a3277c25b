"""Reads the settings of a verification from the arguments of a call.

:class:`groundwire.config.tree.Verify` has the types and defaults of the settings.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from groundwire.config.kinds import KindError, Secret
from groundwire.config.tree import SETTINGS, Verify
from groundwire.errors import SettingError
from groundwire.verify.errors import invalid_argument

DEFAULTS = Verify()

#: The model that an endpoint or a service is asked for by default.
DEFAULT_MODEL = "gpt-4o-mini"

#: Argument → setting, where the names differ.
RENAMED = {"verifier_model": "model", "default_target": "target"}

#: Settings that the calling program chooses; an invalid value raises a ``SettingError``. If another
#: setting has an invalid value, the report says so, because an agent may have chosen the value.
OF_THE_PROGRAM = frozenset({"max_group_size", "max_group_prompt_chars", "rule", "verifier"})


def read_settings(arguments: Mapping[str, Any]) -> Verify:
    """Read settings from the arguments of a call.

    Raises:
        NotVerifiedError: If a setting outside ``OF_THE_PROGRAM`` has an invalid value.
        SettingError: If a setting in ``OF_THE_PROGRAM`` has an invalid value.
    """
    values = {RENAMED.get(name, name): value for name, value in arguments.items()}
    # Settings in OF_THE_PROGRAM are read first, so that their error comes before any other.
    ordered = sorted(values, key=lambda name: name not in OF_THE_PROGRAM)
    return Verify(**{name: _read(name, values[name]) for name in ordered})


def arguments_of(settings: Verify) -> dict[str, Any]:
    """Return the arguments of :func:`groundwire.detect_hallucination` that give these settings.

    Without a model in the settings, ``verifier_model`` is ``DEFAULT_MODEL``.

    >>> arguments_of(Verify(target=0.9))["default_target"]
    0.9
    """
    names = {setting: argument for argument, setting in RENAMED.items()}
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    found = {names.get(name, name): value for name, value in values.items()}
    return found | {"verifier_model": settings.model or DEFAULT_MODEL}


def _read(name: str, value: object) -> Any:  # noqa: ANN401 - the type depends on the setting
    setting = SETTINGS[f"verify.{name}"]
    if isinstance(value, Secret):
        return value
    try:
        return setting.kind.read(value)
    except KindError as error:
        argument = next((a for a, each in RENAMED.items() if each == name), name)
        if name in OF_THE_PROGRAM:
            raise SettingError(argument, value, error.legal) from error
        shown = "***" if setting.kind.is_secret else repr(value)[:80]
        raise invalid_argument(
            f"{argument} = {shown} is not possible. It must be {error.legal}."
        ) from error
