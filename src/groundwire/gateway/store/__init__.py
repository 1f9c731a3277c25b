"""The database behind the control plane: SQLite in a file, or PostgreSQL.

``tables`` says what is kept, ``migrations`` how that came about, ``store`` connects, ``errors``
says what went wrong.
"""

from groundwire.gateway.store.errors import (
    ConflictError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreVersionError,
)
from groundwire.gateway.store.store import Store

__all__ = [
    "ConflictError",
    "Store",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "StoreVersionError",
]
