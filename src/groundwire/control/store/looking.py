"""Describes a database for people, without changing anything or making a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, inspect, select, text

from groundwire.control.store import sqlite, tables
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.migrate import HEAD, connected, require_known, revision_of

#: Names of the counts, and the tables whose rows are counted.
COUNTED = {"tenants": tables.tenants, "keys": tables.keys, "records": tables.audit_records}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The state of a database.

    Attributes:
        revision: Revision of its tables; ``None`` if it has none of ours.
        counts: Number of tenants, keys and records. A table that does not exist is left out.
        is_open_to_others: Whether other users than the file's owner can read it.
    """

    revision: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    is_open_to_others: bool = False

    @property
    def is_current(self) -> bool:
        """Whether no migration is due."""
        return self.revision == HEAD


async def look(address: DatabaseAddress, *, timeout_s: float) -> Look:
    """Describe a database.

    Raises:
        StoreError: If it cannot be used, or was made by a later version.
    """
    if address.path is not None and not address.path.exists():
        return Look()
    async with connected(address, timeout_s=timeout_s) as connection:
        if address.path is not None:
            await connection.execute(text("PRAGMA query_only=ON"))
            await connection.execute(text("BEGIN"))
        revision, counts = await connection.run_sync(_read)
        await connection.rollback()
    require_known(revision)
    is_open = address.path is not None and sqlite.is_open_to_others(address.path)
    return Look(revision=revision, counts=counts, is_open_to_others=is_open)


def _read(connection: Connection) -> tuple[str | None, Mapping[str, int]]:
    revision, there = revision_of(connection), set(inspect(connection).get_table_names())
    return revision, {
        what: connection.scalar(select(func.count()).select_from(table)) or 0
        for what, table in COUNTED.items()
        if revision is not None and table.name in there
    }
