"""When the database or the audit log fails: the table of docs/admin-api.md, row by row."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.cli.test_serve import gateway as process
from tests.gateway.admin.conftest import Planes
from tests.gateway.admin.plane import Plane
from tests.gateway.chats import KEY, WRONG
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Script, completion, eventually
from tests.postgres import Postgres

PAGE = Path(__file__).parents[3] / "docs" / "admin-api.md"

#: What a client gets for a hallucinated answer of the tenant acme, whose stored policy blocks it.
BY_WHAT_IS_KNOWN = "403 `hallucination_detected`"

NOBODY = "postgresql://nobody@127.0.0.1:9/nothing"

postgres = pytest.mark.postgres

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="this is no checkout")

#: Makes a fault of a gateway that runs; it is mended when the block ends.
Fault = Callable[[Plane], AbstractContextManager[None]]


# What a client gets.


def told(reply: Reply) -> str:
    """A reply in the words of the page."""
    if reply.status < 400:
        return "200"
    assert (reply.headers["Retry-After"] is not None) == (reply.status == 503)
    return f"{reply.status} `{reply.error['code']}`"


def requests(own: Plane, key: str) -> str:
    own.upstream.script(Script.json(completion(f"It was built in {WRONG}.")))
    found = told(own.chat(key=key))
    return "by what is known" if found == BY_WHAT_IS_KNOWN else found


def reading(own: Plane) -> str:
    return told(own.ask("GET", "/tenants"))


def changing(own: Plane) -> str:
    return told(own.ask("PUT", "/tenants/acme", {"metadata": {"n": 1}}))


def ready(own: Plane, *, admin: bool = False) -> str:
    found = fetch(f"{own.admin_url if admin else own.url}/readyz")
    return f"{found.status} `{found.json()['status']}`"


def rows() -> dict[str, list[str]]:
    """The table of the page: first cell → the others."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    section = text.partition("## When something fails")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line[1:-1].split("|")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    return {first: others for first, *others in cells if first not in ("Fault", "---")}


def require_row(name: str, own: Plane, key: str) -> None:
    """Hold what clients get against a row of the page."""
    expected = rows()[name]
    eventually(lambda: ready(own) == expected[3])
    found = [requests(own, key), reading(own), changing(own), ready(own)]
    assert ready(own, admin=True) == found[3]
    assert fetch(f"{own.url}/livez").status == fetch(f"{own.admin_url}/livez").status == 200
    shown = [each if each != "503" else found[n] for n, each in enumerate(expected)]
    assert found == shown
    assert all(each[:3] == "503" for n, each in enumerate(found) if expected[n] == "503")


# Faults of a gateway that runs.


@contextmanager
def locked(own: Plane) -> Iterator[None]:
    """Another program holds the file, and somebody's failed login is to be recorded."""
    connection = sqlite3.connect(own.folder / "groundwire.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    own.ask("GET", "/me", key="nobody")
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


@contextmanager
def removed(own: Plane) -> Iterator[None]:
    path = own.folder / "groundwire.db"
    path.rename(own.folder / "away.db")
    try:
        yield
    finally:
        (own.folder / "away.db").rename(path)


@contextmanager
def unwritable(own: Plane) -> Iterator[None]:
    """A folder stands where the file of the audit log was."""
    path = own.folder / "audit.jsonl"
    path.rename(own.folder / "before.jsonl")
    path.mkdir()
    own.ask("GET", "/me", key="nobody")
    try:
        yield
    finally:
        path.rmdir()


def in_file(on_failure: str) -> Callable[[Path], str]:
    def yaml(folder: Path) -> str:
        path = json.dumps(str(folder / "audit.jsonl"))
        return f"audit: {{on_failure: {on_failure}, path: {path}}}"

    return yaml


#: First cell → the configuration, and the fault.
ON_SQLITE: Mapping[str, tuple[Callable[[Path], str], Fault]] = {
    "Another program has locked the SQLite file": (lambda _: "", locked),
    "The SQLite file was removed or replaced": (lambda _: "", removed),
    "Records cannot be written, `audit.on_failure: allow`": (in_file("allow"), unwritable),
    "Records cannot be written, `audit.on_failure: refuse`": (in_file("refuse"), unwritable),
}


def blocking_tenant(own: Plane) -> str:
    """A key of the tenant acme, whose policy blocks."""
    key = own.make_key("acme")
    assert own.ask("PUT", "/tenants/acme/policy", {"action": "block"}).status == 200
    return key


def require_recovery(own: Plane, key: str) -> None:
    """Everything is as it was, without a new start."""
    eventually(lambda: ready(own) == "200 `ready`")
    assert requests(own, key) == "by what is known"
    assert (reading(own), changing(own)) == ("200", "200")
    assert own.get("/tenants/acme")["metadata"]["n"] == "1"
    assert own.failures == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ON_SQLITE)
