"""Keys: where they are from, and the one that is made at the first start."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import parse
from groundwire.config.keys import key_hash
from groundwire.control.keys import Key, Keyring, new_key, read_keys
from groundwire.errors import ConfigError
from tests.gateway.keys import KEY, OTHER_KEY, write_keys


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


def test_the_keys_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert read_keys(path) is None
    write_keys(path, [Key("default", key_hash(KEY))])
    assert read_keys(path) == (Key("default", key_hash(KEY)),)


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
        read_keys(path)
    assert str(caught.value).startswith(f"{path}: the stored key cannot be read: ")
    assert "delete it to have a new key made" in str(caught.value)
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")
