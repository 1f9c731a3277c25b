"""Rows of the tables ↔ records."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from groundwire.control.keys import Role
from groundwire.control.store.moments import of_datetime, to_datetime
from groundwire.control.tenants.record import KeyRecord, TenantRecord
from groundwire.detection.values import FrozenMapping


def tenant_of(row: Row[Any], *, is_configured: bool = False) -> TenantRecord:
    """A tenant of its row."""
    return TenantRecord(
        id=row.id,
        name=row.name,
        metadata=FrozenMapping(row.metadata),
        policy=FrozenMapping(row.policy),
        created_at=to_datetime(row.created_at),
        updated_at=to_datetime(row.updated_at),
        version=row.version,
        is_configured=is_configured,
    )


def tenant_values(record: TenantRecord) -> Mapping[str, Any]:
    """The row of a tenant."""
    assert record.created_at is not None
    assert record.updated_at is not None
    return {
        "id": record.id,
        "name": record.name,
        "metadata": dict(record.metadata),
        "policy": dict(record.policy),
        "created_at": of_datetime(record.created_at),
        "updated_at": of_datetime(record.updated_at),
        "version": record.version,
    }


def key_of(row: Row[Any]) -> KeyRecord:
    """A key of its row."""
    return KeyRecord(
        id=row.id,
        sha256=row.sha256,
        tenant=row.tenant,
        role=None if row.role is None else Role(row.role),
        name=row.name,
        created_at=to_datetime(row.created_at),
        expires_at=_date(row.expires_at),
        revoked_at=_date(row.revoked_at),
        last_used_at=_date(row.last_used_at),
    )


def key_values(record: KeyRecord) -> Mapping[str, Any]:
    """The row of a key."""
    return {
        "id": record.id,
        "sha256": record.sha256,
        "tenant": record.tenant,
        "role": None if record.role is None else str(record.role),
        "name": record.name,
        "created_at": _moment(record.created_at),
        "expires_at": _moment(record.expires_at),
        "revoked_at": _moment(record.revoked_at),
        "last_used_at": _moment(record.last_used_at),
    }


def _date(moment: int | None) -> datetime | None:
    return None if moment is None else to_datetime(moment)


def _moment(date: datetime | None) -> int | None:
    return None if date is None else of_datetime(date)
