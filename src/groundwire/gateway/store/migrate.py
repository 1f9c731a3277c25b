"""Bringing the tables up to date, in one transaction and by one process at a time."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from groundwire.gateway.store.errors import StoreVersionError

if TYPE_CHECKING:
    from groundwire.gateway.store.store import Store

#: The revision that this version of Groundwire works with.
HEAD = "0002"

_MIGRATIONS = "groundwire.gateway.store:migrations"

#: Any number, the same for all that migrate.
_LOCK = 4_713_920_518


async def migrate(store: "Store", revision: str = HEAD) -> None:
    """Bring a database to a revision, from nothing or from any earlier one.

    Raises:
        StoreVersionError: If it was made by a later version.
    """
    async with store.reading() as connection:
        if await connection.run_sync(revision_of) == revision:
            return
    async with store.writing() as connection:
        if not store.is_sqlite:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        await connection.run_sync(_upgrade, revision)


def revision_of(connection: Connection) -> str | None:
    """The revision that a database is at; ``None`` if it has no tables of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def _upgrade(connection: Connection, revision: str) -> None:
    # Alembic takes a while to import, and most starts find everything in place.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    settings = Config()
    settings.set_main_option("script_location", _MIGRATIONS)
    settings.attributes["connection"] = connection
    known = {each.revision for each in ScriptDirectory.from_config(settings).walk_revisions()}
    found = revision_of(connection)
    if found is not None and found not in known:
        raise StoreVersionError(
            f"its tables are of revision {found}, which a later version of Groundwire made; this "
            f"one knows {revision}. Use that version, or another database"
        )
    command.upgrade(settings, revision)
