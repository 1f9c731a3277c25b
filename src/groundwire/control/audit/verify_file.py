"""Verifying a trail in files: those of a gateway, in the order they were written, or an export."""

import json
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from groundwire.control.audit.claims import TELLING
from groundwire.control.audit.record import AuditRecord, Head, columns_of, compact
from groundwire.control.audit.verdict import TamperKind, TrailVerdict
from groundwire.control.audit.verify import TrailVerifier

#: Told how many bytes have been read, and how many there are.
Report = Callable[[int, int], None]

#: A longer line is read in pieces, none of which is a record.
_MAX_LINE_BYTES = 256_000_000

_BATCH_BYTES = 2**20


class Odd(Enum):
    """What a line may be beside a record."""

    TORN = "no JSON"  # a crash left it unfinished
    UNSIGNED = "no chain"  # earlier releases wrote such lines
    CHANGED = "not as a gateway writes it"


def verify_files(
    paths: Sequence[Path],
    keys: Sequence[bytes],
    *,
    anchors: Sequence[Head] = (),
    is_partial: bool = False,
    report: Report = lambda done, total: None,
) -> TrailVerdict:
    """Verify the trail in files.

    Args:
        paths: All of its files, the oldest first; they are read twice.
        keys: What its chains may be signed with.
        anchors: Where chains stood at an earlier time.
        is_partial: Whether it is only a part of a trail, so that gaps are nothing wrong.
        report: Told how far it is.

    Raises:
        OSError: If one of them cannot be read.
    """
    verifier = TrailVerifier(keys, anchors=anchors, is_partial=is_partial)
    for _, _, raw in _lines(paths):
        if any(type_.encode() in raw for type_ in TELLING):
            found = read_line(raw)
            if isinstance(found, AuditRecord) and found.type in TELLING:
                verifier.learn(found)
    total = sum(path.stat().st_size for path in paths)
    n_bytes = n_reported = n_torn = n_unsigned = 0
    for path, number, raw in _lines(paths):
        found = read_line(raw)
        if isinstance(found, AuditRecord):
            verifier.feed([found])
        elif found is Odd.TORN:
            n_torn += 1
        elif found is Odd.UNSIGNED and not verifier.n_records:
            n_unsigned += 1
        else:
            kind = TamperKind.UNSIGNED if found is Odd.UNSIGNED else TamperKind.EDITED
            verifier.find(kind, f"line {number} of {path.name} is {found.value}")
        n_bytes += len(raw)
        if n_bytes - n_reported >= _BATCH_BYTES:
            n_reported = n_bytes
            report(n_bytes, total)
    if n_unsigned:
        verifier.note(f"{_lines_are(n_unsigned)} unsigned, before the first chain")
    if n_torn:
        verifier.note(f"{_lines_are(n_torn)} no JSON, as a crash leaves them")
    return verifier.finish(None)


def read_line(raw: bytes) -> AuditRecord | Odd:
    """The record of a line, which anybody may have written."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return Odd.TORN
    if not isinstance(data, dict) or "chain" not in data:
        return Odd.UNSIGNED
    try:
        record = _record(data)
    except (KeyError, TypeError, ValueError, RecursionError):
        return Odd.CHANGED
    # Another spelling may say something else to another reader: of two equal names, say.
    return record if record.to_line() == raw.rstrip(b"\n") else Odd.CHANGED


def _record(data: dict[str, Any]) -> AuditRecord:
    chain = data.pop("chain")
    detail = compact(data.pop("detail")) if "detail" in data else None
    head, previous, digest = Head.of(chain), chain["previous"], chain["detail_sha256"]
    if not isinstance(previous, str) or not isinstance(digest, str | None):
        raise TypeError
    return AuditRecord(
        writer=head.writer,
        seq=head.seq,
        **columns_of(data),
        line=compact(data),
        detail=detail,
        detail_sha256=digest,
        previous=previous,
        mac=head.mac,
    )


def _lines(paths: Sequence[Path]) -> Iterator[tuple[Path, int, bytes]]:
    for path in paths:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(_MAX_LINE_BYTES):
                number += 1
                yield path, number, raw


def _lines_are(n_lines: int) -> str:
    return "1 line is" if n_lines == 1 else f"{n_lines:,} lines are"
