"""A backup while the store is in use, as docs/store.md says, and what comes of it."""

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.control.store import Store
from tests.control.store import rows
from tests.postgres import PATIENCE_S, Postgres, programs


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, timeout=PATIENCE_S)


@pytest.mark.asyncio
@pytest.mark.parametrize("is_vacuum", [True, False], ids=["VACUUM INTO", ".backup"])
async def test_a_copy_of_a_file_in_use_is_whole_and_can_take_its_place(
    tmp_path: Path, *, is_vacuum: bool
) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"

    def back_up() -> None:
        with closing(sqlite3.connect(path)) as source:
            if is_vacuum:
                source.execute("VACUUM INTO ?", (str(copy),))
                return
            with closing(sqlite3.connect(copy)) as target:
                source.backup(target)

    async with Store(f"sqlite:///{path}") as store:
        for number in range(20):
            await rows.make(store, f"{number:02}")
        # What is in the log alone is in the copy as well.
        await asyncio.gather(asyncio.to_thread(back_up), rows.make(store, "meanwhile"))
        await rows.make(store, "after")
    copy.replace(path)
    async with Store(f"sqlite:///{path}") as store:
        found = await rows.names(store)
        assert found[:20] == [f"{number:02}" for number in range(20)]
        assert set(found[20:]) <= {"meanwhile"}
        await rows.make(store, "once more")


@pytest.mark.postgres
@pytest.mark.asyncio
async def test_a_dump_of_a_server_can_be_restored(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    folder, dump = programs(), tmp_path / "a.dump"
    if folder is None or not (folder / "pg_dump").is_file():
        pytest.skip("pg_dump is not installed beside the server")
    async with Store(postgres_url) as store:
        await rows.make(store, "kept")
        run(folder / "pg_dump", "--format=custom", f"--file={dump}", postgres_url)
        await rows.make(store, "lost")
    run(folder / "pg_restore", "--clean", "--if-exists", f"--dbname={postgres_url}", dump)
    async with Store(postgres_url) as store:
        assert await rows.names(store) == ["kept"]
