"""``groundwire store``."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.migrate import HEAD, VERSION_TABLE, make_ready
from tests.cli.conftest import invoke


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a file of SQLite may be."""
    return tmp_path / "groundwire.db"


def test_a_migration_tells_what_was_before(path: Path) -> None:
    shown = f"sqlite:///{path}"
    for before in ("it was empty", "it was so before"):
        told = invoke("store", "migrate", "--store", shown).stdout
        assert told == f"{shown} is at revision {HEAD}; {before}.\n"


def test_the_database_is_that_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "groundwire.yaml"
    config.write_text(f"gateway: {{data_dir: {tmp_path / 'data'}}}", encoding="utf-8")
    assert invoke("store", "migrate", "--config", config).exit_code == 0
    assert (tmp_path / "data" / "groundwire.db").is_file()
    elsewhere = {"GROUNDWIRE_STORE_URL": f"sqlite:///{tmp_path / 'other.db'}"}
    assert invoke("store", "migrate", "--config", config, environ=elsewhere).exit_code == 0
    assert (tmp_path / "other.db").is_file()


def test_what_cannot_be_used_is_told_without_its_password() -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/own"
    result = invoke("store", "migrate", "--store", url)
    assert result.exit_code == 2
    assert "it cannot be reached (ConnectionRefusedError)" in result.stderr
    assert "hunter2" not in result.output


def test_a_url_that_is_none_is_told_without_being_shown() -> None:
    result = invoke("store", "migrate", "--store", "mysql://me:hunter2@db.example/own")
    assert result.exit_code == 2
    assert "store.url = *** is not possible. It must be postgresql://" in result.stderr
    assert "hunter2" not in result.output


def test_a_later_version_cannot_be_used(path: Path) -> None:
    asyncio.run(make_ready(DatabaseAddress.of_file(path), timeout_s=5))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9000'")
    result = invoke("store", "migrate", "--store", f"sqlite:///{path}")
    assert result.exit_code == 2
    assert "of revision 9000, which a later version of Groundwire made" in result.stderr
