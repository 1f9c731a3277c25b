"""``groundwire audit verify``: what it says of a trail, and with which status it ends."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import Result
from sqlalchemy import text

from groundwire.control.audit.sinks import FileSink
from groundwire.control.audit.store_sink import StoreSink
from groundwire.control.store import Store
from tests.cli.conftest import invoke
from tests.control.audit.trails import KEY, chain_of, event

pytest.importorskip("sqlalchemy", reason="the trail is of the gateway extra")

ENVIRON = {"GROUNDWIRE_AUDIT_KEY": KEY.decode()}


def write_file(path: Path) -> Path:
    records = chain_of(event(0), event(1, detail={"n": 1}), is_ended=True)
    asyncio.run(FileSink(path).append(records))
    return path


def write_store(url: str) -> str:
    async def write() -> None:
        sink = StoreSink(Store(url), [KEY])
        await sink.heads()
        await sink.append(chain_of(event(0), event(1, detail={"n": 1}), is_ended=True))
        await sink.close()

    asyncio.run(write())
    return url


def run_in(url: str, statement: str) -> None:
    async def execute() -> None:
        async with Store(url) as store, store.writing() as connection:
            await connection.execute(text(statement))

    asyncio.run(execute())


def verify(*args: object, environ: Mapping[str, str] = ENVIRON) -> Result:
    return invoke("audit", "verify", *args, environ=environ)


def test_an_intact_trail_in_a_store_ends_with_0(store_url: str) -> None:
    result = verify("--store", write_store(store_url))
    assert (result.exit_code, result.stdout) == (0, "intact: 4 records in 1 chain\n")


def test_a_trail_that_was_tampered_with_ends_with_1_and_says_where(store_url: str) -> None:
    write_store(store_url)
    run_in(store_url, "UPDATE audit_records SET line = replace(line, 'mark', 'pass')")
    result = verify("--store", store_url)
    assert result.exit_code == 1
    first, second, *_ = result.stdout.splitlines()
    assert first == "TAMPERED: 1 finding, 4 records in 1 chain"
    assert second.startswith("  edited    record 2 of chain ")


def test_json_has_the_findings(store_url: str) -> None:
    write_store(store_url)
    run_in(store_url, "DELETE FROM audit_records WHERE seq = 2")
    result = verify("--store", store_url, "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["status"], data["records"]) == (1, "tampered", 3)
    assert [(each["kind"], each["seq"]) for each in data["findings"]] == [("missing", 3)]


def test_the_store_and_the_key_of_a_configuration_are_taken(tmp_path: Path) -> None:
    write_store(f"sqlite:///{tmp_path / 'groundwire.db'}")
    (tmp_path / "audit.key").write_bytes(KEY)
    (tmp_path / "c.yaml").write_text(f"gateway: {{data_dir: '{tmp_path}'}}\n")
    result = verify("--config", tmp_path / "c.yaml", environ={})
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_file_of_a_configuration_is_taken(tmp_path: Path) -> None:
    write_file(tmp_path / "trail.jsonl")
    (tmp_path / "c.yaml").write_text(f"audit: {{path: '{tmp_path / 'trail.jsonl'}'}}\n")
    assert verify("--config", tmp_path / "c.yaml").stdout == "intact: 4 records in 1 chain\n"


def test_several_files_are_one_trail(tmp_path: Path) -> None:
    lines = write_file(tmp_path / "all").read_bytes().splitlines(keepends=True)
    (tmp_path / "1").write_bytes(b"".join(lines[:2]))
    (tmp_path / "2").write_bytes(b"".join(lines[2:]))
    assert verify("--file", tmp_path / "1", "--file", tmp_path / "2").exit_code == 0
    assert verify("--file", tmp_path / "2").exit_code == 1
    assert verify("--file", tmp_path / "2", "--partial").exit_code == 0


def test_with_another_key_it_could_not_be_verified(tmp_path: Path) -> None:
    path = write_file(tmp_path / "audit.jsonl")
    result = verify("--file", path, environ={"GROUNDWIRE_AUDIT_KEY": "k" * 40})
    assert result.exit_code == 2
    assert result.stdout.startswith("not verified: no key that was given has signed any of 4 rec")
    (tmp_path / "old.key").write_bytes(KEY)
    environ = {"GROUNDWIRE_AUDIT_KEY": "k" * 40}
    assert (
        verify("--file", path, "--key-file", tmp_path / "old.key", environ=environ).exit_code == 0
    )


def test_without_a_key_it_says_how_to_give_one_and_makes_none(tmp_path: Path) -> None:
    path = write_file(tmp_path / "audit.jsonl")
    environ = {"GROUNDWIRE_GATEWAY_DATA_DIR": str(tmp_path / "data")}
    result = verify("--file", path, environ=environ)
    assert result.exit_code == 2
    assert "--key-file" in result.stderr
    assert not (tmp_path / "data").exists()


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = verify("--store", f"sqlite:///{tmp_path / 'groundwire.db'}")
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_version_is_not_changed(store_url: str) -> None:
    async def version(statement: str) -> str | None:
        async with Store(store_url) as store, store.writing() as connection:
            found: str | None = await connection.scalar(text(statement))
            return found

    asyncio.run(version("UPDATE groundwire_version SET version_num = '0001' RETURNING 1"))
    result = verify("--store", store_url)
    assert result.exit_code == 2
    assert "its tables are of revision 0001" in result.stderr


def test_a_database_out_of_reach_is_no_pass() -> None:
    result = verify("--store", "postgresql://gw:secret@127.0.0.1:9/none")
    assert result.exit_code == 2
    assert "cannot be reached" in result.stderr
    assert "secret" not in result.stderr


def test_an_empty_trail_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_bytes(b"")
    result = verify("--file", tmp_path / "audit.jsonl")
    assert (result.exit_code, result.stdout) == (2, "not verified: there are no records\n")


def test_what_was_put_into_a_trail_does_not_act_on_a_terminal(tmp_path: Path) -> None:
    url = write_store(f"sqlite:///{tmp_path / 'groundwire.db'}")
    run_in(url, "UPDATE audit_writers SET writer = '\x1b[2Jgone'")
    result = verify("--store", url)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--store", "sqlite:///a.db", "--file", __file__], "not both"),
        (["--partial"], "--partial with --file"),
        (["--file", "/nowhere/audit.jsonl"], "does not exist"),
    ],
)
def test_options_that_contradict_each_other_are_told(args: list[str], problem: str) -> None:
    result = verify(*args)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_the_output_of_a_gateway_is_verified_where_it_is_kept() -> None:
    result = verify(environ=ENVIRON | {"GROUNDWIRE_AUDIT_PATH": "-"})
    assert result.exit_code == 2
    assert "--file" in result.stderr
