"""Adds the owner's identity at an OpenID Connect provider to accounts."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add ``issuer`` and ``subject``, and their unique index, to the table ``accounts``."""
    op.add_column("accounts", sa.Column("issuer", sa.String(512)))
    op.add_column("accounts", sa.Column("subject", sa.String(255)))
    op.create_index("ix_accounts_issuer_subject", "accounts", ["issuer", "subject"], unique=True)
