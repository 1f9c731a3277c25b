"""The tables of version 0.1.0, which a new database gets without a migration."""

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0006"
down_revision = None
