"""Defines the result of verifying an audit trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

#: Highest number of findings that a verdict lists; its ``findings_total`` counts all findings.
MAX_FINDINGS = 1000


class TrailStatus(StrEnum):
    """The verdicts on a trail: unchanged, changed, or not verifiable."""

    INTACT = "intact"
    TAMPERED = "tampered"
    # There are records, but no given key has signed any of the trail; or the trail is empty.
    UNVERIFIED = "unverified"


class TamperKind(StrEnum):
    """Kinds of tampering with a trail."""

    EDITED = "edited"  # a record or a line differs from the signed one
    MISSING = "missing"  # records are missing before another record
    CUT = "cut"  # records are missing at the end of a chain
    REMOVED = "removed"  # a whole chain is missing
    MISPLACED = "misplaced"  # a record is there twice, or in a wrong place
    COLUMN = "column"  # a column has another value than the record's signed line
    DETAIL = "detail"  # a detail differs from the signed one, or is missing
    HEAD = "head"  # the row with the end of a chain is missing or wrong
    UNSIGNED = "unsigned"  # a line that is in no chain
    FOREIGN = "foreign"  # a chain that no given key has signed


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFinding:
    """One place where a trail differs from the records that were written.

    Attributes:
        writer: The id of the chain; ``None`` if the finding is about no single chain.
        seq: The number of the record; ``None`` if the finding is about no single record.
        text: A description for people.
    """

    kind: TamperKind
    writer: str | None = None
    seq: int | None = None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailVerdict:
    """The result of verifying a trail.

    Attributes:
        status: The verdict in one word.
        records: The number of records that were read.
        chains: The number of chains to which these records belong.
        chains_open: The number of chains without a signed end, for example after a crash.
        findings_total: The number of all findings.
        findings: The findings in detail, at most :data:`MAX_FINDINGS` of them.
        notes: Observations that are not errors.
    """

    status: TrailStatus
    records: int
    chains: int
    chains_open: int
    findings_total: int = 0
    findings: Sequence[TrailFinding] = ()
    notes: Sequence[str] = ()
