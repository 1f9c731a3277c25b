"""Tenants, their keys and those of the admin plane."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(128), nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("policy", sa.JSON, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(128)),
        sa.Column("role", sa.String(16)),
        sa.Column("name", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("last_used_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("sha256", name="uq_keys_sha256"),
        sa.ForeignKeyConstraint(
            ["tenant"], ["tenants.id"], name="fk_keys_tenant", ondelete="CASCADE"
        ),
        sa.CheckConstraint("(tenant IS NULL) <> (role IS NULL)", name=op.f("ck_keys_owner")),
    )
    op.create_index("ix_keys_tenant", "keys", ["tenant"])
    changes = op.create_table(
        "changes",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_changes"),
        sa.CheckConstraint("id = 1", name=op.f("ck_changes_single")),
    )
    op.bulk_insert(changes, [{"id": 1, "revision": 0}])
