"""Files of SQLite: who may read them, what stays beside them, and their locks."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from groundwire.control.store import Store, sqlite, threads
from groundwire.control.store.errors import StoreFullError, StoreUnusableError
from tests.control.store import rows

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.usefixtures("umask")
@pytest.mark.asyncio
async def test_nobody_else_can_read_a_new_file_its_log_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "own" / "groundwire.db"
    async with Store(f"sqlite:///{path}") as store:
        await rows.make(store, "a")
        assert {each.name: mode(each) for each in path.parent.iterdir()} == {
            "groundwire.db": 0o600,
            "groundwire.db-shm": 0o600,
            "groundwire.db-wal": 0o600,
        }
    assert mode(path.parent) == 0o700
    assert list(path.parent.iterdir()) == [path]


@posix
@pytest.mark.asyncio
async def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "groundwire.db"
    path.touch()
    path.chmod(0o640)
    async with Store(f"sqlite:///{path}"):
        assert mode(path) == 0o640


@posix
def test_a_file_system_without_links_has_files_for_their_owner_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", fail)
    sqlite.prepare(tmp_path / "a.db")
    assert {each.name: mode(each) for each in tmp_path.iterdir()} == {"a.db": 0o600}


def test_of_many_that_make_a_file_at_once_one_does(tmp_path: Path) -> None:
    path = tmp_path / "own" / "a.db"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(sqlite.prepare, [path] * 32))
    # SQLite may leave its own two where the last connections end at once.
    found = {each.name for each in path.parent.iterdir()} - {"a.db-wal", "a.db-shm"}
    assert found == {"a.db"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@posix
def test_to_prepare_a_file_takes_no_lock_from_those_who_have_it_open(tmp_path: Path) -> None:
    # A process that closes a file loses all its locks on it, whichever descriptor they came by.
    path = tmp_path / "a.db"
    sqlite.prepare(path)
    code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        sqlite.prepare(path)
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"database is locked" in other.stderr


def test_a_file_system_without_shared_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite.uri
    # SQLite's locks for file systems that can do little, as over a network.
    monkeypatch.setattr(sqlite, "uri", lambda path: f"{real(path)}&vfs=unix-dotfile")
    with pytest.raises(StoreUnusableError, match=r"no shared memory \(journal mode delete\)"):
        sqlite.prepare(tmp_path / "a.db")


@pytest.mark.asyncio
async def test_the_log_is_cut_back_once_nobody_reads_an_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOG_BYTES", 1_000_000)
    path = tmp_path / "a.db"
    log = path.with_name("a.db-wal")
    async with Store(f"sqlite:///{path}", pool_size=2) as store:
        async with store.reading() as old:
            await rows.count(old)
            for number in range(10):
                await rows.make(store, f"large {number}", n_chars=1_000_000)
            assert log.stat().st_size > 10_000_000
        # The next one copies the log into the file, the one after it begins the log anew.
        await rows.make(store, "small")
        await rows.make(store, "also small")
        assert log.stat().st_size <= 1_000_000


@pytest.mark.asyncio
async def test_a_file_that_vanishes_is_not_made_anew_behind_our_back(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with Store(f"sqlite:///{path}") as store:
        path.rename(tmp_path / "b.db")
        for _ in range(2):
            with pytest.raises(StoreUnusableError, match="moved, removed or replaced"):
                await rows.make(store, "a")
        assert not path.exists()
        sqlite.prepare(path)
        with pytest.raises(StoreUnusableError, match="moved, removed or replaced"):
            await rows.names(store)


@pytest.mark.asyncio
async def test_a_path_may_have_any_characters_and_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Store("sqlite:///a%20b/%3Fq%25%23%C3%BC.db") as store:
        await rows.make(store, "a")
    assert (tmp_path / "a b" / "?q%#ü.db").is_file()


@pytest.mark.asyncio
async def test_writers_of_one_store_have_their_turns_without_asking_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With no patience at all, whoever met another writer in SQLite would fail.
    real = threads.connect
    monkeypatch.setattr(
        threads, "connect", lambda path, pragmas: real(path, [*pragmas, "busy_timeout=0"])
    )
    async with Store(f"sqlite:///{tmp_path}/a.db") as store:
        await asyncio.gather(*(rows.make(store, str(number)) for number in range(50)))
        assert len(await rows.names(store)) == 50


# A disk that has no room left.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB, in memory."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(tmp_path)]
    if (
        sys.platform != "linux"
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("nothing can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


@pytest.mark.asyncio
async def test_a_start_on_a_disk_without_room_says_so_and_goes_on_with_some(
    small_disk: Path,
) -> None:
    url, filler = f"sqlite:///{small_disk / 'groundwire.db'}", small_disk / "filler"
    async with Store(url) as store:
        await rows.make(store, "a")
    with filler.open("wb", buffering=0) as file, suppress(OSError):  # no space is left
        while True:
            file.write(b"x" * 4096)
    store = Store(url)
    with pytest.raises(StoreFullError, match="Make room where it is"):
        await store.open()
    filler.unlink()
    await store.open()
    await store.close()
