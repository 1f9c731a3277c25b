"""Defines the first revision of the tables, from which the first migration begins."""

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0006"
down_revision = None
