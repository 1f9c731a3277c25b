"""Events, records and sinks for the tests of the audit trail."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.events import unchecked_endpoint_event
from groundwire.control.audit.log import AuditLog
from groundwire.control.audit.record import AuditRecord, Head
from groundwire.control.audit.sinks import Sink

KEY = b"0123456789abcdef0123456789abcdef"
QUICK = (0.001, 0.002)
#: Tests that hang fail after so many seconds.
PATIENCE_S = 20


def event(number: int, detail: Mapping[str, Any] | None = None) -> AuditEvent:
    """An event that can be told from others by its trace id."""
    if detail is None:
        return unchecked_endpoint_event(
            tenant="acme", trace_id=str(number), path="/v1/responses", model=None, decision="mark"
        )
    return AuditEvent(
        type=EventType.HALLUCINATION_DETECTED,
        tenant="acme",
        trace_id=str(number),
        payload={"action": "log", "confidence": 0.25},
        detail=detail,
    )


def numbers(records: Sequence[AuditRecord]) -> list[int]:
    """The numbers of events, without those of the chain itself."""
    return [int(each.trace_id) for each in records if not each.type.startswith("CHAIN_")]


def types(records: Sequence[AuditRecord]) -> list[str]:
    """What happened, in order, each once if it repeats."""
    found = [each.type for each in records]
    return [each for index, each in enumerate(found) if found[index - 1 : index] != [each]]


def chain_of(
    *events: AuditEvent, heads: Sequence[Head] = (), is_ended: bool = False, key: bytes = KEY
) -> list[AuditRecord]:
    """The records of a writer of its own."""
    chain = Chain.new(key)
    last = [ended(n_lost=0)] if is_ended else []
    return [chain.link(each) for each in (chain.started(heads), *events, *last)]


class ListSink:
    """Keeps records; waits for ``may_write``, and fails as often as it is told.

    Attributes:
        fails: What is raised next, in order; ``None``: nothing.
        others: Where other chains stand.
    """

    def __init__(self, *fails: Exception | None, others: Sequence[Head] = ()) -> None:
        self.records: list[AuditRecord] = []
        self.batches: list[int] = []
        self.fails, self.others = list(fails), others
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.is_closed = False

    async def heads(self) -> Sequence[Head]:
        return self.others

    async def append(self, records: Sequence[AuditRecord]) -> None:
        await self.may_write.wait()
        error = self.fails.pop(0) if self.fails else None
        if error is not None:
            raise error
        self.batches.append(len(records))
        self.records += records

    async def close(self) -> None:
        self.is_closed = True


class BrokenSink(ListSink):
    """Cannot write."""

    async def append(self, records: Sequence[AuditRecord]) -> None:
        raise OSError("disk full")


async def opened(
    sink: Sink | None, *, queue_size: int = 10_000, linger_s: float = 0.0, patience_s: float = 5.0
) -> AuditLog:
    """A log that writes to a sink."""
    log = AuditLog(
        sink,
        key=KEY,
        queue_size=queue_size,
        backoff_s=QUICK,
        linger_s=linger_s,
        patience_s=patience_s,
    )
    await log.open()
    return log
