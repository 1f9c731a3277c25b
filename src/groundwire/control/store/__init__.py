"""The database behind the control plane: SQLite in a file, or PostgreSQL.

``tables`` says what is kept, ``migrations`` how that came about, ``store`` has transactions,
``errors`` what goes wrong. Below them ``address`` reads URLs, ``engines`` connects, ``sqlite``
looks after files, ``faults`` tells what drivers raise.
"""

from groundwire.control.store.errors import (
    ConflictError,
    MissingReferenceError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
    StoreVersionError,
)
from groundwire.control.store.opening import wait_until_open
from groundwire.control.store.store import Store

__all__ = [
    "ConflictError",
    "MissingReferenceError",
    "Store",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "StoreUnusableError",
    "StoreVersionError",
    "wait_until_open",
]
