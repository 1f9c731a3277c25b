"""Adds to labels what was found in their answer, which outlives the details of the trail."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column ``facts`` to the table ``labels``."""
    op.add_column("labels", sa.Column("facts", sa.JSON))
