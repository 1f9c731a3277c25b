"""Verifies a trail in files: the log files of a gateway, oldest first, or an export."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from groundwire.control.audit.record import AuditRecord, Head, columns_of, compact
from groundwire.control.audit.statements import TELLING
from groundwire.control.audit.verdict import TamperKind, TrailVerdict
from groundwire.control.audit.verify import TrailVerifier

#: Limit on the bytes that are read at once, so that a file without line breaks does not fill the
#: memory. A longer line is read in parts.
_MAX_LINE_BYTES = 256_000_000

_PROBLEMS = {TamperKind.UNSIGNED: "no chain", TamperKind.EDITED: "not as a gateway writes it"}


def verify_files(
    paths: Sequence[Path], keys: Sequence[bytes], *, is_partial: bool = False
) -> TrailVerdict:
    """Verify the trail in files.

    Args:
        paths: The files, the oldest first; each is read twice. Without ``is_partial``, they must be
            all files of the trail.
        keys: The keys that may have signed chains.
        is_partial: Whether the files are only a part of a trail. If so, missing records and
            details are not findings.

    Raises:
        OSError: If a file cannot be read.
    """
    verifier = TrailVerifier(keys, is_partial=is_partial)
    for _, _, raw in _lines(paths):
        if any(type_.encode() in raw for type_ in TELLING):
            found = read_line(raw)
            if isinstance(found, AuditRecord) and found.type in TELLING:
                verifier.learn(found)
    n_torn = 0
    for path, number, raw in _lines(paths):
        found = read_line(raw)
        if isinstance(found, AuditRecord):
            verifier.feed(found)
        elif found is None:
            n_torn += 1
        else:
            verifier.find(found, f"line {number} of {path.name} is {_PROBLEMS[found]}")
    if n_torn:
        lines = "1 line is" if n_torn == 1 else f"{n_torn:,} lines are"
        verifier.note(f"{lines} no JSON, as a crash leaves them")
    return verifier.finish(None)


def read_line(raw: bytes) -> AuditRecord | TamperKind | None:
    """Return the record in a line, or the kind of tampering.

    If the line cannot be read as JSON, return ``None``.
    """
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "chain" not in data:
        return TamperKind.UNSIGNED
    try:
        record = _record(data)
    except (KeyError, TypeError, ValueError, RecursionError):
        return TamperKind.EDITED
    # Only the exact bytes that a gateway writes are valid. Another spelling of the same JSON, such
    # as one in which a key occurs twice, may have another meaning for other programs.
    return record if record.to_line() == raw.rstrip(b"\n") else TamperKind.EDITED


def _record(data: dict[str, Any]) -> AuditRecord:
    chain = data.pop("chain")
    detail = compact(data.pop("detail")) if "detail" in data else None
    head, previous, digest = Head.of(chain), chain["previous"], chain["detail_sha256"]
    if not isinstance(previous, str) or not isinstance(digest, str | None):
        raise TypeError
    return AuditRecord(
        **head.to_dict(),
        **columns_of(data),
        line=compact(data),
        detail=detail,
        detail_sha256=digest,
        previous=previous,
    )


def _lines(paths: Sequence[Path]) -> Iterator[tuple[Path, int, bytes]]:
    for path in paths:
        with path.open("rb") as file:
            lines = iter(partial(file.readline, _MAX_LINE_BYTES), b"")
            for number, raw in enumerate(lines, 1):
                yield path, number, raw
