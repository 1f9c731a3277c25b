"""What goes wrong with a database: it cannot be reached, is busy, is full, has it already."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from groundwire.errors import GroundwireError


class StoreError(GroundwireError):
    """The database did not do what was asked; nothing of the transaction was kept."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"The store failed: {self.problem}."


class StoreUnavailableError(StoreError):
    """The database cannot be reached, or broke the connection off: whether it kept what was
    written last is not known."""  # noqa: D205, D209


class StoreBusyError(StoreError):
    """Another writer has held the database for too long."""


class StoreFullError(StoreError):
    """There is no room to write."""


class StoreVersionError(StoreError):
    """The database was made by a later version of Groundwire."""


class ConflictError(StoreError):
    """What was to be made is there already."""


@contextmanager
def told() -> Iterator[None]:
    """Turn what SQLAlchemy and the drivers raise into ours.

    Raises:
        StoreError: In place of theirs, whose messages may hold what was to be stored.
    """
    try:
        yield
    except exc.IntegrityError as error:
        raise ConflictError("it is there already") from error
    except (exc.SQLAlchemyError, OSError, TimeoutError) as error:
        raise _told(error) from error


def _told(error: Exception) -> StoreError:
    text = str(getattr(error, "orig", None) or error).lower()
    kind = type(getattr(error, "orig", None) or error).__name__
    if "is full" in text or "no space" in text or "disk full" in kind.lower():
        return StoreFullError("no room is left to write")
    if "is locked" in text or "is busy" in text:
        return StoreBusyError("another writer holds it")
    return StoreUnavailableError(f"it cannot be used ({kind})")
