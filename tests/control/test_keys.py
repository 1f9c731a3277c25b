"""Keys: where they are from, and the one that is made at the first start."""

from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import parse
from groundwire.config.keys import key_hash
from groundwire.control.keys import new_key
from groundwire.control.tenants.directory import Directory
from tests.gateway.keys import KEY, OTHER_KEY


def test_a_key_is_32_random_bytes() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("gw_") and len(key) == 3 + 43 for key in keys)


def test_a_key_is_found_by_its_hash_alone() -> None:
    config = parse(
        f"tenants: {{acme: {{keys: 'sha256:{key_hash(OTHER_KEY)}'}}, b: {{keys: {KEY}}}}}", name=""
    )
    keyring = Directory(config)
    found = keyring.find(OTHER_KEY.encode())
    assert found is not None
    assert found.tenant == "acme"
    assert set(keyring) == {"acme", "b"}
    assert keyring.find(f"sha256:{key_hash(OTHER_KEY)}".encode()) is None
    assert keyring.find(KEY[:-1].encode()) is None
    assert KEY not in repr(keyring.configured)


@given(st.binary(max_size=60))
def test_no_other_bytes_are_a_key(given_key: bytes) -> None:
    keyring = Directory(parse(f"tenants: {{a: {{keys: {KEY}}}}}", name=""))
    assert (keyring.find(given_key) is None) == (given_key != KEY.encode())
