"""Migrations of the tables, for Alembic."""

from typing import NoReturn


def downgrade() -> NoReturn:
    """There is no way back: what a revision has thrown away cannot be made up."""
    raise NotImplementedError("There is no downgrade; restore the backup of before the upgrade.")
