"""``groundwire config``: checks a configuration, and shows the values in effect."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.console import say
from groundwire.cli.console import show as show_result
from groundwire.cli.inputs import TEXT_FILE, name_of, read_text
from groundwire.cli.options import argument, command, commands, option
from groundwire.cli.status import ExitStatus
from groundwire.errors import ConfigError
from groundwire.text.screen import visible

if TYPE_CHECKING:
    from groundwire.config import Config


@commands()
def config() -> None:
    """Check a configuration, or show what is in effect.

    Files may use the names of settings that Groundwire, DVARA, HaluGate, Director-AI or Berry use.
    Environment variables override the file.

    Examples:
        groundwire config check groundwire.yaml
        groundwire config show halugate.yaml > groundwire.yaml
    """


@command(short_help="Say what is wrong with a file, if anything is.", under=config)
def check(ctx: click.Context, /, *, file: Path = argument(type=TEXT_FILE)) -> None:
    """Say that FILE can be used, or say everything that is wrong with it.

    Each problem comes with its line, and with the values that are possible there.

    Exit status:
        0  FILE can be used
        2  FILE cannot be used
    """
    read = read_config(ctx, file)
    formats = ", ".join(read.formats) or "nobody: it is empty"
    click.echo(f"{visible(name_of(file))} can be used. It has the names of {formats}.")
    warn_of_findings(read)


@command(short_help="Show the values in effect and their origins.", under=config)
def show(
    ctx: click.Context,
    /,
    *,
    file: Path | None = argument(type=TEXT_FILE, required=False),
    as_json: bool = option("--json"),
) -> None:
    """Show the values in effect and where each comes from, under Groundwire's names.

    Without FILE, these are the defaults and the values of environment variables. Without --json,
    the output is a configuration file itself. In both forms, *** stands for secrets.

    Args:
        as_json: Print the values as JSON.
    """
    read = read_config(ctx, file)
    from groundwire.config.show import to_data, to_yaml

    show_result(to_data(read), lambda: to_yaml(read).rstrip("\n"), as_json=as_json)


def read_config(
    ctx: click.Context, file: Path | None, *, environ: Mapping[str, str] = os.environ
) -> "Config":
    """Read the configuration from a file, if there is one, and from environment variables.

    Warnings and errors are printed on standard error; errors end the command.
    """
    # Importing YAML takes a tenth of a second, and --help does not need it.
    from groundwire.config import parse

    try:
        text = "" if file is None else read_text(file)
        read = parse(text, name="" if file is None else name_of(file), environ=environ)
    except ConfigError as error:
        for problem in error.problems:
            say(f"error: {problem}")
        ctx.exit(ExitStatus.FAILED)
    for warning in read.warnings:
        say(f"warning: {warning}")
    return read


def environ_with(given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the environment variables, with the verifier of the options if they name a verifier.

    While the configuration is read, variables such as ``OPENAI_BASE_URL`` are ignored if the
    verifier is local. So the verifier of the options must already be known then.
    """
    chosen = given.get("verify.verifier")
    return os.environ | ({"GROUNDWIRE_VERIFY_VERIFIER": chosen} if chosen else {})


def warn_of_findings(config: "Config") -> None:
    """Print warnings about a configuration on standard error, such as settings without effect."""
    from groundwire.config.findings import findings

    for finding in findings(config):
        say(f"warning: {finding}")
