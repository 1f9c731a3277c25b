"""The migrations of the tables, which Alembic runs."""

from typing import NoReturn


def downgrade() -> NoReturn:
    """Raise an error: there are no downgrades, since a revision may have deleted data."""
    raise NotImplementedError("There is no downgrade; restore the backup of before the upgrade.")
