"""An audit trail that is made up: as many records as one wants, quickly, the same for a seed.

A few tenants have most of it, some have little, one has ten records, one has left; of the types
some are common and some are rare. The records have the shape and the size of true ones; what signs
them is made up as well.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

from groundwire.control.store import moments

COLUMNS = (
    *("writer", "seq", "event_id", "moment", "tenant", "type", "trace_id", "line"),
    *("detail_sha256", "previous", "mac"),
)
DETAIL_COLUMNS = ("writer", "seq", "moment", "detail")

START = moments.of_datetime(datetime(2026, 1, 1, tzinfo=UTC))
DAYS = 90
BIG, RARE, NOBODY, LEFT = "big", "rare", "nobody", "left"
TENANTS = {
    BIG: 600,
    **{f"middle-{i}": 15 for i in range(20)},
    **{f"small-{i}": 1 for i in range(100)},
}
COMMON, SELDOM = "HALLUCINATION_DETECTED", "AUDIT_UNAVAILABLE"
TYPES = {
    COMMON: 5000,
    "HALLUCINATION_DETECTED_STREAMING": 2500,
    "CHECK_INCOMPLETE": 1500,
    "STREAMING_ENFORCEMENT_SUMMARY": 900,
    "UNCHECKED_ENDPOINT": 90,
    SELDOM: 1,
}
N_WRITERS = 40
#: One that many requests came with: a client that sets it wrong.
SHARED_TRACE = "0" * 32

_N_RARE = 10
_CLAIM = "The tower was built in 1950 and stands at 500 metres in the middle of the old town."


@dataclass(frozen=True, slots=True)
class Made:
    """One record, and its detail if it has one."""

    row: tuple[Any, ...]
    detail: tuple[Any, ...] | None


def records(n_records: int, *, seed: int = 0) -> Iterator[Made]:
    """Records in the order they were written, over some months."""
    chance = random.Random(seed)
    writers = [f"{chance.getrandbits(128):032x}" for _ in range(N_WRITERS)]
    seqs = dict.fromkeys(writers, 0)
    pace = DAYS * 86_400_000_000 // n_records
    rare = set(chance.sample(range(n_records), _N_RARE))
    tenants, types = list(TENANTS), list(TYPES)
    tenant_weights, type_weights = (
        list(accumulate(TENANTS.values())),
        list(accumulate(TYPES.values())),
    )
    for i in range(n_records):
        # Two write at a time, and others take their place.
        writer = writers[min(2 * (i * N_WRITERS // 2 // n_records) + i % 2, N_WRITERS - 1)]
        seqs[writer] += 1
        moment = START + i * pace + chance.randrange(pace)
        tenant = RARE if i in rare else chance.choices(tenants, cum_weights=tenant_weights)[0]
        if tenant == BIG and i % 2 and i < n_records // 2:
            tenant = LEFT  # it had much, and has nothing since half of the time
        type_ = chance.choices(types, cum_weights=type_weights)[0]
        trace_id = SHARED_TRACE if i % 50 == 0 else f"{chance.getrandbits(128):032x}"
        yield _made(chance, writer, seqs[writer], moment // 1000 * 1000, tenant, type_, trace_id)


def _made(
    chance: random.Random,
    writer: str,
    seq: int,
    moment: int,
    tenant: str,
    type_: str,
    trace_id: str,
) -> Made:
    event_id = str(UUID(int=chance.getrandbits(128), version=4))
    line = json.dumps(
        {
            "id": event_id,
            "timestamp": moments.to_datetime(moment).isoformat(timespec="milliseconds"),
            "tenant": tenant,
            "type": type_,
            "trace_id": trace_id,
            "payload": {
                "workspace_id": tenant,
                "action": "header",
                "grounded": False,
                "confidence": 0.97,
                "ungrounded_claims": [_CLAIM],
                "unsupported_spans": ["1950", "500 metres"],
                "detector": "reader",
            },
        },
        separators=(",", ":"),
    )
    is_finding = type_.startswith("HALLUCINATION")
    digest = f"{chance.getrandbits(256):064x}" if is_finding else None
    mac = f"{chance.getrandbits(256):064x}"
    row = (writer, seq, event_id, moment, tenant, type_, trace_id, line, digest, mac, mac)
    # Of the last third: those of the others have been removed.
    is_kept = is_finding and moment > START + DAYS * 86_400_000_000 * 2 // 3
    detail = json.dumps({"version": 1, "claims": [_CLAIM] * 10}) if is_kept else None
    return Made(row, None if detail is None else (writer, seq, moment, detail))
