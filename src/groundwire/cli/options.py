"""Declares options in the signature of a command's function, or in a class that commands share.

The help of an option is its argument ``help`` or else the entry of its parameter under ``Args:`` in
the function's docstring, or under ``Attributes:`` in the docstring of the class. The part of a
function's docstring from ``Examples:`` or ``Exit status:`` on is the end of the help, below the
options. A class of options is a dataclass; a parameter annotated with the class gets an object that
has the values of the options. A command looks like this::

    @command()
    def greet(*, name: str | None = option("--name", "TEXT"), tone: Tone) -> None:
        \"\"\"The help of the command, with a section Args for the help of --name.\"\"\"
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import wraps
from types import UnionType
from typing import Any, get_args, get_origin

import click
from click.core import ParameterSource

from groundwire.text.docstrings import described
from groundwire.text.spelling import did_you_mean

_EPILOG = re.compile(r"^(?:Examples?|Exit status)\b.*:\n.*", re.MULTILINE | re.DOTALL)


class SuggestingGroup(click.Group):
    """A group of commands. The error for an unknown command suggests a similar name, if any."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """An option or an argument that a function or a class declares.

    Attributes:
        names: Names of an option on the command line; empty for an argument.
        settings: Arguments for :class:`click.Option` or :class:`click.Argument`.
        setting: Path of the setting in the configuration that the option overrides; empty if there
            is none.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    setting: str = ""


def option(
    names: str,
    metavar: str | None = None,
    type: Any = None,  # noqa: ANN401 - a type of click's
    *,
    setting: str = "",
    **settings: Any,  # noqa: ANN401 - arguments of click.option
) -> Any:  # noqa: ANN401 - the default of a parameter of any type
    """Declare an option as the default of a parameter.

    An option is a flag if the parameter is annotated with ``bool``, and can be repeated if it is
    annotated with a tuple.

    Args:
        names: The option on the command line, such as ``--data`` or ``--check/--no-check``.
        metavar: Name of the value in the help.
        type: Click type of the value, where the annotation does not say it.
        setting: Path of the setting in the configuration that the option overrides. Values of the
            option are parsed like values of this setting.
        settings: Further arguments of :func:`click.option`.
    """
    return Declared((names,), {"metavar": metavar, "type": type, **settings}, setting)


def argument(metavar: str | None = None, type: Any = None, **settings: Any) -> Any:  # noqa: ANN401
    """Declare an argument; ``metavar``, ``type`` and ``settings`` are as for :func:`option`."""
    return Declared((), {"metavar": metavar, "type": type, **settings})


