"""Migrations: from every earlier revision with what is in it, and never half way."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Table, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

import groundwire.control.store.migrations
from groundwire.control.store import Store, sqlite, tables
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.engines import Engine
from groundwire.control.store.errors import StoreError, StoreUnusableError, StoreVersionError
from groundwire.control.store.migrate import HEAD, SCRIPTS, VERSION_TABLE, migrate, revision_of
from groundwire.control.store.moments import of_datetime
from tests.control.store import rows
from tests.control.store.rows import NOON
from tests.postgres import PATIENCE_S

pytestmark = pytest.mark.merge

Row = Mapping[str, Any]

#: What a database may hold, by table. A revision takes the columns that it has.
ROWS: Mapping[str, Sequence[Row]] = {
    "tenants": [
        {
            **{"id": "acme", "name": "Acme 'Ünlü' Ltd", "version": 3},
            "metadata": {"grounding.enabled": "true", "other": "\\ \" '"},
            "policy": {"action": "block", "similarity_threshold": 0.7},
            **{"created_at": 1_700_000_000_000_001, "updated_at": 1_800_000_000_000_002},
        },
        {
            **{"id": "empty", "name": None, "version": 1, "metadata": {}, "policy": {}},
            **{"created_at": 1, "updated_at": 1},
        },
    ],
    "keys": [
        {
            **{"id": "0123456789ab", "sha256": "01" * 32, "tenant": "acme", "role": None},
            **{"name": "ci", "created_at": 1, "expires_at": 2**53, "revoked_at": None},
            "last_used_at": 1_700_000_000_000_003,
        },
        {
            **{"id": "ba9876543210", "sha256": "23" * 32, "tenant": None, "role": "auditor"},
            **{"name": None, "created_at": 1, "expires_at": None, "revoked_at": 5},
            "last_used_at": None,
        },
    ],
    "changes": [{"id": 1, "revision": 41}],
    "accounts": [
        {
            **{"name": "anna", "password": "$argon2id$", "role": "admin", "created_at": 1},
            **{"signed_in_at": None, "issuer": None, "subject": None},
        },
        {
            **{"name": "oidc:otto-0123abcd", "password": "", "role": "viewer", "created_at": 2},
            **{"signed_in_at": 3, "issuer": "https://login.example.com/x", "subject": "4711"},
        },
    ],
    "sessions": [{"sha256": "ab" * 32, "account": "anna", "expires_at": 2**53}],
    "activity": [
        {
            **{"slot": 1_800_000_000, "tenant": "acme", "model": "gpt-5", "outcome": "grounded"},
            **{"action": "none", "n": 2**40},
        }
    ],
    "check_times": [{"slot": 1_800_000_000, "stage": "read", "range": 21, "n": 7}],
    "labels": [
        {
            **{"event_id": "a" * 36, "account": "rita", "tenant": "acme", "labelled_at": 2**53},
            "marks": [{"start": 0, "end": 4, "label": "unsupported", "verdict": "right"}],
            "facts": {"detector": "reader", "sample": 0.5},
        }
    ],
    "audit_records": [
        {
            **{"writer": "ab" * 16, "seq": seq, "event_id": f"{seq:036}", "moment": 10**15 + seq},
            **{"tenant": "acme", "type": "GROUNDING_CHECKED", "trace_id": "t" * 32},
            **{"line": '{"a": "ü"}', "detail_sha256": "45" * 32, "previous": "", "mac": "67" * 32},
        }
        for seq in (0, 1, 2**40)
    ],
    "audit_details": [
        {"writer": "ab" * 16, "seq": 2**40, "moment": 10**15, "detail": json.dumps(["x" * 9000])}
    ],
    "audit_writers": [
        {
            **{"writer": "ab" * 16, "started_at": 1, "ended_at": None, "seq": 2**40},
            **{"mac": "67" * 32, "signature": "89" * 32},
        }
    ],
}


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", SCRIPTS)
    return ScriptDirectory.from_config(config)


REVISIONS = [each.revision for each in reversed(list(scripts().walk_revisions()))]


def literal(value: object) -> str:
    """A value as SQL has it."""
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    written = value if isinstance(value, str) else json.dumps(value)
    return "'" + written.replace("'", "''") + "'"


async def fill(connection: AsyncConnection) -> dict[str, list[Row]]:
    """Put rows into all tables there are; what was put there."""
    found: dict[str, list[Row]] = {}
    columns = await connection.run_sync(columns_of)
    for name in sorted(columns, key=list(ROWS).index):
        found[name] = [{key: row[key] for key in row if key in columns[name]} for row in ROWS[name]]
        await connection.exec_driver_sql(f"DELETE FROM {name}")
        for row in found[name]:
            values = ", ".join(map(literal, row.values()))
            await connection.exec_driver_sql(
                f"INSERT INTO {name} ({', '.join(row)}) VALUES ({values})"
            )
    return found


def columns_of(connection: Connection) -> dict[str, set[str]]:
    """The columns of all tables of ours."""
    look = inspect(connection)
    return {
        name: {column["name"] for column in look.get_columns(name)}
        for name in look.get_table_names()
        if name != VERSION_TABLE
    }


async def stored(connection: AsyncConnection, table: Table) -> list[Row]:
    """All rows of a table of today."""
    result = await connection.execute(select(table).order_by(*table.primary_key))
    return [
        {
            name: of_datetime(value) if isinstance(value, datetime) else value
            for name, value in row._mapping.items()
        }
        for row in result
    ]


def differences(connection: Connection) -> list[Any]:
    """What would have to be done for the tables to be as the code has them."""
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
    return list(
        compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata)
    )


def shape(connection: Connection) -> dict[str, Any]:
    """All there is to tables, by their names, with the names of constraints."""
    look = inspect(connection)

    def by_name(found: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's
        return sorted(json.dumps(each, default=str, sort_keys=True) for each in found)

    return {
        name: {
            "columns": by_name(look.get_columns(name)),
            "key": look.get_pk_constraint(name),
            "references": by_name(look.get_foreign_keys(name)),
            "unique": by_name(look.get_unique_constraints(name)),
            "checks": by_name(look.get_check_constraints(name)),
            "indexes": by_name(look.get_indexes(name)),
        }
        for name in look.get_table_names()
        if name != VERSION_TABLE
    }


def ready(url: str) -> DatabaseAddress:
    """Where a database is, with a file if it is one."""
    address = DatabaseAddress.read(url)
    if address.path is not None:
        sqlite.prepare(address.path)
    return address


def with_revision(folder: Path, name: str, upgrade: str) -> str:
    """Our migrations and one more, in a folder."""
    source = Path(groundwire.control.store.migrations.__file__).parent
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    lines = ["import sqlalchemy as sa", "from alembic import op", f"revision = {name!r}"]
    lines += [
        f"down_revision = {HEAD!r}",
        "def upgrade():",
        *(f"    {x}" for x in upgrade.split("; ")),
    ]
    (folder / "versions" / f"{name}.py").write_text("\n".join(lines), encoding="utf-8")
    return str(folder)


def test_the_revision_of_the_code_is_the_last_one() -> None:
    assert scripts().get_heads() == [HEAD] == REVISIONS[-1:]
    assert [each.down_revision for each in map(scripts().get_revision, REVISIONS)] == [
        *(None, *REVISIONS[:-1])
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_an_earlier_revision_holds_is_there_after_an_upgrade(
    store_url: str, revision: str
) -> None:
    address = ready(store_url)
    assert await migrate(address, revision=revision) is None
    engine = Engine.migrating(address, timeout_s=5)
    async with engine.engine.begin() as connection:
        written = await fill(connection)
    await engine.close()
    async with Store(store_url) as store:
        async with store.reading() as connection:
            assert await connection.run_sync(revision_of) == HEAD
            assert await connection.run_sync(differences) == []
            for name, expected in written.items():
                found = await stored(connection, tables.metadata.tables[name])
                assert [{key: row[key] for key in expected[0]} for row in found] == expected
        await require_references(store)


async def require_references(store: Store) -> None:
    """Keys are of tenants that are there, and go with them."""
    key = {"id": "1", "sha256": "2", "tenant": "nobody", "created_at": NOON}
    with pytest.raises(StoreError, match="what it refers to is not there"):
        async with store.writing() as connection:
            await connection.execute(tables.keys.insert().values(key))
    async with store.writing() as connection:
        await connection.execute(tables.tenants.delete().where(tables.tenants.c.id == "acme"))
        assert await connection.scalar(select(tables.keys.c.tenant)) is None


def test_all_tables_have_rows_here() -> None:
    assert set(ROWS) == set(tables.metadata.tables)


@pytest.mark.asyncio
async def test_tables_are_the_same_migrated_as_made_at_once(
    store_url: str,
) -> None:
    async with Store(store_url) as store, store.reading() as connection:
        migrated = await connection.run_sync(shape)
    async with Store(store_url) as store, store.writing() as connection:
        await connection.run_sync(tables.metadata.drop_all)
        await connection.run_sync(tables.metadata.create_all)
        assert await connection.run_sync(shape) == migrated


@pytest.mark.asyncio
async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    store_url: str, tmp_path: Path
) -> None:
    address = ready(store_url)
    await migrate(address)
    engine = Engine.migrating(address, timeout_s=5)
    async with engine.engine.begin() as connection:
        written = await fill(connection)
        before = await connection.run_sync(shape)
    broken = with_revision(
        *(tmp_path / "migrations", "9000"),
        "op.create_table('half', sa.Column('id', sa.Integer)); op.drop_table('audit_details'); "
        "op.execute('UPDATE tenants SET version = 99'); raise ZeroDivisionError",
    )
    with pytest.raises(ZeroDivisionError):
        await migrate(address, revision="9000", scripts=broken)
    async with engine.engine.connect() as connection:
        assert await connection.run_sync(revision_of) == HEAD
        assert await connection.run_sync(shape) == before
        assert await stored(connection, tables.tenants) == written["tenants"]
        assert await stored(connection, tables.audit_details) == written["audit_details"]
    await engine.close()


@pytest.mark.asyncio
async def test_a_table_that_is_made_anew_takes_no_rows_of_others_with_it(tmp_path: Path) -> None:
    # SQLite drops the old table, which deletes its rows, and what refers to them.
    address = ready(f"sqlite:///{tmp_path}/a.db")
    await migrate(address)
    engine = Engine.migrating(address, timeout_s=5)
    async with engine.engine.begin() as connection:
        written = await fill(connection)
    anew = with_revision(
        *(tmp_path / "migrations", "9000"),
        "with op.batch_alter_table('tenants', recreate='always') as batch: "
        "batch.add_column(sa.Column('more', sa.Text))",
    )
    await migrate(address, revision="9000", scripts=anew)
    async with engine.engine.connect() as connection:
        assert await stored(connection, tables.keys) == written["keys"]
        assert await connection.scalar(text("SELECT count(more) FROM tenants")) == 0
    await engine.close()


@pytest.mark.asyncio
async def test_a_migration_that_leaves_references_to_nothing_is_not_kept(tmp_path: Path) -> None:
    address = ready(f"sqlite:///{tmp_path}/a.db")
    await migrate(address)
    engine = Engine.migrating(address, timeout_s=5)
    async with engine.engine.begin() as connection:
        written = await fill(connection)
    forgetful = with_revision(tmp_path / "migrations", "9000", "op.execute('DELETE FROM tenants')")
    with pytest.raises(StoreUnusableError, match="1 of its rows refer to others that are not"):
        await migrate(address, revision="9000", scripts=forgetful)
    async with engine.engine.connect() as connection:
        assert await stored(connection, tables.tenants) == written["tenants"]
    await engine.close()


@pytest.mark.asyncio
async def test_a_database_of_a_later_version_is_not_touched(store_url: str) -> None:
    async with Store(store_url) as store:
        await rows.make(store, "a")
        async with store.writing() as connection:
            await connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9000'"))
    with pytest.raises(
        StoreVersionError, match=f"of revision 9000.*this one knows {HEAD}"
    ) as raised:
        await store.open()
    assert not raised.value.is_passing
    assert not store.is_open


@pytest.mark.asyncio
async def test_a_later_revision_can_be_reached_from_this_one(
    store_url: str, tmp_path: Path
) -> None:
    address = ready(store_url)
    more = with_revision(
        tmp_path / "migrations", "9000", "op.create_table('more', sa.Column('id', sa.Integer))"
    )
    assert await migrate(address) is None
    assert await migrate(address, revision="9000", scripts=more) == HEAD
    assert await migrate(address, revision="9000", scripts=more) == "9000"


@pytest.mark.asyncio
async def test_there_is_no_way_back(tmp_path: Path) -> None:
    address = ready(f"sqlite:///{tmp_path}/a.db")
    await migrate(address)

    def downgrade(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", SCRIPTS)
        config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
        command.downgrade(config, "base")

    engine = Engine.migrating(address, timeout_s=5)
    async with engine.engine.connect() as connection:
        with pytest.raises(NotImplementedError, match="restore the backup"):
            await connection.run_sync(downgrade)
        assert await connection.run_sync(revision_of) == HEAD
        assert await connection.run_sync(differences) == []
    await engine.close()


@pytest.mark.asyncio
async def test_tables_of_another_program_stop_a_migration_and_stay(store_url: str) -> None:
    engine = Engine.migrating(ready(store_url), timeout_s=5)
    async with engine.engine.begin() as connection:
        await connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        await connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
        await connection.execute(text("CREATE TABLE keys (theirs INTEGER)"))
    with pytest.raises(StoreUnusableError, match="a database of its own"):
        await Store(store_url).open()
    async with engine.engine.connect() as connection:
        assert await connection.run_sync(columns_of) == {
            "alembic_version": {"version_num"},
            "keys": {"theirs"},
        }
    await engine.close()


OPEN = """
import asyncio, sys
import alembic.command
from groundwire.control.store import Store
from groundwire.control.store.opening import wait_until_open

