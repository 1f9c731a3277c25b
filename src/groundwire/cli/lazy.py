"""Groups of commands that are imported when they are called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from groundwire.text.spelling import did_you_mean


class SuggestingGroup(click.Group):
    """A group of commands. The error for an unknown command suggests one with a similar name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """A group of commands, some of which are imported only when they are called.

    ``lazy`` maps the name of such a command to its place (``module:attribute``) and its line in the
    list of commands, so that ``--help`` of the group need not import it.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, most used first."""
        return [*super().list_commands(ctx), *self._lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name, and import it if need be."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help, without importing them."""
        own = [(name, each.get_short_help_str(100)) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, line) for name, (_, line) in self._lazy.items())])
