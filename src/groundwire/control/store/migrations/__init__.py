"""Migrations of the tables, for Alembic."""

from typing import NoReturn


def downgrade() -> NoReturn:
    """Downgrades are not possible: a revision may have deleted data."""
    raise NotImplementedError("There is no downgrade; restore the backup of before the upgrade.")
