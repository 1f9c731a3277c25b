"""An iterator with something to be done at its end."""

from collections.abc import AsyncGenerator, Awaitable, Callable


class Closing:
    """Pieces of a body, and what is done once nobody wants more of them.

    A generator that was never begun runs none of its ``finally`` blocks when it is closed, and a
    client may leave before the first byte.
    """

    def __init__(self, pieces: AsyncGenerator[bytes], close: Callable[[], Awaitable[None]]) -> None:
        """Begin.

        Args:
            pieces: The pieces.
            close: Called once, when the iterator is closed.
        """
        self._pieces, self._close = pieces, close
        self._is_closed = False

    def __aiter__(self) -> "Closing":
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """Close it, begun or not; harmless when done twice."""
        if not self._is_closed:
            self._is_closed = True
            try:
                await self._pieces.aclose()
            finally:
                await self._close()
