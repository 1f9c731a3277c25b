"""``groundwire store``: the database, from the command line."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from groundwire.cli.console import show
from groundwire.cli.options import command, commands, group, option
from groundwire.cli.settings import StoreOptions, require
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.control.store.address import DatabaseAddress
    from groundwire.control.store.looking import Look


@commands()
def store() -> None:
    """Look at the database of tenants, keys and the audit trail, or bring it up to date.

    Examples:
        groundwire store status
        groundwire store migrate --config groundwire.yaml
    """
    require(("aiosqlite", "alembic", "asyncpg", "sqlalchemy"), "groundwire store", "gateway")


@command(short_help="Say where it is, and whether it is up to date.", under=store)
def status(
    ctx: click.Context,
    /,
    *,
    place: StoreOptions = group(StoreOptions),
    as_json: bool = option("--json"),
) -> None:
    """Say where the database is, whether its tables are up to date, and how much it holds.

    It changes nothing, and makes no file.

    Args:
        as_json: Print it as JSON.

    Exit status:
        0  its tables are up to date
        1  a migration is due
        2  it cannot be used
    """
    config = place.read(ctx)
    from groundwire.control.store.looking import look
    from groundwire.control.store.store import address_of

    address = address_of(config)
    found = asyncio.run(look(address, timeout_s=config.store.timeout_s))
    show(_as_data(address, found), lambda _: "\n".join(_as_text(address, found)), as_json=as_json)
    if found.is_open_to_others:
        click.echo(f"warning: others can read it; chmod 600 {address.path}", err=True)
    if not found.is_current:
        ctx.exit(ExitStatus.FLAGGED)


@command(short_help="Bring its tables up to date.", under=store)
def migrate(
    ctx: click.Context,
    /,
    *,
    place: StoreOptions = group(StoreOptions),
    as_json: bool = option("--json"),
) -> None:
    """Bring the tables up to date, from nothing or from any earlier revision.

    A start of the gateway does the same. There is no way back: make a backup before.

    Args:
        as_json: Print it as JSON.

    Exit status:
        0  its tables are up to date
        2  they cannot be brought there
    """
    config = place.read(ctx)
    from groundwire.control.store.migrate import HEAD, make_ready
    from groundwire.control.store.store import address_of

    address = address_of(config)
    before = asyncio.run(make_ready(address, timeout_s=config.store.timeout_s))
    told = "it was so before" if before == HEAD else f"it was {before or 'empty'}"
    show(
        {"store": address.shown, "before": before, "revision": HEAD},
        lambda _: f"{address.shown} is at revision {HEAD}; {told}.",
        as_json=as_json,
    )


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
