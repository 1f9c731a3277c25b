"""Values that are made when they are first needed."""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

_T = TypeVar("_T")

#: Seconds from a failed attempt to make a value until the next attempt is allowed.
RETRY_S = 30.0


class Lazy(Generic[_T]):
    """A value that is made once, when it is first needed, even if several threads ask for it."""

    def __init__(self, make: Callable[[], _T]) -> None:
        """Keep the function that makes the value; the function is not called yet."""
        self._make = make
        self._lock = Lock()
        self._made: list[_T] = []
        self._failure: Exception | None = None
        self._failed_at = 0.0

    def get(self) -> _T:
        """Return the value; make it if necessary.

        Raises:
            Exception: The error that ``make`` raised, now or less than :data:`RETRY_S` ago.
        """
        with self._lock:
            if self._made:
                return self._made[0]
            if self._failure is not None and monotonic() - self._failed_at < RETRY_S:
                raise self._failure.with_traceback(None)
            try:
                value = self._make()
            except Exception as error:
                self._failure, self._failed_at = error, monotonic()
                raise
            self._made, self._failure = [value], None
            return value