def test_a_fault_ends_as_the_page_says_and_mends_itself(
    planes: Planes, tmp_path: Path, name: str
) -> None:
    yaml, fault = ON_SQLITE[name]
    own = planes(yaml(tmp_path), folder=tmp_path)
    key = blocking_tenant(own)
    with fault(own):
        require_row(name, own, key)
    require_recovery(own, key)


# PostgreSQL.


@contextmanager
def gone(server: Postgres, database: str) -> Iterator[None]:
    del database
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextmanager
def silent(server: Postgres, database: str) -> Iterator[None]:
    del database
    server.pause()
    try:
        yield
    finally:
        server.go_on()


@contextmanager
def full(server: Postgres, database: str) -> Iterator[None]:
    """Every row that would be written meets a disk without room."""
    body = "BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'no space'; END"
    server.run(
        f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$", database
    )
    tables = ("tenants", "keys", "audit_records")
    for table in tables:
        server.run(
            f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {table} "
            "EXECUTE FUNCTION full_disk()",
            database,
        )
    try:
        yield
    finally:
        for table in tables:
            server.run(f"DROP TRIGGER full_disk ON {table}", database)


ON_POSTGRESQL = {
    "It goes while the gateway runs": gone,
    "It does not answer any more": silent,
    "It has no room left": full,
}


@postgres
@pytest.mark.nightly
@pytest.mark.parametrize("name", ON_POSTGRESQL)
def test_a_fault_of_a_server_ends_as_the_page_says_and_mends_itself(
    planes: Planes, mortal_postgres: Postgres, name: str
) -> None:
    database = mortal_postgres.make_database()
    own = planes(
        "store: {timeout_s: 1}",
        environ={"GROUNDWIRE_STORE_URL": mortal_postgres.url(database)},
    )
    key = blocking_tenant(own)
    with ON_POSTGRESQL[name](mortal_postgres, database):
        own.ask("GET", "/me", key="nobody")  # whose failure is to be recorded
        require_row(name, own, key)
    require_recovery(own, key)
    own.stop()


# The start.


AT_THE_START = "The database cannot be reached at the start"


def test_a_database_that_is_away_at_the_start_is_waited_for(planes: Planes) -> None:
    own = planes(environ={"GROUNDWIRE_STORE_URL": NOBODY})
    require_row(AT_THE_START, own, KEY)
    found = fetch(f"{own.url}/readyz")
    assert found.headers["Retry-After"]
    assert found.json()["store"] == {
        "status": "unavailable",
        "problem": "it cannot be reached (ConnectionRefusedError)",
    }
    assert own.ask("GET", "/me").status == 503
    assert own.ask("GET", "/me", key=None).status == 503
    assert fetch(f"{own.url}/metrics").text.count("groundwire_store_up 0.0") == 1
    assert own.failures == []


@postgres
def test_it_is_taken_once_it_is_there(planes: Planes, mortal_postgres: Postgres) -> None:
    url = mortal_postgres.url(mortal_postgres.make_database())
    mortal_postgres.stop()
    none = {"GROUNDWIRE_GATEWAY_API_KEY": "", "GROUNDWIRE_ADMIN_API_KEY": ""}
    own = planes(environ=none | {"GROUNDWIRE_STORE_URL": url})
    assert ready(own) == "503 `starting`"
    assert own.starts == []
    mortal_postgres.start()
    eventually(lambda: ready(own) == "200 `ready`")
    (start,) = own.starts
    assert start.tenant_key is not None
    assert start.admin_key is not None
    assert own.ask("GET", "/me", key=start.admin_key.secret).status == 200
    own.stop()


def later_version(folder: Path) -> None:
    """A database that a later version has made."""
    with sqlite3.connect(folder / "groundwire.db") as connection:
        connection.execute("UPDATE groundwire_version SET version_num = '9999'")
    connection.close()


def no_database(folder: Path) -> None:
    (folder / "groundwire.db").write_bytes(b"This is a letter. " * 100)


ENDS = {
    "The database is of a later version, at the start": (later_version, "later version"),
    "The SQLite file is no database, at the start": (no_database, "no database"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ENDS)
def test_what_cannot_mend_itself_ends_the_start(planes: Planes, tmp_path: Path, name: str) -> None:
    assert rows()[name][0] == "ends with 2"
    spoil, said = ENDS[name]
    planes(folder=tmp_path).stop()
    spoil(tmp_path)
    with process(
        *("--upstream", "http://127.0.0.1:9/v1", "--port", "0"),
        GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path),
    ) as started:
        assert started.end() == 2
        assert said in started.said
        assert "Traceback" not in started.said
        assert "Listening" not in started.said or "gwa_" not in started.said


def test_the_page_has_all_faults() -> None:
    assert set(rows()) == {*ON_SQLITE, *ON_POSTGRESQL, *ENDS, AT_THE_START}
