"""The database behind the control plane: SQLite in a file, or PostgreSQL.

``tables`` defines the tables, ``migrations`` and ``migrate`` bring older ones up to date, ``store``
has transactions, and ``errors`` defines what they raise. They use ``address``, which reads URLs,
``engines`` and ``threads``, which connect, ``sqlite``, which makes and opens files, and ``faults``,
which turns errors of drivers into those of ``errors``.
"""

from groundwire.control.store.errors import StoreError
from groundwire.control.store.store import Store

__all__ = ["Store", "StoreError"]
