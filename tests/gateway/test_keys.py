"""Keys: where they are from, and the one that is made at the first start."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import Config, parse
from groundwire.config.keys import key_hash
from groundwire.errors import ConfigError
from groundwire.gateway.keys import Key, Keyring, new_key, prepare_keys, read_keys, write_keys
from tests.gateway.keys import KEY, OTHER_KEY


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_32_random_bytes() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("gw_") and len(key) == 3 + 43 for key in keys)


def test_a_key_is_called_by_the_begin_of_its_hash() -> None:
    assert Key("acme", key_hash(KEY)).key_id == key_hash(KEY)[:12]


def test_a_key_is_found_by_its_hash_alone() -> None:
    config = parse(
        f"tenants: {{acme: {{keys: 'sha256:{key_hash(OTHER_KEY)}'}}, b: {{keys: {KEY}}}}}", name=""
    )
    keyring = Keyring.of(config)
    found = keyring.find(OTHER_KEY.encode())
    assert found is not None
    assert found.tenant == "acme"
    assert keyring.tenants == ("acme", "b")
    assert keyring.find(f"sha256:{key_hash(OTHER_KEY)}".encode()) is None
    assert keyring.find(KEY[:-1].encode()) is None
    assert KEY not in repr(keyring.keys)


@given(st.binary(max_size=60))
def test_no_other_bytes_are_a_key(given_key: bytes) -> None:
    keyring = Keyring([Key("a", key_hash(KEY))])
    assert (keyring.find(given_key) is None) == (given_key != KEY.encode())


def test_the_first_start_makes_a_key_and_keeps_its_hash(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    start = prepare_keys(Config(), folder)
    assert start.new_key is not None
    assert start.path == folder / "keys.json"
    assert start.new_key not in (folder / "keys.json").read_text(encoding="utf-8")
    found = start.keyring.find(start.new_key.encode())
    assert found is not None
    assert found.tenant == "default"
    assert [path.name for path in folder.iterdir()] == ["keys.json"]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    prepare_keys(Config(), tmp_path / "folder")
    assert mode(tmp_path / "folder") == 0o700
    assert mode(tmp_path / "folder" / "keys.json") == 0o600


def test_the_next_start_takes_the_same_key_and_does_not_know_it(tmp_path: Path) -> None:
    first = prepare_keys(Config(), tmp_path)
    second = prepare_keys(Config(), tmp_path)
    assert first.new_key is not None
    assert second.new_key is None
    assert second.is_used
    assert second.keyring.find(first.new_key.encode()) is not None


def test_keys_of_the_configuration_are_all_there_is(tmp_path: Path) -> None:
    stored = prepare_keys(Config(), tmp_path)
    assert stored.new_key is not None
    start = prepare_keys(parse(f"tenants: {{acme: {{keys: {KEY}}}}}", name=""), tmp_path)
    assert start.keyring.find(stored.new_key.encode()) is None
    assert (start.is_used, start.path) == (False, tmp_path / "keys.json")


def test_of_two_first_starts_at_once_one_makes_the_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert write_keys(path, [Key("default", key_hash(KEY))])
    assert not write_keys(path, [Key("default", key_hash(OTHER_KEY))])
    assert read_keys(path) == (Key("default", key_hash(KEY)),)
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 2, "keys": []}',
        '{"version": 1, "keys": []}',
        '{"version": 1, "keys": [{"tenant": "a", "sha256": "ab"}]}',
        '{"version": 1, "keys": [{"tenant": "a", "sha256": "zz"}]}',
        '{"version": 1, "keys": [{"tenant": "a"}]}',
        '{"version": 1, "keys": 3}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError) as caught:
        prepare_keys(Config(), tmp_path)
    assert str(caught.value).startswith(f"{path}: the stored key cannot be read: ")
    assert "delete it to have a new key made" in str(caught.value)
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_what_is_stored_is_a_hash_and_a_date(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.json", [Key("default", key_hash(KEY))])
    data = json.loads((tmp_path / "keys.json").read_text(encoding="utf-8"))
    assert data["version"] == 1
    assert set(data["keys"][0]) == {"tenant", "sha256", "created"}
