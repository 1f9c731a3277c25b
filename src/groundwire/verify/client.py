"""The official client of chat completions, so bounded that no endpoint can hold its caller.

The client's own timeout is of each read: an endpoint that sends a byte now and then is never over
it. Here a call has so many seconds as a whole, a pause that the endpoint asks for no more of them,
and a reply so many bytes. What cannot be cut short from another thread can be cancelled on an event
loop, so the calls run on one, in a thread of its own.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from email.utils import mktime_tz, parsedate_tz
from importlib import import_module
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from groundwire.config.kinds import is_loopback
from groundwire.errors import MissingExtraError

_T = TypeVar("_T")

#: Bytes of a reply that are read; what is longer is cut, and so is no JSON.
MAX_REPLY_BYTES = 16 * 2**20

#: Tells the official client, if it is "false", not to call again.
_RETRIES = "x-should-retry"

#: What no longer holds of a content that was read and unpacked.
_OF_TRANSFER = ("content-encoding", "content-length", "transfer-encoding")


class ChatClient:
    """Calls an endpoint, and goes nowhere but to its base URL. Safe to share between threads."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout_s: float, max_retries: int, what: str
    ) -> None:
        """Open nothing yet.

        Args:
            base_url: Of the endpoint.
            api_key: Sent with each call.
            timeout_s: That one try may take, from the connection to the last byte.
            max_retries: Calls are made again this often, after 429, 5xx, and connections that fail
                or take too long; not if the endpoint asks for a pause longer than ``timeout_s``.
            what: Who needs it, for the error.

        Raises:
            MissingExtraError: If the official client is not installed.
        """
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError(what, "verify") from error
        self.base_url = base_url
        self._client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=max_retries,
            http_client=_bounded(
                timeout_s, follow_redirects=False, trust_env=not is_loopback(base_url)
            ),
        )
        self._lock, self._is_closed = Lock(), False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def create(self, body: Mapping[str, Any]) -> bytes:
        """Make a call; the reply as it came.

        Raises:
            Exception: Whatever the official client raises.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("The client is closed.")
            call = self._start(self._create(body))
        return call.result()

    def close(self) -> None:
        """Cancel what is under way, and close the connections."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            if was_closed or self._loop is None or self._thread is None:
                return
            end = self._start(self._end())
        end.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(
                target=self._loop.run_forever, name="groundwire-client", daemon=True
            )
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _create(self, body: Mapping[str, Any]) -> bytes:
        reply = await self._client.chat.completions.with_raw_response.create(**body)
        content: bytes = reply.content
        return content

    async def _end(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._client.close()


def _bounded(timeout_s: float, **options: Any) -> Any:  # noqa: ANN401  # httpx's, or httpx2's
    import openai

    class Bounded(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:  # noqa: ANN401
            try:
                async with asyncio.timeout(timeout_s):
                    response = await super().send(request, **{**options, "stream": True})
                    try:
                        content = await _content(response)
                    finally:
                        await response.aclose()
            except TimeoutError as error:  # to the official client it is one of its own
                library = import_module(type(request).__module__.partition(".")[0])
                raise library.ReadTimeout("The call took too long.", request=request) from error
            is_long = _pause_s(response.headers) > timeout_s
            dropped = (*_OF_TRANSFER, _RETRIES) if is_long else _OF_TRANSFER
            headers = [
                (name, value)
                for name, value in response.headers.multi_items()
                if name.lower() not in dropped
            ]
            headers += [(_RETRIES, "false")] if is_long else []
            return type(response)(
                response.status_code, headers=headers, content=content, request=request
            )

    return Bounded(timeout=timeout_s, **options)


def _pause_s(headers: Mapping[str, str]) -> float:
    """Seconds that an endpoint wants to be left alone for; 0 if it does not say."""
    for name, in_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return float(headers.get(name, "")) / in_a_second
        except ValueError:
            pass
    try:
        date = parsedate_tz(headers.get("retry-after", ""))
        return 0.0 if date is None else mktime_tz(date) - time.time()
    except (ValueError, OverflowError):
        return 0.0


async def _content(response: Any) -> bytes:  # noqa: ANN401
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) >= MAX_REPLY_BYTES:
            break
    return bytes(content[:MAX_REPLY_BYTES])
