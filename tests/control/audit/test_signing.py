"""The key of the trail: configured, or made once; earlier keys stay known."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groundwire.config import Config, parse
from groundwire.control.audit.configured import audit_log
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.signing import known_keys, signing_keys
from groundwire.control.audit.sinks import FileSink
from groundwire.errors import ConfigError

OWN = "a" * 32


def config(folder: Path, **environ: str) -> Config:
    own = {f"GROUNDWIRE_{name}": value for name, value in environ.items()}
    return parse("", name="", environ={"GROUNDWIRE_GATEWAY_DATA_DIR": str(folder), **own})


def test_the_first_start_makes_a_key_for_its_owners_eyes(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    key = signing_keys(config(folder))[0]
    assert len(key) == 64
    assert signing_keys(config(folder))[0] == key
    if os.name == "posix":
        assert stat.S_IMODE((folder / "audit.key").stat().st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == ["audit.key"]


def test_processes_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = list(threads.map(lambda _: signing_keys(config(tmp_path))[0], range(50)))
    assert len(set(keys)) == 1


def test_the_configured_key_goes_before_the_stored_one_which_is_still_known(
    tmp_path: Path,
) -> None:
    stored = signing_keys(config(tmp_path))[0]
    own = config(tmp_path, AUDIT_KEY=OWN)
    assert list(signing_keys(own)) == [OWN.encode(), stored]


def test_a_new_key_is_put_above_the_old_one(tmp_path: Path) -> None:
    old = signing_keys(config(tmp_path))[0]
    (tmp_path / "audit.key").write_text(f"{OWN}\n\n{old.decode()}\n")
    assert list(signing_keys(config(tmp_path))) == [OWN.encode(), old]


def test_who_only_verifies_makes_no_key(tmp_path: Path) -> None:
    assert known_keys(config(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_could_be_guessed_stops_the_start_and_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"audit.key: .* has 6 characters and needs 32") as caught:
        signing_keys(config(tmp_path, AUDIT_KEY="secret"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"short\n", b"\xff" * 40])
def test_a_key_file_that_cannot_be_used_stops_the_start(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "audit.key").write_bytes(content)
    with pytest.raises(ConfigError, match=r"audit\.key"):
        signing_keys(config(tmp_path))


def test_a_folder_that_cannot_be_made_stops_the_start_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="openssl rand -hex 32"):
        signing_keys(config(tmp_path / "file" / "folder"))


# The log of a configuration.


def sink_of(log: AuditLog) -> str:
    return type(log._sink).__name__


@pytest.mark.parametrize(
    ("path", "is_stored", "expected"),
    [
        (None, True, "StoreSink"),
        (None, False, "FileSink"),
        ("audit.jsonl", True, "FileSink"),
        ("-", True, "StdoutSink"),
    ],
)
def test_the_trail_is_in_the_store_unless_there_is_a_path_or_no_store(
    tmp_path: Path, path: str | None, *, is_stored: bool, expected: str
) -> None:
    own = {} if path is None else {"AUDIT_PATH": path if path == "-" else str(tmp_path / path)}
    assert sink_of(audit_log(config(tmp_path, **own), is_stored=is_stored)) == expected


def test_without_a_trail_there_is_no_key(tmp_path: Path) -> None:
    assert sink_of(audit_log(config(tmp_path, AUDIT_ENABLED="no"), is_stored=True)) == "NoneType"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("days", "is_stored", "expected"),
    [("30", True, True), ("0", True, False), ("30", False, False), ("null", False, True)],
)
def test_a_file_keeps_details_if_they_are_kept_for_ever(
    tmp_path: Path, days: str, *, is_stored: bool, expected: bool
) -> None:
    log = audit_log(config(tmp_path, AUDIT_DETAIL_DAYS=days), is_stored=is_stored)
    assert log._keeps_details is expected


def test_before_response_a_file_is_on_the_disk_and_nobody_waits_for_company(
    tmp_path: Path,
) -> None:
    log = audit_log(config(tmp_path, AUDIT_DURABILITY="before_response"), is_stored=False)
    assert isinstance(log._sink, FileSink)
    assert log._sink._is_synced
    assert log._linger_s == 0
