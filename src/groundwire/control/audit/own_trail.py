"""Refuses to write into an existing audit trail if no key of this process has signed any of it.

A gateway refuses only without a configured key, see :func:`refuses_foreign`. A command that records
a change in the store refuses with a configured key, too. If the trail is verified without this
process's key, this process's chain is reported as foreign. So a wrong key, such as that of another
user, has to be noticed before anything is written.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from groundwire.config import Config
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.signing import signing_keys
from groundwire.control.store import Store
from groundwire.control.store.errors import StoreUnusableError
from groundwire.control.store.tables import audit_writers


class ForeignTrailError(StoreUnusableError):
    """The store has a trail in which no chain is signed with a key of this process."""


def refuses_foreign(config: Config) -> bool:
    """Return whether a gateway with this configuration refuses a trail that its keys did not sign.

    A gateway that made its key itself refuses such a trail, since its key may be the wrong one. A
    configured key may be new because the old one is lost, so any trail is then accepted. If
    ``audit.path`` is set or ``audit.enabled`` is false, no trail is refused.
    """
    own = config.audit
    return own.enabled and own.path is None and own.key is None


async def check_start(store: Store, config: Config) -> None:
    """Check that a gateway may write into the trail of its store.

    Raises:
        ForeignTrailError: If the gateway must not write into the trail: see
            :func:`refuses_foreign`.
        StoreError: If the database fails.
        ConfigError: If the keys cannot be read, used or made.
    """
    if refuses_foreign(config):
        keys = signing_keys(config)
        async with store.reading() as connection:
            await check_own(connection, keys)


async def check_own(connection: AsyncConnection, keys: Sequence[bytes]) -> None:
    """Check that there is no trail yet, or that one of the keys has signed a chain of the trail.

    One chain is enough, since replicas with other keys may have signed other chains.

    Raises:
        ForeignTrailError: If there is a trail, and none of the keys has signed any chain.
    """
    found = await connection.execute(select(audit_writers))
    rows = [HeadRow.read(row) for row in found.mappings()]
    if rows and not any(row is not None and row.is_signed(keys) for row in rows):
        raise ForeignTrailError(
            f"none of the keys here (audit.key) has signed any of the {len(rows):,} chains of its "
            "audit trail",
            "Set audit.key (GROUNDWIRE_AUDIT_KEY) to what the trail is signed with, or name the "
            "configuration that has it with --config. Is that key lost for good, start the gateway "
            "with a new audit.key: the trail so far can then not be verified any more",
        )
