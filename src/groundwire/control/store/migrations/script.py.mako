"""${message}."""

import sqlalchemy as sa
from alembic import op

from groundwire.control.store.migrations import downgrade as downgrade

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make it so."""
    ${upgrades if upgrades else "pass"}
