"""Adds the tables that count answers, and times that checks take."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables ``activity`` and ``check_times``."""
    op.create_table(
        "activity",
        sa.Column("slot", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("tenant", sa.String(128), nullable=False),
        sa.Column("model", sa.String(128), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("slot", "tenant", "model", "outcome", "action", name="pk_activity"),
    )
    op.create_table(
        "check_times",
        sa.Column("slot", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("stage", sa.String(16), nullable=False),
        sa.Column("range", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("slot", "stage", "range", name="pk_check_times"),
    )
