"""Gateways whose audit log is slow or broken, and clients that tell when a response has ended."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from groundwire.config import Config
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.record import AuditRecord
from tests.control.audit.trails import KEY, ListSink
from tests.gateway.chats import Gateway, gateway
from tests.gateway.wire import PATIENCE_S

#: A response that does not wait for its record has ended within this; one that does costs it.
GRACE_S = 0.25
#: How long a response waits for a record that cannot be written, in these tests.
GIVES_UP_S = 0.1

#: The first signs of an end.
ENDS = (b'"finish_reason": "', b'"finish_reason":"', b"[DONE]")


class Client:
    """Reads one response in a thread.

    Attributes:
        raw: What came so far.
        status: Of the response, once it is there.
        ended: Set with the first sign of an end: a finish reason, ``[DONE]``, or the last byte.
    """

    def __init__(self, own: Gateway, body: Mapping[str, Any], path: str) -> None:
        self.raw, self.status, self.ended = b"", 0, threading.Event()
        self._own, self._body, self._path = own, body, path
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Ask."""
        self._thread.start()

    def wait(self) -> bytes:
        """The whole body."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "there was no end"
        return self.raw

    def _read(self) -> None:
        try:
            with self._own.asking(self._body, path=self._path) as response:
                self.status = response.status_code
                for piece in response.iter_raw():
                    self.raw += piece
                    if any(end in self.raw for end in ENDS):
                        self.ended.set()
        except httpx.RemoteProtocolError:
            self.raw += b"(breaks off)"
        self.ended.set()


class WatchfulSink(ListSink):
    """Keeps records, and looks at a client before it does.

    Attributes:
        client: Whom it watches.
        is_broken: Whether nothing can be written.
        early: The types of records before which the client had the end of its response.
        before: What the client had before the first record about its answer.
        asked: Set once there is such a record.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client: Client | None = None
        self.is_broken = False
        self.early: list[str] = []
        self.before: bytes | None = None
        self.asked = threading.Event()

    async def append(self, records: Sequence[AuditRecord]) -> None:
        """Keep records."""
        told = [each for each in records if not each.type.startswith("CHAIN_")]
        if told and self.client is not None:
            self.asked.set()
            ended = self.client.ended
            if not self.is_broken and await asyncio.to_thread(ended.wait, GRACE_S):
                self.early += [each.type for each in told]
            self.before = self.client.raw if self.before is None else self.before
        if self.is_broken and told:
            raise OSError("disk full")
        await super().append(records)

    @property
    def payloads(self) -> list[dict[str, Any]]:
        """What is on record about answers: payloads, with the types."""
        lines = [json.loads(each.line) for each in self.records]
        return [
            {"type": each["type"], **each["payload"]}
            for each in lines
            if not each["type"].startswith("CHAIN_")
        ]


@contextmanager
def watched(
    folder: Path,
    yaml: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    patience_s: float = PATIENCE_S,
    **more: Any,  # noqa: ANN401
) -> Iterator[tuple[Gateway, WatchfulSink]]:
    """A gateway whose audit log writes to a sink that is watched; ``more`` is for the gateway."""
    sink = WatchfulSink()

    def made(config: Config, *, is_stored: bool) -> AuditLog:
        del is_stored
        return AuditLog(
            sink,
            key=KEY,
            queue_size=config.audit.queue_size,
            backoff_s=(0.01, 0.02),
            patience_s=patience_s,
        )

    monkeypatch.setattr("groundwire.gateway.services.audit_log", made)
    with gateway(folder, yaml, **more) as own:
        try:
            yield own, sink
        finally:
            # It would be tried to the last of gateway.shutdown_s.
            sink.is_broken = False
            sink.may_write.set()


def ask(
    own: Gateway, sink: WatchfulSink, body: Mapping[str, Any], *, path: str = "chat/completions"
) -> Client:
    """Ask, with the sink watching who asks."""
    sink.client = client = Client(own, body, path)
    client.start()
    return client
