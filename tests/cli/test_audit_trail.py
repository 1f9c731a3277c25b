"""``groundwire audit list``, ``show``, ``export``: what they print and write."""

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
from groundwire.control.audit import EventType, Keeping, response_events, signing
from groundwire.control.store import Store
from tests.cli.conftest import invoke
from tests.control.audit.filled import KEY, START, Written, made
from tests.control.audit.test_detail import CUT, FULL, HASHED, many
from tests.gateway.answers import checked, unavailable
from tests.pipeline.chats import FACTS

HOSTILE = "\x1b[2J\u202eevil\r\nid: forged"


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


# list


def test_each_event_is_a_line_the_newest_first(url: str) -> None:
    one, other = fill(
        url,
        made(1, outcome="partial", reason="language", action="log"),
        made(
            2.5, EventType.HALLUCINATION_DETECTED, tenant="other", ungrounded_claims=["It is 5 m."]
        ),
    )
    result = run("list", "--until", "2026-03-02")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f'2026-03-01 00:00:02.500  {other}  HALLUCINATION_DETECTED  other  "It is 5 m."',
        f"2026-03-01 00:00:01.000  {one}  CHECK_INCOMPLETE  acme  log partial language",
    ]
    assert result.stderr == ""


def test_filters_and_order_are_options(url: str) -> None:
    ids = fill(
        url,
        made(1, tenant="a", trace_id="x"),
        made(2, EventType.UNCHECKED_ENDPOINT, tenant="a"),
        made(86_400, tenant="b"),
    )

    def listed(*args: object) -> list[str]:
        lines = run("list", "--json", *args).stdout.splitlines()
        return [json.loads(line)["id"] for line in lines]

    assert listed("--tenant", "a") == [ids[1], ids[0]]
    assert listed("--tenant", "a", "--oldest-first") == ids[:2]
    assert listed("--type", "unchecked_endpoint", "--type", "CHECK_INCOMPLETE") == ids[::-1]
    assert listed("--trace-id", "x") == ids[:1]
    assert listed("--since", "2026-03-01T12:00", "--until", "2026-03-03") == ids[2:]
    assert (
        listed("--since", "2026-03-01T01:00:00+01:00", "--until", "2026-03-01T00:00:02Z") == ids[:1]
    )
    assert listed("--tenant", "c") == []
    assert len(listed("--since", "1h")) == 1  # the start of the chain


def test_a_line_of_json_is_an_event_with_its_place_in_a_chain(url: str) -> None:
    event = made(1, outcome="partial")
    fill(url, event)
    (line,) = run("list", "--json", "--tenant", "acme").stdout.splitlines()
    told = json.loads(line)
    assert {name: told[name] for name in event.to_dict()} == event.to_dict()
    assert (told["chain"]["seq"], told["has_detail"], told["is_readable"]) == (2, False, True)


def test_more_than_the_limit_is_told(url: str) -> None:
    fill(url, *(made(i) for i in range(5)))
    result = run("list", "--limit", 3)
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr == "And more: these are 3; --limit, or --all.\n"
    assert run("list", "--limit", 6).stderr == ""
    assert len(run("list", "--all").stdout.splitlines()) == 6


