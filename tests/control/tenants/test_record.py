"""Tenants and keys as values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.control.tenants.record import KeyRecord, KeyStatus, NewKey, TenantRecord, over
from groundwire.policy.policy import Action, OnError, Overrides

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SHA256 = "ab" * 32


def tenant(**own: Any) -> TenantRecord:  # noqa: ANN401 - its fields
    return TenantRecord(id="acme", version=1, **own)


def test_the_policy_comes_before_the_metadata() -> None:
    record = tenant(
        policy={"action": "header", "min_severity": 2},
        metadata={"grounding.action": "BLOCK", "grounding.enabled": "yes"},
    )
    assert record.overrides == Overrides(action=Action.HEADER, min_severity=2, enabled=True)
    assert record.warnings == ()


def test_metadata_that_cannot_be_meant_is_inherited_with_a_warning() -> None:
    record = tenant(
        metadata={
            "grounding.action": "blok",
            "grounding.max-sources": "fifty",
            "grounding.similarity-threshold": "0.5",
            "color": "blue",
        }
    )
    assert record.overrides == Overrides()
    action, limit, threshold = record.warnings
    assert "'blok' is not possible; did you mean 'block'?" in action
    assert limit.startswith("grounding.max-sources = 'fifty' is not possible.")
    assert "cannot be set per tenant" in threshold


def test_of_a_stored_policy_that_cannot_be_read_the_rest_counts() -> None:
    record = tenant(policy={"action": "block", "later": 1, "on_error": "explode"})
    assert record.overrides == Overrides(action=Action.BLOCK)
    later, on_error = record.warnings
    assert "there is no field 'later'" in later
    assert "on_error = 'explode' is not possible" in on_error


OVERRIDES = st.builds(
    Overrides,
    action=st.none() | st.sampled_from(Action),
    on_error=st.none() | st.sampled_from(OnError),
    enabled=st.none() | st.booleans(),
    max_sources=st.none() | st.integers(0, 3),
)


@given(OVERRIDES, st.none() | OVERRIDES)
def test_the_first_that_says_something_counts(first: Overrides, second: Overrides | None) -> None:
    both = over(first, second)
    for name in ("action", "on_error", "enabled", "max_sources", "explain"):
        own, inherited = getattr(first, name), getattr(second, name, None)
        assert getattr(both, name) == (inherited if own is None else own)


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "status"),
    [
        (None, None, KeyStatus.ACTIVE),
        (NOON + timedelta(seconds=1), None, KeyStatus.ACTIVE),
        (NOON, None, KeyStatus.EXPIRED),
        (None, NOON, KeyStatus.REVOKED),
        (None, NOON + timedelta(days=1), KeyStatus.REVOKED),  # a clock that jumped back
        (NOON, NOON, KeyStatus.REVOKED),
    ],
)
def test_a_key_is_active_until_it_expires_or_is_revoked(
    expires_at: datetime | None, revoked_at: datetime | None, status: KeyStatus
) -> None:
    key = KeyRecord(sha256=SHA256, tenant="acme", expires_at=expires_at, revoked_at=revoked_at)
    assert key.status_at(NOON) == status


def test_neither_a_key_nor_its_hash_is_in_what_is_printed() -> None:
    new = NewKey(record=KeyRecord(sha256=SHA256, tenant="acme"), secret="gw_secret")
    assert "gw_secret" not in repr(new) + str(new)
    assert SHA256 not in repr(new)
