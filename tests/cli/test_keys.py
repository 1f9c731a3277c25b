"""``groundwire keys``: on the database itself, while gateways run and while none does."""

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import groundwire.cli.store_change
from groundwire.control.audit.verify_store import verify_store
from groundwire.control.store import Store
from groundwire.control.store.address import DatabaseAddress
from groundwire.control.store.engines import Engine
from groundwire.control.store.migrate import migrate
from tests.cli.conftest import invoke
from tests.gateway.admin.plane import plane, recorded
from tests.gateway.wire import eventually

OWN = "0123456789abcdef" * 4


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'groundwire.db'}"


def prepare(folder: Path, name: str = "groundwire.db") -> None:
    """A database and a key of the trail, as the first start of a gateway makes them."""
    asyncio.run(migrated(f"sqlite:///{folder / name}"))
    (folder / "audit.key").write_text(OWN)


async def migrated(url: str) -> None:
    async with Store(url):
        pass


def keys(*args: str, folder: Path, **environ: str) -> Result:
    return invoke("keys", *args, environ={"GROUNDWIRE_GATEWAY_DATA_DIR": str(folder), **environ})


def made(*args: str, folder: Path) -> str:
    result = keys("create", *args, folder=folder)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def listed(*args: str, folder: Path) -> list[list[str]]:
    """The columns of each line: id, status, creation, use, owner, and the name if there is one."""
    result = keys("list", *args, folder=folder)
    assert result.exit_code == 0, result.output
    return [re.split(" {2,}", line) for line in result.stdout.splitlines()]


@pytest.mark.merge
def test_a_lost_admin_key_is_replaced_while_the_gateway_runs(tmp_path: Path) -> None:
    with plane(tmp_path) as own:
        secret = made("--admin", folder=tmp_path)
        assert secret.startswith("gwa_")
        eventually(lambda: own.ask("GET", "/me", key=secret).status == 200)
        assert own.get("/me", key=secret)["role"] == "admin"
        (created,) = own.get("/audit/events?type=KEY_CREATED")["events"]
        assert created["payload"]["actor"] == "command-line"
        assert own.ask("POST", "/audit/verify").json()["status"] == "intact"
        result = keys("revoke", created["payload"]["key_id"], "--admin", folder=tmp_path)
        assert result.exit_code == 0
        eventually(lambda: own.ask("GET", "/me", key=secret).status == 401)


@pytest.mark.merge
def test_keys_are_made_listed_and_revoked_without_a_gateway(tmp_path: Path, url: str) -> None:
    with plane(tmp_path) as own:
        own.ask("PUT", "/tenants/acme", {})
    first = made("--tenant", "acme", "--name", "laptop", "--expires-in", "30", folder=tmp_path)
    auditor = made("--admin", "auditor", folder=tmp_path)
    assert (first[:3], auditor[:4]) == ("gw_", "gwa_")
    (key,) = listed("--tenant", "acme", folder=tmp_path)
    key_id, *said = key
    assert (said[0], *said[2:]) == ("active", "never used", "acme", "laptop")
    assert [each[4] for each in listed("--admin", folder=tmp_path)] == ["auditor"]
    revoked = keys("revoke", key_id, "--tenant", "acme", folder=tmp_path)
    assert (revoked.exit_code, revoked.stderr) == (0, f"Revoked {key_id}.\n")
    again = keys("revoke", key_id, "--tenant", "acme", folder=tmp_path)
    assert (again.exit_code, again.stderr) == (0, f"{key_id} was revoked before.\n")
    shown = keys("list", "--tenant", "acme", folder=tmp_path).stdout
    assert shown.startswith(f"{key_id}  revoked   ")
    assert "never used" in shown
    assert first not in shown
    database = (tmp_path / "groundwire.db").read_bytes()
    assert first.encode() not in database
    types = [each["type"] for each in recorded(url, "KEY_CREATED", "KEY_REVOKED")]
    assert types == ["KEY_CREATED", "KEY_CREATED", "KEY_REVOKED"]


def test_a_tenant_of_the_configuration_is_stored_with_its_first_key(
    tmp_path: Path, url: str
) -> None:
    prepare(tmp_path)
    file = tmp_path / "groundwire.yaml"
    file.write_text("tenants:\n  acme: {}\n")
    made("--tenant", "acme", "--config", str(file), folder=tmp_path)
    made("--tenant", "acme", "--config", str(file), folder=tmp_path)
    found = recorded(url, "TENANT_CREATED", "KEY_CREATED")
    assert [each["type"] for each in found] == ["TENANT_CREATED", "KEY_CREATED", "KEY_CREATED"]


def test_only_the_key_goes_to_standard_output(tmp_path: Path) -> None:
    prepare(tmp_path)
    result = keys("create", "--admin", folder=tmp_path)
    assert result.stdout.count("\n") == 1
    assert result.stderr.startswith("A key of the role admin, ")
    assert result.stdout.strip() not in result.stderr


def test_the_database_may_be_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    prepare(tmp_path, "other.db")
    result = keys("create", "--admin", "--store", url, folder=tmp_path)
    assert result.exit_code == 0
    with sqlite3.connect(tmp_path / "other.db") as connection:
        assert connection.execute("SELECT role FROM keys").fetchall() == [("admin",)]
    connection.close()
    assert not (tmp_path / "groundwire.db").exists()


