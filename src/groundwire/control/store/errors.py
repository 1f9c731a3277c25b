"""The errors of the store, in one family.

::

    StoreError                         also on its own: it takes no such row
    ├── StoreUnavailableError          passing: it cannot be reached, or broke the connection off
    ├── StoreBusyError                 passing: others hold it, or all connections to it
    ├── StoreFullError                 passing: there is no room to write
    ├── StoreUnusableError             as it is set up, it can never be used
    │   └── StoreVersionError          a later version of Groundwire made its tables
    ├── ConflictError                  what was to be made is there already
    └── MissingReferenceError          what a row refers to is not there

What passes may do so with nothing changed, so that trying again has a point. No message holds a
password, or anything that was to be stored.
"""

from typing import ClassVar

from groundwire.errors import GroundwireError


class StoreError(GroundwireError):
    """The database failed; nothing of the transaction was kept."""

    #: Whether a second attempt may succeed with nothing changed.
    is_passing: ClassVar[bool] = False

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        text = f"The store failed: {self.problem}."
        return f"{text} {self.remedy}." if self.remedy else text


class StoreUnavailableError(StoreError):
    """The database cannot be reached, or broke the connection off.

    If that was while a transaction was being kept, whether it was is not known.
    """

    is_passing = True


class StoreBusyError(StoreError):
    """Others have held the database, or all connections to it, for too long."""

    is_passing = True


class StoreFullError(StoreError):
    """There is no room to write."""

    is_passing = True


class StoreUnusableError(StoreError):
    """As it is set up, the database cannot be used: somebody has to change something."""


class StoreVersionError(StoreUnusableError):
    """The database was made by a later version of Groundwire."""


class ConflictError(StoreError):
    """A row with this key exists already."""


class MissingReferenceError(StoreError):
    """A row refers to another that does not exist."""
