"""``groundwire store``: the database, from the command line."""

import asyncio
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.config import read_config
from groundwire.cli.inputs import TEXT_FILE
from groundwire.cli.status import ExitStatus
from groundwire.errors import MissingExtraError
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.control.store.address import DatabaseAddress
    from groundwire.control.store.looking import Look

_EPILOG = """\b
Examples:
  groundwire store status
  groundwire store migrate --config groundwire.yaml
"""

_STATUS = """\b
Exit status:
  0  its tables are up to date
  1  a migration is due
  2  it cannot be used
"""

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--config", "file", type=TEXT_FILE, help="The gateway's configuration file."),
    click.option(
        "--store",
        "url",
        metavar="URL",
        help="The database, in place of the configured one. A password is better in "
        "GROUNDWIRE_STORE_URL: others see what a command is given.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print it as JSON."),
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that all commands of the group have."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(epilog=_EPILOG)
def store() -> None:
    """Look at the database of tenants, keys and the audit trail, or bring it up to date."""
    if any(find_spec(name) is None for name in ("aiosqlite", "alembic", "asyncpg", "sqlalchemy")):
        raise MissingExtraError("groundwire store", "gateway")


@store.command(epilog=_STATUS, short_help="Say where it is, and whether it is up to date.")
@_options
@click.pass_context
def status(ctx: click.Context, /, *, file: Path | None, url: str | None, as_json: bool) -> None:
    """Say where the database is, whether its tables are up to date, and how much it holds.

    It changes nothing, and makes no file.
    """
    config = read_config(ctx, file)
    from groundwire.control.store.looking import look

    address = _address(config, url)
    found = asyncio.run(look(address, timeout_s=config.store.timeout_s))
    if as_json:
        click.echo(to_json(_as_data(address, found), indent=2))
    else:
        for line in _as_text(address, found):
            click.echo(line)
    if found.is_open_to_others:
        click.echo(f"warning: others can read it; chmod 600 {address.path}", err=True)
    if not found.is_current:
        ctx.exit(ExitStatus.FLAGGED)


@store.command(
    epilog="\b\nExit status:\n  0  its tables are up to date\n  2  they cannot be brought there",
    short_help="Bring its tables up to date.",
)
@_options
@click.pass_context
def migrate(ctx: click.Context, /, *, file: Path | None, url: str | None, as_json: bool) -> None:
    """Bring the tables up to date, from nothing or from any earlier revision.

    A start of the gateway does the same. There is no way back: make a backup before.
    """
    config = read_config(ctx, file)
    from groundwire.control.store.migrate import HEAD, make_ready

    address = _address(config, url)
    before = asyncio.run(make_ready(address, timeout_s=config.store.timeout_s))
    if as_json:
        data = {"store": address.shown, "before": before, "revision": HEAD}
        click.echo(to_json(data, indent=2))
    else:
        told = "it was so before" if before == HEAD else f"it was {before or 'empty'}"
        click.echo(f"{address.shown} is at revision {HEAD}; {told}.")


def _address(config: "Config", url: str | None) -> "DatabaseAddress":
    from groundwire.control.store.address import DatabaseAddress
    from groundwire.control.store.store import address_of

    return address_of(config) if url is None else DatabaseAddress.read(url)


def _as_text(address: "DatabaseAddress", found: "Look") -> Iterator[str]:
    from groundwire.control.store.migrate import HEAD

    yield f"store     {address.shown}"
    if found.is_current:
        yield f"revision  {HEAD}, up to date"
    elif found.revision is None:
        yield "revision  none: it is empty; a start, or groundwire store migrate, makes its tables"
    else:
        yield f"revision  {found.revision}, and {HEAD} is due: groundwire store migrate"
    for what, number in found.counts.items():
        yield f"{what:<9} {number:,}"


def _as_data(address: "DatabaseAddress", found: "Look") -> dict[str, object]:
    from groundwire.control.store.migrate import HEAD

    return {
        "store": address.shown,
        "revision": found.revision,
        "newest": HEAD,
        "is_current": found.is_current,
        "counts": dict(found.counts),
        "is_open_to_others": found.is_open_to_others,
    }
