"""``groundwire audit export``: what it writes."""

import asyncio
import gzip
import json
import os
import sqlite3
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from groundwire.cli.audit_trail import _new_file
from groundwire.control.audit import EventType, signing
from groundwire.control.store import Store
from tests.cli.conftest import invoke
from tests.control.audit.filled import KEY, START, Written, made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gateway's folder with its key; its store is where the configuration says."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / signing.FILE).write_bytes(KEY)
    monkeypatch.setenv("GROUNDWIRE_GATEWAY_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def url(folder: Path) -> str:
    """Where the store of that gateway is."""
    return f"sqlite:///{folder / 'data' / 'groundwire.db'}"


def fill(url: str, *events: Any, days_ago: float = 0.0) -> list[str]:  # noqa: ANN401
    """Put a chain of events into a store; their ids."""

    async def write() -> list[str]:
        async with Store(url) as store:
            chain = Written(store)
            begin = (datetime.now(UTC) - START).total_seconds() - days_ago * 86_400
            await chain.start(begin)
            await chain.add(*events)
        return [event.id for event in events]

    return asyncio.run(write())


def run(*args: object) -> Any:  # noqa: ANN401
    return invoke("audit", *args)


def exported(*args: object) -> list[dict[str, Any]]:
    """The events on standard output."""
    return [json.loads(line) for line in run("export", "--out", "-", *args).stdout.splitlines()]


def test_filters_are_options(url: str) -> None:
    ids = fill(
        url,
        made(1, tenant="a", trace_id="x"),
        made(2, EventType.UNCHECKED_ENDPOINT, tenant="a"),
        made(86_400, tenant="b"),
    )

    def found(*args: object) -> list[str]:
        return [event["id"] for event in exported(*args)]

    assert found("--tenant", "a") == ids[:2]
    assert found("--type", "unchecked_endpoint", "--type", "CHECK_INCOMPLETE") == ids
    assert found("--trace-id", "x") == ids[:1]
    assert found("--since", "2026-03-01T12:00", "--until", "2026-03-03") == ids[2:]
    until = "2026-03-01T00:00:02Z"
    assert found("--since", "2026-03-01T01:00:00+01:00", "--until", until) == ids[:1]
    assert found("--tenant", "c") == []
    assert len(found("--since", "1h")) == 1  # the start of the chain


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--since", "yesterday"], "is no moment. Write 2026-03-04"),
        (["--type", "nothing"], "is not one of"),
        (["--tenant", ""], "it is empty"),
        (["--tenant", "a\x07"], "tenant: it has characters that no name can have"),
        (["--store", "mysql://x"], "postgresql://user:password@host/database"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way(args: list[str], said: str, url: str) -> None:
    fill(url)
    result = run("export", "--out", "-", *args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_store_that_is_not_there_is_not_made(folder: Path) -> None:
    result = run("export", "--out", "-")
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
    assert list((folder / "data").iterdir()) == [folder / "data" / signing.FILE]


def test_a_trail_that_is_in_a_file_is_not_looked_for_in_the_store(folder: Path, url: str) -> None:
    fill(url)
    config = folder / "groundwire.yaml"
    config.write_text("audit: {path: audit.jsonl}", encoding="utf-8")
    result = run("export", "--out", "-", "--config", config)
    assert result.exit_code == 2
    assert "the trail is in that file" in result.stderr
    assert run("export", "--out", "-", "--config", config, "--store", url).exit_code == 0


@pytest.mark.parametrize("name", ["audit.jsonl", "audit.jsonl.gz"])
def test_an_export_is_a_file_for_its_owner_that_verifies(name: str, folder: Path, url: str) -> None:
    fill(url, *(made(i, detail={"n": i}) for i in range(3)))
    out = folder / name
    result = run("export", "--out", out)
    assert result.exit_code == 0
    assert result.stderr == f"4 events in {out}\n"
    data = gzip.decompress(out.read_bytes()) if name.endswith(".gz") else out.read_bytes()
    assert [json.loads(line).get("detail") for line in data.splitlines()][1:] == [
        {"n": 0},
        {"n": 1},
        {"n": 2},
    ]
    if os.name == "posix":
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
    plain = folder / "plain.jsonl"
    plain.write_bytes(data)
    verified = run("verify", "--file", plain)
    assert (verified.exit_code, verified.stdout.split(":")[0]) == (0, "intact")


def test_an_export_of_some_goes_to_the_standard_output(url: str) -> None:
    fill(url, made(1, tenant="a"), made(2, tenant="b"))
    result = run("export", "--tenant", "b", "--out", "-")
    assert [json.loads(line)["tenant"] for line in result.stdout.splitlines()] == ["b"]
    assert result.stderr == "1 event in standard output\n"


def test_an_export_is_there_as_a_whole_or_not_at_all(folder: Path, url: str) -> None:
    fill(url, made(1))
    out = folder / "audit.jsonl"
    out.write_text("mine", encoding="utf-8")
    result = run("export", "--out", out)
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert out.read_text(encoding="utf-8") == "mine"
    result = run("export", "--out", folder / "nowhere" / "audit.jsonl")
    assert result.exit_code == 2
    assert run("export", "--tenant", "\x07", "--out", folder / "other").exit_code == 2
    assert {path.name for path in folder.iterdir()} == {"audit.jsonl", "data"}


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def export() -> None:
        with _new_file(tmp_path / "audit.jsonl") as file:
            file.write(b"{}\n")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        export()
    assert list(tmp_path.iterdir()) == []


def test_an_export_changes_no_table(folder: Path) -> None:
    config = folder / "groundwire.yaml"
    config.write_text("audit: {retention_days: 30}", encoding="utf-8")
    path = folder / "data" / "groundwire.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    connection.close()
    result = run("export", "--out", "-", "--config", config)
    assert result.exit_code == 2
    assert "groundwire store migrate" in result.stderr
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("other",)]


@pytest.mark.skipif(sys.platform == "win32", reason="the signal is POSIX's")
def test_help_lists_the_commands() -> None:
    told = run("--help").stdout
    for name in ("export", "verify"):
        assert f"  {name}" in told
