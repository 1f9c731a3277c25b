"""The database behind the control plane: SQLite in a file, or PostgreSQL.

``tables`` defines the tables, ``migrations`` and ``migrate`` bring older tables up to date,
``store`` has transactions, and ``opening`` opens databases for gateways and commands. ``address``
reads URLs, ``engines`` and ``threads`` connect, ``sqlite`` makes and opens files, and ``faults``
turns errors of drivers into those of ``errors``, as ``faults.toml`` lists them.
"""

from groundwire.control.store.errors import StoreError
from groundwire.control.store.store import Store

__all__ = ["Store", "StoreError"]
