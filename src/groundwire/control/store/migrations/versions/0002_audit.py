"""The audit trail."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make it."""
    op.create_table(
        "audit_records",
        sa.Column("writer", sa.String(32), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("moment", sa.BigInteger, nullable=False),
        sa.Column("tenant", sa.String(128), nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("trace_id", sa.String(64), nullable=False),
        sa.Column("line", sa.Text, nullable=False),
        sa.Column("detail_sha256", sa.String(64)),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("writer", "seq", name="pk_audit_records"),
    )
    for columns in (
        ("moment", "writer", "seq"),
        ("tenant", "moment", "writer", "seq"),
        ("tenant", "type", "moment", "writer", "seq"),
        ("type", "moment", "writer", "seq"),
        ("trace_id", "moment", "writer", "seq"),
        ("event_id",),
    ):
        op.create_index(f"ix_audit_records_{'_'.join(columns)}", "audit_records", list(columns))
    op.create_table(
        "audit_details",
        sa.Column("writer", sa.String(32), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("moment", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("writer", "seq", name="pk_audit_details"),
    )
    op.create_index("ix_audit_details_moment", "audit_details", ["moment"])
    op.create_table(
        "audit_writers",
        sa.Column("writer", sa.String(32), nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("writer", name="pk_audit_writers"),
    )
