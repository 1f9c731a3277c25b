"""The errors of the store, in one family.

::

    StoreError                         the base; raised directly if a statement is refused
    ├── StoreUnavailableError          passing: the database cannot be reached, or does not work
    ├── StoreBusyError                 passing: the database is locked, or too busy
    ├── StoreFullError                 passing: there is no room to write
    └── StoreUnusableError             the database cannot be used as it is set up
        └── StoreVersionError          a later version of Groundwire made its tables

A passing error may go away by itself, so that it makes sense to try again. No message contains a
password, or a value that should have been stored.
"""

from typing import ClassVar

from groundwire.errors import GroundwireError


class StoreError(GroundwireError):
    """The database failed. It kept nothing of the transaction, unless a subclass says otherwise."""

    #: Whether another attempt may succeed without any change by people.
    is_passing: ClassVar[bool] = False

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        text = f"The store failed: {self.problem}."
        return f"{text} {self.remedy}." if self.remedy else text


class StoreUnavailableError(StoreError):
    """The database cannot be reached or does not work, or the store is not open.

    If the database fails during a commit, nobody knows whether the transaction was kept.
    """

    is_passing = True


class StoreBusyError(StoreError):
    """The database is locked or too busy, or no connection is free."""

    is_passing = True


class StoreFullError(StoreError):
    """The database has no room to write."""

    is_passing = True


class StoreUnusableError(StoreError):
    """The database cannot be used as it is set up: people have to change something."""


class StoreVersionError(StoreUnusableError):
    """A later version of Groundwire made or changed the tables."""
