"""Whose trail is in a store: who has none of its keys adds nothing to it.

A chain that is signed with a key that those who verify do not have looks forged. So a key of
another folder, of another replica or of another user is noticed before anything is written.
"""

import hmac
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config import Config
from groundwire.control.audit.chain import record_mac
from groundwire.control.audit.event import EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.signing import signing_keys
from groundwire.control.folder import data_folder
from groundwire.control.store import Store, StoreUnusableError
from groundwire.control.store.tables import audit_records, audit_writers

#: Chains whose beginnings are looked at, the latest first.
_MAX_BEGINNINGS = 1000


class ForeignTrailError(StoreUnusableError):
    """The trail in the store is there, and all of it is signed with other keys than ours."""

    def __init__(self, n_chains: int) -> None:
        super().__init__(
            f"none of the keys here (audit.key) has signed any of the {n_chains:,} chains of its "
            "audit trail",
            "Set audit.key (GROUNDWIRE_AUDIT_KEY) to what the trail is signed with, or name the "
            "configuration that has it with --config. Is that key lost for good, start the gateway "
            "with a new audit.key: the trail so far can then not be verified any more",
        )
        self.n_chains = n_chains

    def __reduce__(self) -> tuple[type["ForeignTrailError"], tuple[int]]:
        return type(self), (self.n_chains,)


def refuses_foreign(config: Config) -> bool:
    """Whether a gateway of this configuration refuses a trail that its key has not signed.

    A key that was made by itself knows nothing of other gateways; one that somebody has set is
    meant, and is the way on where the old one is lost.
    """
    own = config.audit
    return own.enabled and own.path is None and own.key is None


async def check_start(store: Store, config: Config) -> None:
    """Make sure that a gateway may write into the trail of its store.

    Raises:
        ForeignTrailError: If it may not.
        StoreError: If the database fails.
    """
    if refuses_foreign(config):
        keys = signing_keys(config, data_folder(config))
        async with store.reading() as connection:
            await check_own(connection, keys)


async def check_own(connection: AsyncConnection, keys: Sequence[bytes]) -> None:
    """Make sure that there is no trail, or one that a key of these has a part in.

    One end or one beginning is enough: others may be of replicas with keys of their own, or
    changed by somebody, which must not keep anybody out.

    Raises:
        ForeignTrailError: If there is one, and nothing of that is signed with any of them.
    """
    n_chains = 0
    found = await connection.execute(
        select(audit_writers).order_by(audit_writers.c.started_at.desc())
    )
    for row in found.mappings():
        head = HeadRow.read(dict(row))
        if head is not None and head.is_signed(keys):
            return
        n_chains += 1
    if n_chains and not await _has_beginning(connection, keys):
        raise ForeignTrailError(n_chains)


async def _has_beginning(connection: AsyncConnection, keys: Sequence[bytes]) -> bool:
    """Whether one of the last chains that are there from their beginning began with a key."""
    columns = audit_records.c
    found = await connection.execute(
        select(columns.writer, columns.previous, columns.line, columns.mac)
        .where(columns.type == str(EventType.CHAIN_STARTED), columns.seq == 1)
        .order_by(columns.moment.desc())
        .limit(_MAX_BEGINNINGS)
    )
    return any(
        _is_beginning(key, *row)
        for row in found
        if all(isinstance(value, str) for value in row)  # SQLite takes others
        for key in keys
    )


def _is_beginning(key: bytes, writer: str, previous: str, line: str, mac: str) -> bool:
    own = record_mac(
        key, writer=writer, seq=1, previous=previous, line=line, detail_sha256=None
    ).encode()
    return hmac.compare_digest(own, mac.encode("utf-8", "surrogatepass"))
