"""Stands for the tables of version 0.1.0, from which the first migration begins."""

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0006"
down_revision = None
