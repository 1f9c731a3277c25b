"""``groundwire store``."""

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.control.store import Store
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.migrate import HEAD, VERSION_TABLE, make_ready
from tests.cli.conftest import invoke
from tests.control.store import rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a file of SQLite may be."""
    return tmp_path / "groundwire.db"


def fill(url: str, n_tenants: int) -> None:
    async def make() -> None:
        async with Store(url) as store:
            for number in range(n_tenants):
                await rows.make(store, str(number))

    asyncio.run(make())


def test_the_status_says_where_it_is_and_what_it_holds(store_url: str) -> None:
    fill(store_url, 2)
    result = invoke("store", "status", "--store", store_url)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"store     {DatabaseAddress.read(store_url).shown}",
        f"revision  {HEAD}, up to date",
        "tenants   2",
        "keys      0",
        "records   0",
    ]
    assert result.stderr == ""


def test_an_empty_database_has_a_migration_due(store_url: str) -> None:
    result = invoke("store", "status", "--store", store_url, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "store": DatabaseAddress.read(store_url).shown,
        "revision": None,
        "newest": HEAD,
        "is_current": False,
        "counts": {},
        "is_open_to_others": False,
    }


def test_a_migration_tells_machines_what_was_before(path: Path) -> None:
    told = [
        json.loads(invoke("store", "migrate", "--store", f"sqlite:///{path}", "--json").stdout)
        for _ in range(2)
    ]
    shown = f"sqlite:///{path}"
    assert told == [
        {"store": shown, "before": None, "revision": HEAD},
        {"store": shown, "before": HEAD, "revision": HEAD},
    ]


def test_a_status_makes_no_file_and_changes_none(path: Path) -> None:
    assert invoke("store", "status", "--store", f"sqlite:///{path}").exit_code == 1
    assert not path.exists()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (id)")
    before = path.read_bytes()
    assert invoke("store", "status", "--store", f"sqlite:///{path}").exit_code == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_the_database_is_that_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "groundwire.yaml"
    config.write_text(f"gateway: {{data_dir: {tmp_path / 'data'}}}", encoding="utf-8")
    assert invoke("store", "migrate", "--config", config).exit_code == 0
    assert (tmp_path / "data" / "groundwire.db").is_file()
    elsewhere = {"GROUNDWIRE_STORE_URL": f"sqlite:///{tmp_path / 'other.db'}"}
    result = invoke("store", "status", "--config", config, environ=elsewhere)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"store     sqlite:///{tmp_path / 'other.db'}\n")


def test_what_cannot_be_used_is_told_without_its_password() -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/own"
    for command in ("status", "migrate"):
        result = invoke("store", command, "--store", url)
        assert result.exit_code == 2
        assert "it cannot be reached (ConnectionRefusedError)" in result.stderr
        assert "hunter2" not in result.output


@pytest.mark.parametrize("command", ["status", "migrate"])
def test_a_url_that_is_none_is_told_without_being_shown(command: str) -> None:
    result = invoke("store", command, "--store", "mysql://me:hunter2@db.example/own")
    assert result.exit_code == 2
    assert "store.url = *** is not possible. It must be postgresql://" in result.stderr
    assert "hunter2" not in result.output


@pytest.mark.parametrize("command", ["status", "migrate"])
def test_a_later_version_cannot_be_used(path: Path, command: str) -> None:
    asyncio.run(make_ready(DatabaseAddress.of_file(path), timeout_s=5))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9000'")
    result = invoke("store", command, "--store", f"sqlite:///{path}")
    assert result.exit_code == 2
    assert "of revision 9000, which a later version of Groundwire made" in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_file_that_others_can_read_is_warned_about(path: Path) -> None:
    fill(f"sqlite:///{path}", 0)
    path.chmod(0o644)
    result = invoke("store", "status", "--store", f"sqlite:///{path}")
    assert result.exit_code == 0
    assert result.stderr == f"warning: others can read it; chmod 600 {path}\n"
