"""Options that stand for settings: read as a configuration reads them, and winning over it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from groundwire.config import Config


def setting_option(path: str, *names: str, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """An option that wins over a setting, and has no default of its own.

    Args:
        path: Of the setting.
        names: Of the option.
        settings: Of :func:`click.option`.
    """

    def read(ctx: click.Context, param: click.Parameter, value: object) -> object:
        if value is None:
            return None
        from groundwire.config.fields import describe_wrong
        from groundwire.config.kinds import KindError
        from groundwire.config.tree import SETTINGS

        setting = SETTINGS[path]
        try:
            return setting.kind.read(value)
        except KindError as error:
            message = describe_wrong(setting.path, value, error)
            raise click.BadParameter(message, ctx, param) from error

    return click.option(*names, callback=read, **settings)


def with_values(config: "Config", given: Mapping[str, Any]) -> "Config":
    """A configuration over which options have won, by the paths of their settings."""
    from groundwire.config import SettingOrigin
    from groundwire.detection.values import FrozenMapping

    changes: dict[str, Any] = {}
    for path, value in given.items():
        section, _, name = path.partition(".")
        changes[section] = replace(changes.get(section, getattr(config, section)), **{name: value})
    here = dict.fromkeys(given, SettingOrigin(source="the command line"))
    return replace(config, **changes, origins=FrozenMapping({**config.origins, **here}))
