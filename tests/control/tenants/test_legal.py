"""What a tenant and a key may be."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import read_overrides
from groundwire.config.tenants import KINDS
from groundwire.control.tenants.errors import InvalidKeyError, InvalidTenantError
from groundwire.control.tenants.legal import (
    MAX_METADATA_KEYS,
    is_id,
    merge,
    merge_metadata,
    read_expiry,
    read_id,
    read_metadata,
    read_name,
    read_policy,
)
from groundwire.errors import ConfigError
from groundwire.policy.policy import Action, OnError

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
WEST = timezone(timedelta(hours=-12))


@pytest.mark.parametrize("id_", ["a", "7", "acme", "Acme-1.b_c:d@e", "a" * 128])
def test_an_id_is_letters_digits_and_a_few_signs(id_: str) -> None:
    assert read_id(id_) == id_


@pytest.mark.parametrize(
    "id_", ["", "-a", ".a", "a b", "a/b", "a\n", "ä", "a\0", "\udc80", "a" * 129, None, 3, ["a"]]
)
def test_what_else_is_no_id(id_: object) -> None:
    with pytest.raises(InvalidTenantError, match=r"^id: .* it must be 1 to 128 letters, digits"):
        read_id(id_)


@given(st.text(max_size=300))
def test_a_message_about_an_id_is_short_and_can_be_printed(text: str) -> None:
    if not is_id(text):
        with pytest.raises(InvalidTenantError) as caught:
            read_id(text)
        message = str(caught.value)
        assert message.isprintable()
        assert len(message) < 1000


def test_a_name_is_one_line() -> None:
    assert read_name(" Acme Corp. ") == "Acme Corp."
    assert read_name(None) is read_name("  ") is None
    for name in ("a\nb", "\x1b[31m", "a\0", "\udc80", "x" * 201, 3):
        with pytest.raises(InvalidTenantError, match="one line of up to 200 printable characters"):
            read_name(name)


def test_metadata_are_texts_and_other_scalars_are_kept_as_texts() -> None:
    given = {
        "grounding.enabled": True,
        "grounding.action": "BLOCK",
        "grounding.max-sources": 20,
        "share": 0.5,
        "off": False,
        "gone": None,
    }
    assert read_metadata(given) == {
        "grounding.enabled": "true",
        "grounding.action": "BLOCK",
        "grounding.max-sources": "20",
        "share": "0.5",
        "off": "false",
        "gone": None,
    }


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"a": ["b"]}, "the value of 'a' must be a text, a number, true, false, or null"),
        ({"a": {"b": "c"}}, "lists and objects are not kept"),
        ({"a": float("nan")}, "must be a text, a number"),
        ({"a": 10**5000}, "must be a text, a number"),
        ({"a": "x" * 1025}, "has 1,025 characters and may have 1,024"),
        ({"a": "\0"}, "it has NUL, or half a surrogate pair"),
        ({"a": "\ud800"}, "it has NUL, or half a surrogate pair"),
        ({"": "a"}, "the key '' must be a text of 1 to 128 printable"),
        ({"k" * 129: "a"}, "must be a text of 1 to 128 printable"),
        ({"\x1b[2J": "a"}, "must be a text of 1 to 128 printable"),
        ({str(n): "a" for n in range(101)}, "it has 101 keys and may have 100"),
    ],
)
def test_metadata_that_no_store_would_keep_are_refused(
    metadata: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidTenantError) as caught:
        read_metadata(metadata)
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


def test_merging_puts_some_keys_removes_some_and_leaves_the_others() -> None:
    before = {"a": "1", "b": "2", "c": "3"}
    assert merge_metadata(before, {"b": None, "c": "4", "d": None}) == {"a": "1", "c": "4"}


def test_metadata_do_not_grow_without_end() -> None:
    before = {f"old {n}": "" for n in range(MAX_METADATA_KEYS)}
    assert merge_metadata(before, {"new": "", "old 0": None})
    with pytest.raises(InvalidTenantError, match="it would have 101 keys and may have 100"):
        merge_metadata(before, {"new": ""})


POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "action": st.sampled_from([each.value for each in Action]),
        "contradicted_action": st.sampled_from([each.value for each in Action]),
        "on_error": st.sampled_from([each.value for each in OnError]),
        "min_severity": st.integers(0, 4),
        "explain": st.booleans(),
        "max_sources": st.integers(0, 2**40),
    },
)


@given(POLICIES)
def test_a_policy_is_stored_as_json_that_reads_back_the_same(policy: dict[str, Any]) -> None:
    stored = json.loads(json.dumps(merge({}, read_policy(policy))))
    assert stored == policy
    assert read_overrides(stored) == read_overrides(policy)


def test_other_spellings_are_stored_as_ours() -> None:
    assert read_policy({"action": "REJECT", "enabled": "on", "min_severity": "3"}) == {
        "action": "block",
        "enabled": True,
        "min_severity": 3,
    }


def test_a_field_that_is_null_is_unset() -> None:
    assert merge({"action": "log", "explain": True}, read_policy({"action": None})) == {
        "explain": True
    }


def test_a_policy_that_cannot_be_meant_is_refused_with_what_is_possible() -> None:
    with pytest.raises(ConfigError) as caught:
        read_policy({"action": "blok", "min_severity": 9, "acton": None, "explain": [1]})
    assert caught.value.problems == (
        "action = 'blok' is not possible; did you mean 'block'? It must be one of none, log, flag, "
        "header, body, repair, block (also metadata, warn, reject, raise).",
        "min_severity = 9 is not possible. It must be a whole number, from 0 to 4.",
        f"there is no field 'acton'; did you mean 'action'? Known: {', '.join(KINDS)}.",
        "explain = [1] is not possible. It must be true or false (also yes, no, on, off).",
    )


def test_a_policy_too_long_to_be_meant_is_not_gone_through() -> None:
    for policy in ({str(n): n for n in range(1000)}, {"x" * 100_000: 1}):
        with pytest.raises(InvalidTenantError, match="too long to be meant; its fields are ena"):
            read_policy(policy)


def test_a_key_ends_at_a_moment_to_come() -> None:
    later = NOON + timedelta(hours=1)
    assert read_expiry(later, now=NOON) == later
    assert read_expiry(None, now=NOON) is None
    with pytest.raises(InvalidKeyError, match="it is past: it is 2030-01-01T12:00:00Z now"):
        read_expiry(NOON, now=NOON)
    with pytest.raises(InvalidKeyError, match="it has no time zone; add Z, or an offset"):
        read_expiry(datetime(2031, 1, 1), now=NOON)
    with pytest.raises(InvalidKeyError, match="no date that can be kept"):
        read_expiry(datetime.max.replace(tzinfo=WEST), now=NOON)
