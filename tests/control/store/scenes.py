"""Faults of databases, real ones: each is there while its block runs, and gone afterwards."""

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aiosqlite
import asyncpg
from sqlalchemy import text

from groundwire.control.store import Store, threads
from groundwire.control.store.migrate import _LOCK, VERSION_TABLE
from tests.postgres import Postgres

#: Who files belong to in tests that run as root, whom no mode stops.
_NOBODY = 65534
_NO_LIMIT = 1_000_000_000

_connect = threads.connect

_Own = TypeVar("_Own")
Scene = Callable[[_Own], AbstractAsyncContextManager[None]]


@dataclass
class File:
    """A file of SQLite, and a store with one connection to it."""

    path: Path
    store: Store
    is_full: bool = False

    async def connect(self, path: Path, pragmas: Iterable[str]) -> aiosqlite.Connection:
        """How the store connects: a disk that is full takes no page more than there are."""
        return await _connect(path, [*pragmas, *(["max_page_count=1"] if self.is_full else [])])

    @contextmanager
    def other(self) -> Iterator[sqlite3.Connection]:
        """Another program that has it open."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()


@asynccontextmanager
async def held(own: File) -> AsyncIterator[None]:
    with own.other() as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@asynccontextmanager
async def full_file(own: File) -> AsyncIterator[None]:
    async def limit(pages: int) -> None:
        if own.store.is_open:
            async with own.store.reading() as connection:
                await connection.execute(text(f"PRAGMA max_page_count={pages}"))

    own.is_full = True
    await limit(1)
    yield
    own.is_full = False
    await limit(_NO_LIMIT)


@asynccontextmanager
async def read_only(own: File) -> AsyncIterator[None]:
    with as_nobody(own.path), _mode(own.path, 0o400):
        yield


@asynccontextmanager
async def not_entered(own: File) -> AsyncIterator[None]:
    with as_nobody(own.path), _mode(own.path.parent, 0o000):
        yield


@asynccontextmanager
async def no_database(own: File) -> AsyncIterator[None]:
    with _content(own.path, b"not a database\n" * 1000):
        yield


@asynccontextmanager
async def damaged(own: File) -> AsyncIterator[None]:
    kept = own.path.read_bytes()
    with _content(own.path, kept[:1024] + b"\xa5" * (len(kept) - 1024)):
        yield


@asynccontextmanager
async def moved(own: File) -> AsyncIterator[None]:
    aside = own.path.with_name("aside.db")
    own.path.rename(aside)
    yield
    aside.rename(own.path)


@asynccontextmanager
async def no_table(own: File) -> AsyncIterator[None]:
    with own.other() as other:
        other.execute("ALTER TABLE changes RENAME TO away")
        yield
        other.execute("ALTER TABLE away RENAME TO changes")


@asynccontextmanager
async def later_version(own: File) -> AsyncIterator[None]:
    with own.other() as other:
        (kept,) = other.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        yield
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = ?", (kept,))


@dataclass
class Database:
    """A database of PostgreSQL, its owner, and a store with one connection to it."""

    server: Postgres
    name: str
    owner: str
    store: Store

    def run(self, statement: str) -> None:
        """Run a statement in it, as one who may do everything."""
        self.server.run(statement, self.name)

    def cut_off(self) -> None:
        """End the connections to it."""
        self.server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{self.name}' AND pid <> pg_backend_pid()"
        )

    @asynccontextmanager
    async def other(self) -> AsyncIterator[asyncpg.Connection]:
        """Another program that is connected to it, in the middle of a transaction."""
        connection = await asyncpg.connect(self.server.url(self.name))
        try:
            await connection.execute("BEGIN")
            yield connection
        finally:
            await connection.close()


@asynccontextmanager
async def ended(own: Database) -> AsyncIterator[None]:
    own.server.stop()
    yield
    own.server.start()


@asynccontextmanager
async def paused(own: Database) -> AsyncIterator[None]:
    own.server.pause()
    yield
    own.server.go_on()


@asynccontextmanager
async def locked(own: Database) -> AsyncIterator[None]:
    async with own.other() as other:
        await other.execute("LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE")
        yield


@asynccontextmanager
async def migrating(own: Database) -> AsyncIterator[None]:
    # What a process that migrates holds; the tables are not there yet.
    own.run("DROP SCHEMA public CASCADE")
    own.run(f"CREATE SCHEMA public AUTHORIZATION {own.owner}")
    async with own.other() as other:
        await other.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        yield


def statements(before: str, after: str, *, cuts_off: bool = False) -> Scene[Database]:
    """A fault that one statement makes and another ends. ``{name}`` and ``{owner}`` stand there."""

    @asynccontextmanager
    async def scene(own: Database) -> AsyncIterator[None]:
        words: Mapping[str, str] = {"name": own.name, "owner": own.owner}
        own.run(before.format(**words))
        if cuts_off:
            own.cut_off()
        yield
        own.run(after.format(**words))
        if cuts_off:
            own.cut_off()

    return scene


@asynccontextmanager
async def full_server(own: Database) -> AsyncIterator[None]:
    # The server says so itself, wherever a row is written.
    own.run(
        "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not extend file'; END $$"
    )
    own.run("CREATE TRIGGER no_room BEFORE INSERT ON tenants EXECUTE FUNCTION no_room()")
    yield
    own.run("DROP FUNCTION no_room CASCADE")


@asynccontextmanager
async def unencrypted(own: Database) -> AsyncIterator[None]:
    before, own.store = own.store, Store(f"{own.server.url(own.name)}?sslmode=require")
    yield
    await own.store.close()
    own.store = before


@asynccontextmanager
async def renamed(own: Database) -> AsyncIterator[None]:
    def rename(old: str, new: str) -> None:
        own.cut_off()
        own.server.run(f"ALTER DATABASE {old} RENAME TO {new}")

    rename(own.name, f"{own.name}_away")
    yield
    rename(f"{own.name}_away", own.name)


@asynccontextmanager
async def in_use(own: File | Database) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(own.store.reading())
        yield


@contextmanager
def as_nobody(path: Path) -> Iterator[None]:
    """Be a user whom modes stop, and own a file and its folder."""
    if os.geteuid() != 0:
        yield
        return
    both = (path, path.parent)
    for each in both:
        os.chown(each, _NOBODY, _NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for each in both:
            os.chown(each, 0, 0)


@contextmanager
def _mode(path: Path, mode: int) -> Iterator[None]:
    before = path.stat().st_mode & 0o7777
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@contextmanager
def _content(path: Path, content: bytes) -> Iterator[None]:
    kept = path.read_bytes()
    path.write_bytes(content)
    yield
    path.write_bytes(kept)
