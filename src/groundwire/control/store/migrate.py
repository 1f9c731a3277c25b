"""Brings the tables of the database up to date, in one transaction, in one process at a time.

There is no downgrade: a later version may have dropped data that an earlier one needs. To go back,
restore a backup from before the upgrade.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Connection, insert, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.control.store import sqlite, tables
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.engines import Engine
from groundwire.control.store.errors import StoreUnusableError, StoreVersionError
from groundwire.control.store.faults import as_store_errors

#: The revision of the tables with which this version of Groundwire works.
HEAD = "0007"

#: The table with the revision. Alembic's default name could clash with another program's.
VERSION_TABLE = "groundwire_version"

#: The package in which Alembic finds the migrations.
SCRIPTS = "groundwire.control.store:migrations"

#: The number of the PostgreSQL lock that every migration takes, so that only one runs at a time.
_LOCK = 4_713_920_518


async def make_ready(address: DatabaseAddress, *, timeout_s: float) -> str | None:
    """Make the file of SQLite if it does not exist, and bring the tables up to date.

    Returns:
        The revision of the tables before the upgrade; ``None`` if Groundwire had no tables yet.

    Raises:
        StoreError: If the database cannot be used or brought up to date.
    """
    with as_store_errors():
        if address.path is not None:
            await asyncio.to_thread(sqlite.prepare, address.path)
        return await migrate(address, timeout_s=timeout_s)


async def require_current(address: DatabaseAddress, *, timeout_s: float) -> None:
    """Check that the tables are those of this version. No table is made or changed.

    Raises:
        StoreError: If there are no tables of Groundwire, if their revision is not :data:`HEAD`, or
            if the database cannot be used.
    """
    if address.path is not None and not address.path.exists():
        raise StoreUnusableError(
            f"there is no file {address.path}",
            "Name an existing one in store.url; groundwire serve makes one",
        )
    async with connected(address, timeout_s=timeout_s) as connection:
        found = await connection.run_sync(revision_of)
    if found is None:
        raise StoreUnusableError(
            "it has no tables of ours", "Start a gateway, or run groundwire store migrate"
        )
    if found != HEAD:
        raise StoreUnusableError(
            f"its tables are of revision {found}, and this version of Groundwire works with {HEAD}",
            "Use the version that made them, or groundwire store migrate",
        )


async def migrate(
    address: DatabaseAddress,
    *,
    timeout_s: float = 5.0,
    revision: str = HEAD,
    scripts: str = SCRIPTS,
) -> str | None:
    """Bring the tables of a database to a revision; make the tables if there are none.

    A file of SQLite must exist before the call. ``scripts`` is the package with the migrations.

    Returns:
        The revision of the tables before the upgrade; ``None`` if Groundwire had no tables yet.

    Raises:
        StoreError: If the database cannot be used, or a later version made its tables.
    """
    async with connected(address, timeout_s=timeout_s) as connection:
        found = await connection.run_sync(revision_of)
        if found != revision:
            await connection.rollback()
            # This statement begins a transaction that excludes other migrations.
            locking = f"SELECT pg_advisory_xact_lock({_LOCK})"
            is_sqlite = address.path is not None
            await connection.execute(text("BEGIN IMMEDIATE" if is_sqlite else locking))
            found = await connection.run_sync(_upgrade, revision, scripts)
            await connection.commit()
        return found


@asynccontextmanager
async def connected(
    address: DatabaseAddress, *, timeout_s: float
) -> AsyncIterator[AsyncConnection]:
    """Yield one connection to a database, to look at its tables or change them.

    Raises:
        StoreError: In place of any error of the database.
    """
    engine = Engine.migrating(address, timeout_s=timeout_s)
    try:
        with as_store_errors():
            async with engine.connection() as connection:
                yield connection
    finally:
        await engine.close()


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database; ``None`` if it has no tables of Groundwire."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))
    return None if found is None else str(found)


def _upgrade(connection: Connection, revision: str, scripts: str) -> str | None:
    # Importing Alembic takes a while, and most starts have nothing to migrate.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    found, settings = revision_of(connection), Config()
    settings.set_main_option("script_location", scripts)
    settings.attributes["connection"] = connection
    settings.attributes["version_table"] = VERSION_TABLE
    known = {each.revision for each in ScriptDirectory.from_config(settings).walk_revisions()}
    if found is not None and found not in known:
        raise StoreVersionError(
            f"its tables are of revision {found}, which a later version of Groundwire made; this "
            f"one knows {revision}",
            "Use that version, or another database",
        )
    if found is None:
        # A new database gets the current tables at once; migrations are for existing tables.
        tables.metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(tables.changes).values(id=1, revision=0))
        command.stamp(settings, HEAD)
    command.upgrade(settings, revision)
    if connection.dialect.name == "sqlite":
        _require_references(connection)
    return found


def _require_references(connection: Connection) -> None:
    """Check all foreign keys, which were not enforced during the migration."""
    if broken := connection.execute(text("PRAGMA foreign_key_check")).all():
        raise StoreUnusableError(
            f"{len(broken)} of its rows refer to others that are not there", "Restore a backup"
        )