def command(
    name: str | None = None,
    *,
    under: click.Group | None = None,
    **settings: Any,  # noqa: ANN401 - arguments of click.command
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function that declares its options.

    If the function's first parameter is named ``ctx``, it gets click's context.

    Args:
        name: Name of the command; ``None``: the name of the function.
        under: The group that the command belongs to.
        settings: Further arguments of :func:`click.command`.
    """
    make = click.command if under is None else under.command

    def made(function: Callable[..., Any]) -> click.Command:
        return make(name, **{"epilog": _epilog(function), **settings})(_with_options(function))

    return made


def commands(**settings: Any) -> Callable[[Callable[..., Any]], SuggestingGroup]:  # noqa: ANN401
    """Make a group of commands from a function; the parameters are those of :func:`command`."""
    # With ``cls``, click makes a group in place of a plain command.
    return command(cls=SuggestingGroup, **settings)  # type: ignore[return-value]


def _without_epilog(source: Callable[..., Any]) -> str:
    return _EPILOG.sub("", inspect.cleandoc(source.__doc__ or ""))


def _epilog(function: Callable[..., Any]) -> str | None:
    """Return the end of a docstring, from ``Examples:`` or ``Exit status:`` on.

    The result is ``None`` if the docstring has neither. The text is marked, so that click does not
    join its lines.
    """
    found = _EPILOG.search(inspect.cleandoc(function.__doc__ or ""))
    if found is None:
        return None
    return "\n\n".join(f"\b\n{part}" for part in found[0].replace("\n    ", "\n  ").split("\n\n"))


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the options that its signature declares.

    The function also gets click's context if its first parameter is named ``ctx``.
    """
    text, _ = described(_without_epilog(function))

    @wraps(function)
    def collected(*args: object, **given: Any) -> object:  # noqa: ANN401 - values of options
        return function(*args, **_arguments(function, given))

    collected.__doc__ = text
    params = [_parameter(each, text) for each, text in _declared(function)]
    collected.__click_params__ = params[::-1]  # type: ignore[attr-defined] # click reads it
    has_context = next(iter(inspect.signature(function).parameters), "") == "ctx"
    return click.pass_context(collected) if has_context else collected


def names_of(options: type) -> tuple[str, ...]:
    """Return the names of the parameters that a class of options declares."""
    return tuple(each.name for each, _ in _declared(options))


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the option of a parameter was given on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def given_settings(options: object) -> dict[str, Any]:
    """Return the settings for which options were given: path of a setting → value of its option."""
    return {each.setting: value for each, value in _given(options) if each.setting}


def given_options(options: object) -> dict[str, Any]:
    """Return the given options that override settings: name on the command line → value."""
    return {each.names[0]: value for each, value in _given(options) if each.setting}


def _given(options: object) -> Iterator[tuple[Declared, Any]]:
    for each, _ in _declared(type(options)):
        if (value := getattr(options, each.name)) is not None:
            yield each.default, value


def _declared(source: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, str | None]]:
    """Yield each option and argument that a signature declares, with its help.

    ``source`` is a command's function, or a class of options.
    """
    _, helps = described(_without_epilog(source))
    for each in inspect.signature(source).parameters.values():
        if _is_options(each.annotation):
            yield from _declared(each.annotation)
        elif isinstance(each.default, Declared):
            yield each, helps.get(each.name)


def _arguments(source: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a command's function, or for a class of options.

    ``given`` has the values of all options of the command. A parameter that is annotated with a
    class of options gets an object of this class.
    """
    found = {}
    for each in inspect.signature(source).parameters.values():
        if _is_options(each.annotation):
            found[each.name] = each.annotation(**_arguments(each.annotation, given))
        elif isinstance(each.default, Declared):
            found[each.name] = given[each.name]
    return found


def _parameter(parameter: inspect.Parameter, text: str | None) -> click.Parameter:
    """Make an option or argument of click from a parameter and its help."""
    name, annotation, declared = parameter.name, parameter.annotation, parameter.default
    settings = {key: value for key, value in declared.settings.items() if value is not None}
    plain = _without_none(annotation)
    is_repeated = get_origin(plain) is tuple
    if not declared.names:
        return click.Argument([name], **({"nargs": -1} if is_repeated else {}) | settings)
    if declared.setting:
        settings["callback"] = _reader(declared.setting)
    if isinstance(settings.get("type"), click.Path):
        settings.setdefault("metavar", "FILE")
    if plain is bool:
        settings.setdefault("default", None if annotation is not bool else False)
        settings.setdefault("is_flag", True)
    else:
        settings.setdefault("multiple", is_repeated)
        settings.setdefault("show_default", settings.get("default") is not None)
        if plain in (int, float):
            settings.setdefault("type", plain)
    return click.Option([*declared.names, name], **{"help": text} | settings)


def _is_options(annotation: Any) -> bool:  # noqa: ANN401
    return is_dataclass(annotation)


def _without_none(annotation: Any) -> Any:  # noqa: ANN401
    if isinstance(annotation, UnionType):
        return next(each for each in get_args(annotation) if each is not type(None))
    return annotation


def _reader(path: str) -> Callable[[click.Context, click.Parameter, object], object]:
    def read(ctx: click.Context, param: click.Parameter, value: object) -> object:
        if value is None:
            return None
        from groundwire.config.fields import HIDDEN, describe_wrong
        from groundwire.config.kinds import KindError
        from groundwire.config.tree import SETTINGS

        kind = SETTINGS[path].kind
        try:
            return kind.read(value)
        except KindError as error:
            shown = HIDDEN if kind.is_secret else value
            raise click.BadParameter(describe_wrong(path, shown, error), ctx, param) from error

    return read
