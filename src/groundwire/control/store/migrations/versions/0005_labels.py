"""Adds the table of labels that reviewers give to recorded answers."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table ``labels``."""
    op.create_table(
        "labels",
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(128), nullable=False),
        sa.Column("labelled_at", sa.BigInteger, nullable=False),
        sa.Column("marks", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("event_id", "account", name="pk_labels"),
    )
    op.create_index("ix_labels_account_labelled_at", "labels", ["account", "labelled_at"])
    op.create_index("ix_labels_tenant_event_id", "labels", ["tenant", "event_id"])
