"""Adds the tables of the console's accounts and of their sessions."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables ``accounts`` and ``sessions``."""
    op.create_table(
        "accounts",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("signed_in_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("name", name="pk_accounts"),
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_sessions"),
        sa.ForeignKeyConstraint(
            ["account"], ["accounts.name"], name="fk_sessions_account", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_sessions_account", "sessions", ["account"])
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