def test_all_are_more_than_a_page(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.cli.audit_trail.MAX_LIMIT", 2)
    fill(url, *(made(i) for i in range(6)))
    assert len(run("list", "--all").stdout.splitlines()) == 7
    assert len(run("list", "--limit", 5).stdout.splitlines()) == 5


def test_what_strangers_wrote_cannot_act_on_the_terminal(url: str) -> None:
    (event_id,) = fill(
        url, made(1, EventType.HALLUCINATION_DETECTED, ungrounded_claims=[HOSTILE], note=HOSTILE)
    )
    for result in (run("list", "--until", "2026-03-02"), run("show", event_id)):
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout
        assert "\u202e" not in result.stdout
        assert "evil" in result.stdout
        assert not any(line.startswith("id: forged") for line in result.stdout.splitlines())
        assert "\n  id: forged" not in result.stdout


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
    result = run("list", *args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_store_that_is_not_there_is_not_made(folder: Path) -> None:
    result = run("list")
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
    assert list((folder / "data").iterdir()) == [folder / "data" / signing.FILE]


def test_a_trail_that_is_in_a_file_is_not_looked_for_in_the_store(folder: Path, url: str) -> None:
    fill(url)
    config = folder / "groundwire.yaml"
    config.write_text("audit: {path: audit.jsonl}", encoding="utf-8")
    result = run("list", "--config", config)
    assert result.exit_code == 2
    assert "the trail is in that file" in result.stderr
    assert run("list", "--config", config, "--store", url).exit_code == 0


# show


def shown(url: str, keeping: Keeping, answers: Any = None) -> str:  # noqa: ANN401
    (event,) = response_events(answers or checked(), tenant="acme", trace_id="t1", keeping=keeping)
    fill(url, event)
    result = run("show", event.id)
    assert result.exit_code == 0
    assert result.stderr == ""
    return str(result.stdout)


def test_an_event_is_shown_with_all_that_was_found(url: str) -> None:
    told = shown(url, FULL)
    assert told.startswith("HALLUCINATION_DETECTED  20")
    for line in (
        "  tenant: acme",
        "payload",
        "  ungrounded_claim_count: 1",
        "    - 1950",
        "detail",
        "  text: full",
        "    question: When was the Eiffel Tower built?",
        "        start: 30",
        "        label: contradicted",
        "    - ",
        "      name: fixed",
        f"      n_chars: {len(FACTS)}",
    ):
        assert line.rstrip() in [each.rstrip() for each in told.splitlines()], line
    assert "None" not in told


def test_what_is_not_kept_is_not_shown(url: str) -> None:
    told = shown(url, HASHED)
    assert "  text: hash\n" in told
    assert "1950" not in told


def test_a_check_that_failed_is_shown(url: str) -> None:
    assert "  reason: OSError\n" in shown(url, CUT, unavailable())


def test_hostile_answers_are_shown(url: str) -> None:
    told = shown(url, FULL, [many(3, "\0 \ud800 \x1b[2J\nclaim 1-2  supported")])
    assert "\x1b" not in told
    assert told.splitlines().count("claim 1-2  supported") == 0


def test_an_event_without_detail_says_so_and_json_has_all(url: str) -> None:
    with_detail, without = made(1, detail={"version": 99}), made(2)
    fill(url, with_detail, without)
    assert "The findings in full are not kept, or no longer." in run("show", without.id).stdout
    assert "  version: 99" in run("show", with_detail.id).stdout.splitlines()
    told = json.loads(run("show", with_detail.id, "--json").stdout)
    assert told["detail"] == {"version": 99}
    assert told["payload"] == {}


@pytest.mark.parametrize("event_id", ["nothing", "x" * 500, "\x1b[2J"])
def test_an_event_that_is_not_there_is_a_failure(event_id: str, url: str) -> None:
    fill(url)
    result = run("show", event_id)
    assert result.exit_code == 2
    assert "There is no event" in result.stderr
    assert "\x1b" not in result.stderr


# export


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


@pytest.mark.parametrize("args", [["list"], ["show", "1"], ["export", "--out", "-"]])
def test_no_command_changes_a_table(args: list[str], folder: Path) -> None:
    config = folder / "groundwire.yaml"
    config.write_text("audit: {retention_days: 30}", encoding="utf-8")
    path = folder / "data" / "groundwire.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    connection.close()
    result = run(*args, "--config", config)
    assert result.exit_code == 2
    assert "groundwire store migrate" in result.stderr
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("other",)]


@pytest.mark.skipif(sys.platform == "win32", reason="the signal is POSIX's")
def test_help_lists_the_commands() -> None:
    told = run("--help").stdout
    for name in ("list", "show", "export", "verify"):
        assert f"  {name}" in told
