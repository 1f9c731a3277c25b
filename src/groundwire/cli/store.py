"""``groundwire store``: brings the tables of the database up to date."""

import asyncio

import click

from groundwire.cli.options import command, commands
from groundwire.cli.settings import StoreOptions


@commands()
def store() -> None:
    """Bring the database of tenants, keys and the audit trail up to date.

    Examples:
        groundwire store migrate --config groundwire.yaml
    """


@command(short_help="Bring its tables up to date.", under=store)
def migrate(ctx: click.Context, /, *, place: StoreOptions) -> None:
    """Bring the tables up to date, from nothing or from any earlier revision.

    The gateway does this too when it starts. The change cannot be undone: make a backup first.

    Exit status:
        0  the tables are up to date
        2  the tables could not be brought up to date
    """
    config = place.read(ctx)
    from groundwire.control.store.migrate import HEAD, make_ready
    from groundwire.control.store.store import address_of

    address = address_of(config)
    before = asyncio.run(make_ready(address, timeout_s=config.store.timeout_s))
    state = "it was so before" if before == HEAD else f"it was {before or 'empty'}"
    click.echo(f"{address.shown} is at revision {HEAD}; {state}.")
