"""What happens when a database fails: the tables of docs/store.md, cell by cell."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from groundwire.control.store import Store, StoreError, engines, sqlite, threads
from groundwire.control.store import errors as room
from groundwire.control.store.errors import StoreUnavailableError
from groundwire.control.store.migrate import HEAD
from tests.control.store import rows, scenes
from tests.control.store.scenes import Database, File, Scene, statements
from tests.postgres import Postgres

PAGE = Path(__file__).parents[3] / "docs" / "store.md"
STARTS = ("At a start", "Later")
#: What waits in these tests waits no longer.
SHORT_S = 0.8
_TRIES = 3
PASSWORD = "a%40b"

_NUMBERS = count(1)

#: By the first cell of a row.
OF_FILES: Mapping[str, Scene[File]] = {
    "Another program holds the file": scenes.held,
    "The disk is full": scenes.full_file,
    "The file is read-only": scenes.read_only,
    "Its folder cannot be entered": scenes.not_entered,
    "The file is no database": scenes.no_database,
    "It is damaged": scenes.damaged,
    "It was moved, or another put in its place": scenes.moved,
    "A table is gone": scenes.no_table,
    "A later version made it": scenes.later_version,
    "All connections of the process are in use": scenes.in_use,
}
OF_SERVERS: Mapping[str, Scene[Database]] = {
    "The server does not run": scenes.ended,
    "It does not answer": scenes.paused,
    "It takes no more connections": statements(
        "ALTER ROLE {owner} CONNECTION LIMIT 0",
        "ALTER ROLE {owner} CONNECTION LIMIT -1",
        cuts_off=True,
    ),
    "It takes no writes, as a standby": statements(
        "ALTER ROLE {owner} SET default_transaction_read_only = on",
        "ALTER ROLE {owner} RESET default_transaction_read_only",
        cuts_off=True,
    ),
    "Its disk is full": scenes.full_server,
    "The password is wrong": statements(
        "ALTER ROLE {owner} PASSWORD 'another'", "ALTER ROLE {owner} PASSWORD 'a@b'", cuts_off=True
    ),
    "There is no such database": scenes.renamed,
    "The user may not do what it has to": statements(
        "REVOKE INSERT ON tenants FROM {owner}", "GRANT INSERT ON tenants TO {owner}"
    ),
    "It cannot encrypt, and `sslmode` demands it": scenes.unencrypted,
    "A table is gone": statements(
        "ALTER TABLE changes RENAME TO away", "ALTER TABLE away RENAME TO changes"
    ),
    "Another transaction holds a table": scenes.locked,
    "Another process migrates": scenes.migrating,
    "A later version made it": statements(
        "UPDATE groundwire_version SET version_num = '9999'",
        f"UPDATE groundwire_version SET version_num = '{HEAD}'",
    ),
    "All connections of the process are in use": scenes.in_use,
}

pytestmark = [
    pytest.mark.merge,
    pytest.mark.skipif(not PAGE.is_file(), reason="this is no checkout"),
]


def tables() -> list[dict[str, list[str]]]:
    """The tables of the page about faults: first cell → the others."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    found: list[dict[str, list[str]]] = []
    for line in text.partition("## When it fails")[2].splitlines():
        first, *others = [cell.strip().strip("`") for cell in line[1:-1].split("|")]
        if line.startswith("| ") and first in ("Error", "Fault"):
            found.append({})
        elif line.startswith("| ") and first != "---":
            found[-1][first.replace("`", "")] = others
    return found


def cases(number: int, scenes: Mapping[str, Scene[Any]]) -> list[Any]:
    """Each row, in each of its columns that has something in it."""
    rows_told = tables()[number:] or [{}]  # without the page, nothing of this is run
    return [
        pytest.param(name, column, id=f"{name}-{STARTS[column]}")
        for name in scenes
        for column, cell in enumerate(rows_told[0].get(name.replace("`", ""), ["?", "?"]))
        if cell
    ]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", SHORT_S)
    monkeypatch.setattr(engines, "STATEMENT_S", 3 * SHORT_S)


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> Iterator[File]:
    # Not pytest's folder, which no other user may enter.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "groundwire.db"
        own = File(path, Store(f"sqlite:///{path}", pool_size=1, timeout_s=SHORT_S))
        monkeypatch.setattr(threads, "connect", own.connect)
        yield own


@pytest.fixture
def database(mortal_postgres: Postgres) -> Iterator[Database]:
    server = mortal_postgres
    name = server.make_database()
    owner = f"owner_of_{name}"
    server.run(f"CREATE ROLE {owner} LOGIN PASSWORD 'a@b'")
    server.run(f"ALTER DATABASE {name} OWNER TO {owner}")
    url = server.url(name, owner, PASSWORD)
    yield Database(server, name, owner, Store(url, pool_size=1, timeout_s=SHORT_S))
    server.drop_database(name)
    server.run(f"DROP ROLE {owner}")


async def use(store: Store) -> None:
    """Write, and read, whatever there is."""
    await store.open()
    async with store.writing() as connection:
        await rows.add(connection, f"tenant {next(_NUMBERS)}", n_chars=100_000)
    await rows.names(store)


async def outcome(own: File | Database, scene: Scene[Any], column: int) -> str:
    """What somebody gets who uses a store, in the words of the page."""
    async with own.store as store:
        await use(store)
        if not column:
            await store.close()
        async with scene(own):
            try:
                await use(own.store)
            except StoreError as error:
                found = type(error).__name__
            else:
                found = "works"
        if found != "works":
            await use_again(store)
        return found


async def use_again(store: Store) -> None:
    """Use a store once its fault is over: it works by itself.

    Times are short here, so on a busy machine the first try may still be too late.
    """
    for _ in range(_TRIES - 1):
        with suppress(StoreUnavailableError):
            return await use(store)
    return await use(store)


@pytest.mark.asyncio
@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize(("name", "column"), cases(1, OF_FILES))
async def test_a_fault_of_a_file_ends_as_the_page_says(file: File, name: str, column: int) -> None:
    assert await outcome(file, OF_FILES[name], column) == tables()[1][name][column]


@pytest.mark.nightly
@pytest.mark.asyncio
@pytest.mark.postgres
@pytest.mark.parametrize(("name", "column"), cases(2, OF_SERVERS))
async def test_a_fault_of_a_server_ends_as_the_page_says(
    database: Database, name: str, column: int
) -> None:
    expected = tables()[2][name.replace("`", "")][column]
    assert await outcome(database, OF_SERVERS[name], column) == expected


def test_the_page_has_all_faults() -> None:
    of_files, of_servers = (
        {name.replace("`", "") for name in each} for each in (OF_FILES, OF_SERVERS)
    )
    assert [set(table) for table in tables()[1:]] == [of_files, of_servers]


def test_the_page_says_what_passes() -> None:
    said = {name: cells[0] for name, cells in tables()[0].items()}
    assert said == {
        each.__name__: "yes" if each.is_passing else "no"
        for each in (
            room.StoreUnavailableError,
            room.StoreBusyError,
            room.StoreFullError,
            room.StoreUnusableError,
            room.StoreVersionError,
        )
    }