def test_a_log_on_standard_output_does_not_mix_with_the_key(tmp_path: Path) -> None:
    prepare(tmp_path)
    result = keys("create", "--admin", folder=tmp_path, GROUNDWIRE_AUDIT_PATH="-")
    assert result.exit_code == 0
    assert result.stdout.startswith("gwa_")
    assert result.stdout.count("\n") == 1
    assert "This is not recorded" in result.stderr


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["create"], "--tenant ID, or --admin"),
        (["create", "--tenant", "a", "--admin"], "--tenant ID, or --admin"),
        (["list"], "--tenant ID, or --admin"),
        (["revoke", "0123456789ab"], "--tenant ID, or --admin"),
        (["create", "--tenant", "nobody"], "There is no tenant 'nobody'"),
        (["create", "--tenant", ""], "--tenant"),
        (["create", "--admin", "owner"], "'owner' is not one of"),
        (["create", "--admin", "--expires-in", "0"], "0"),
        (["create", "--admin", "--name", "a\nb"], "name: it must be one line"),
        (["revoke", "0123456789ab", "--admin"], "There is no key of this id here"),
        (["revoke", "x", "--tenant", "nobody"], "There is no key of this id here"),
        (["list", "--tenant", "nobody"], "There is no tenant 'nobody'"),
        (["create", "--admin", "--store", "mysql://a/b"], "store.url = *** is not"),
    ],
)
def test_what_cannot_be_is_said(args: list[str], problem: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    result = keys(*args, folder=tmp_path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert problem in " ".join(result.stderr.split())


def test_a_database_that_is_away_is_said_without_its_password(tmp_path: Path) -> None:
    prepare(tmp_path)
    url = "postgresql://me:s3cret@127.0.0.1:9/nothing"
    result = keys("create", "--admin", "--store", url, folder=tmp_path)
    assert result.exit_code == 2
    assert "it cannot be reached" in result.stderr
    assert "s3cret" not in result.output


# What could not be recorded is not done.


def n_keys(folder: Path) -> int:
    with sqlite3.connect(folder / "groundwire.db") as connection:
        (n_rows,) = connection.execute("SELECT count(*) FROM keys").fetchone()
    connection.close()
    return int(n_rows)


def test_another_users_folder_has_no_key_of_the_trail_and_none_is_made(
    tmp_path: Path, url: str
) -> None:
    prepare(tmp_path)
    result = keys("create", "--admin", "--store", url, folder=tmp_path / "other")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "audit.key" in result.stderr
    assert "--config" in result.stderr
    assert n_keys(tmp_path) == 0
    assert not (tmp_path / "other").exists()


def test_a_key_that_has_signed_nothing_of_a_trail_adds_nothing_to_it(
    tmp_path: Path, url: str
) -> None:
    prepare(tmp_path)
    made("--admin", folder=tmp_path)
    other = "f" * 64
    result = keys("create", "--admin", folder=tmp_path / "b", GROUNDWIRE_AUDIT_KEY=other)
    assert result.exit_code == 2
    args = ("create", "--admin", "--store", url)
    result = keys(*args, folder=tmp_path / "b", GROUNDWIRE_AUDIT_KEY=other)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none of the keys here (audit.key) has signed" in result.stderr
    assert n_keys(tmp_path) == 1

    async def status() -> str:
        async with Store(url) as store:
            return str((await verify_store(store, [OWN.encode()])).status)

    assert asyncio.run(status()) == "intact"


@pytest.mark.parametrize(
    "args", [["create", "--admin"], ["list", "--admin"], ["revoke", "0123456789ab", "--admin"]]
)
def test_a_database_that_is_not_there_is_not_made(args: list[str], tmp_path: Path) -> None:
    (tmp_path / "audit.key").write_text(OWN)
    result = keys(*args, folder=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no file" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["audit.key"]


COMMANDS = [["list", "--admin"], ["create", "--admin"], ["revoke", "0123456789ab", "--admin"]]


@pytest.mark.parametrize("args", COMMANDS)
def test_a_database_without_tables_stays_so(args: list[str], tmp_path: Path) -> None:
    (tmp_path / "audit.key").write_text(OWN)
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    connection.close()
    result = keys(*args, folder=tmp_path)
    assert result.exit_code == 2
    assert "it has no tables of ours" in result.stderr
    assert "groundwire store migrate" in result.stderr
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("other",)]


@pytest.mark.parametrize("args", COMMANDS)
@pytest.mark.parametrize("revision", ["0001", "9999"])
def test_tables_of_another_revision_stay_so(
    args: list[str], revision: str, tmp_path: Path, url: str
) -> None:
    """Older gateways on the same database would start no more."""
    (tmp_path / "audit.key").write_text(OWN)
    path = tmp_path / "groundwire.db"
    path.touch()
    asyncio.run(migrate(DatabaseAddress.of_file(path)))
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        connection.execute("UPDATE groundwire_version SET version_num = ?", [revision])
    connection.close()
    result = keys(*args, folder=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"revision {revision}" in result.stderr
    assert "groundwire store migrate" in result.stderr
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        found = connection.execute("SELECT version_num FROM groundwire_version").fetchall()
    connection.close()
    assert found == [(revision,)]


def test_a_change_is_on_the_disk_before_the_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that was revoked must not be taken again after a power cut."""
    prepare(tmp_path)
    made: list[bool] = []
    working = Engine.working

    def noted(address: DatabaseAddress, **options: Any) -> Engine:  # noqa: ANN401
        made.append(options["is_synced"])
        return working(address, **options)

    monkeypatch.setattr(Engine, "working", noted)
    assert keys("create", "--admin", folder=tmp_path).exit_code == 0
    assert made[0]


def test_what_is_done_and_could_not_be_recorded_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    with sqlite3.connect(tmp_path / "groundwire.db") as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON audit_records BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    connection.close()
    monkeypatch.setattr(groundwire.cli.store_change, "RECORD_S", 0.5)
    result = keys("create", "--admin", folder=tmp_path)
    assert result.exit_code == 1
    assert result.stdout.startswith("gwa_")
    assert "it is done, but could not be recorded" in result.stderr
    assert n_keys(tmp_path) == 1