async def main():
    store = Store(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    await wait_until_open(store)
    await store.close()
    print("open", flush=True)

asyncio.run(main())
"""


async def start(code: str, url: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", code, url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.nightly
@pytest.mark.merge
@pytest.mark.asyncio
async def test_processes_that_start_at_once_migrate_once(store_url: str) -> None:
    async with asyncio.timeout(3 * PATIENCE_S):
        processes = [await start(OPEN, store_url) for _ in range(3)]
        for each in processes:
            assert each.stdout is not None
            assert await each.stdout.readline() == b"ready\n"
        ended = await asyncio.gather(*(each.communicate(b"\n") for each in processes))
    assert [output for output, _ in ended] == [b"open\n"] * 3, ended
    assert [errors for _, errors in ended] == [b""] * 3
    async with Store(store_url) as store, store.reading() as connection:
        assert await connection.run_sync(differences) == []


@pytest.mark.merge
def test_a_start_that_migrates_nothing_does_not_import_alembic(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from groundwire.control.store import Store\n"
        "async def main():\n    async with Store(sys.argv[1]): pass\n"
        "asyncio.run(main()); print('alembic' in sys.modules)"
    )
    url = f"sqlite:///{tmp_path}/a.db"
    shown = [
        subprocess.run([sys.executable, "-c", code, url], check=True, capture_output=True).stdout
        for _ in range(2)
    ]
    assert shown == [b"True\n", b"False\n"]
