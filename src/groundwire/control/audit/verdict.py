"""What came of verifying an audit trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from groundwire.control.audit.record import Head

#: Findings that are told one by one; how many there are is told in any case.
MAX_FINDINGS = 1000


class TrailStatus(StrEnum):
    """Whether a trail is as it was written."""

    INTACT = "intact"
    TAMPERED = "tampered"
    UNVERIFIED = "unverified"  # there is nothing, or nothing that a key that was given has signed


class TamperKind(StrEnum):
    """What was done to a trail."""

    EDITED = "edited"  # a record, or a line, is not what was signed
    MISSING = "missing"  # records before others
    CUT = "cut"  # records at the end of a chain
    REMOVED = "removed"  # a whole chain
    MISPLACED = "misplaced"  # a record stands twice, or not where it belongs
    COLUMN = "column"  # a column does not say what the record says
    DETAIL = "detail"  # what was found in full is not what was signed, or is missing
    HEAD = "head"  # where a chain ends is not what was signed
    UNSIGNED = "unsigned"  # a line that no chain has
    FOREIGN = "foreign"  # a chain that none of the keys has signed


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFinding:
    """One place where a trail is not as it was written.

    Attributes:
        kind: What was done.
        writer: Of the chain; ``None`` if it is about none.
        seq: Of the record; ``None`` if it is about more than one.
        text: The same for people.
    """

    kind: TamperKind
    writer: str | None
    seq: int | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "kind": str(self.kind),
            "writer": self.writer,
            "seq": self.seq,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailVerdict:
    """Whether a trail is as it was written.

    Attributes:
        status: In one word.
        n_records: Records that were read.
        n_chains: Chains that they are in.
        n_open: Those of them that did not end in order: their writers write still, or were killed.
        n_findings: Places where something is wrong.
        findings: The first of them.
        notes: What is worth knowing, and nothing wrong.
        heads: Where the chains stand: an anchor for a later time.
    """

    status: TrailStatus
    n_records: int
    n_chains: int
    n_open: int
    n_findings: int = 0
    findings: Sequence[TrailFinding] = ()
    notes: Sequence[str] = ()
    heads: Sequence[Head] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, without the heads."""
        return {
            "status": str(self.status),
            "records": self.n_records,
            "chains": self.n_chains,
            "chains_open": self.n_open,
            "findings_total": self.n_findings,
            "findings": [each.to_dict() for each in self.findings],
            "notes": list(self.notes),
        }
