"""The result of verifying an audit trail."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

#: Limit on the findings that are listed; all are counted.
MAX_FINDINGS = 1000


class TrailStatus(StrEnum):
    """Whether a trail is as it was written."""

    INTACT = "intact"
    TAMPERED = "tampered"
    UNVERIFIED = "unverified"  # it is empty, or no given key has signed anything


class TamperKind(StrEnum):
    """Kinds of tampering with a trail."""

    EDITED = "edited"  # a record or a line differs from the signed one
    MISSING = "missing"  # records before others
    CUT = "cut"  # records at the end of a chain
    REMOVED = "removed"  # a whole chain
    MISPLACED = "misplaced"  # a record stands twice, or not where it belongs
    COLUMN = "column"  # a column says something else than the record
    DETAIL = "detail"  # a detail differs from the signed one, or is missing
    HEAD = "head"  # the row with the end of a chain differs from the signed one
    UNSIGNED = "unsigned"  # a line that is in no chain
    FOREIGN = "foreign"  # a chain that no given key has signed


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFinding:
    """One place where a trail is not as it was written.

    Attributes:
        kind: What was done.
        writer: The chain; ``None`` if the finding is about no single chain.
        seq: The number of the record; ``None`` if the finding is about no single record.
        text: A description for people.
    """

    kind: TamperKind
    writer: str | None = None
    seq: int | None = None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailVerdict:
    """Whether a trail is as it was written.

    Attributes:
        status: The verdict in one word.
        records: The number of records that were read.
        chains: The number of chains they are in.
        chains_open: The number of chains without an end: their processes write still, or crashed.
        findings_total: The number of places where something is wrong.
        findings: The first of them.
        notes: Observations that are no errors.
    """

    status: TrailStatus
    records: int
    chains: int
    chains_open: int
    findings_total: int = 0
    findings: Sequence[TrailFinding] = ()
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return asdict(self)
