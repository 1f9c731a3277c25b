"""Verifies a trail record by record. This module does not read files or databases.

A :class:`TrailVerifier` is given the trail twice: first the records that make statements about the
trail itself (``learn``), then all records (``feed``). The records of one chain must come in their
order; the chains may come in any order.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from groundwire.control.audit.chain import detail_sha256, key_id
from groundwire.control.audit.event import EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord, Head, columns_of
from groundwire.control.audit.statements import Statements, is_same, signer
from groundwire.control.audit.verdict import (
    MAX_FINDINGS,
    TamperKind,
    TrailFinding,
    TrailStatus,
    TrailVerdict,
)


@dataclass(slots=True)
class _Chain:
    """The state of one chain while it is read.

    Attributes:
        last: The last record so far; its number is 0 before the first record.
        key: The key that signs the chain; ``None`` until a validly signed record was read.
        is_right: Whether the last record is as it was signed.
        is_ended: Whether the last record is a signed end of the chain.
    """

    last: Head
    key: bytes | None = None
    n_findings: int = 0
    is_right: bool = True
    is_ended: bool = False


class TrailVerifier:
    """Verifies a trail record by record, so that the trail need not fit into memory."""

    def __init__(self, keys: Sequence[bytes], *, is_partial: bool = False) -> None:
        """Prepare for the first record.

        Args:
            keys: The keys that may have signed chains.
            is_partial: Whether the records are only a part of a trail. If so, missing records and
                details are not findings.
        """
        self._keys, self._is_partial = keys, is_partial
        self._statements = Statements(keys)
        self._chains: dict[str, _Chain] = {}
        self._findings: list[TrailFinding] = []
        self._notes: list[str] = []
        self._n_findings = self._n_gaps = self._n_records = 0

    def learn(self, record: AuditRecord) -> None:
        """Learn what a record states about the trail itself; its type must be in ``TELLING``."""
        self._statements.learn(record)

    def feed(self, record: AuditRecord) -> None:
        """Verify the next record of the trail; signs of tampering become findings."""
        self._n_records += 1
        first = _Chain(last=Head(writer=record.writer, seq=0, mac=""))
        chain = self._chains.setdefault(record.writer, first)
        key = signer(record, self._keys if chain.key is None else [chain.key])
        chain.key = chain.key or key
        if key is None:
            self._find(TamperKind.EDITED, record, "is not as it was signed")
        if record.seq <= chain.last.seq:
            self._find(TamperKind.MISPLACED, record, f"stands after record {chain.last.seq}")
            return
        self._check_place(chain, record)
        self._check_detail(record)
        if key is not None:
            self._check_columns(record)
            mac, by = self._statements.seen.get(record.writer, {}).get(record.seq, (record.mac, ""))
            if mac != record.mac:
                self._find(TamperKind.EDITED, record, f"is not the one that {by} has seen")
        chain.last, chain.is_right = record.head, key is not None
        chain.is_ended = chain.is_right and record.type == EventType.CHAIN_ENDED

    def find(
        self, kind: TamperKind, text: str, *, writer: str | None = None, seq: int | None = None
    ) -> None:
        """Add a finding to the verdict; above :data:`MAX_FINDINGS`, it is only counted."""
        self._n_findings += 1
        if writer in self._chains:
            self._chains[writer].n_findings += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(TrailFinding(kind=kind, writer=writer, seq=seq, text=text))

    def note(self, text: str) -> None:
        """Add an observation that is not an error to the verdict."""
        self._notes.append(text)

    def finish(self, rows: Collection[HeadRow] | None) -> TrailVerdict:
        """Return the verdict, once all records have been read.

        Args:
            rows: The stored ends of chains, from the table ``audit_writers``; ``None`` if the trail
                is in files.
        """
        has_key = any(chain.key is not None for chain in self._chains.values())
        self._find_foreign_chains()
        if not self._is_partial:
            for writer, seen in self._statements.seen.items():
                seq = max(seen)
                self._check_end(writer, seq, f"{seen[seq][1]} has seen record {seq}")
        if rows is not None:
            has_key = self._check_rows(rows) or has_key
        n_open = sum(not chain.is_ended for chain in self._chains.values())
        if n_open:
            chains = "1 chain has" if n_open == 1 else f"{n_open:,} chains have"
            self.note(f"{chains} no end: the process writes still, or was killed")
        if self._n_gaps:
            gaps = "1 gap" if self._n_gaps == 1 else f"{self._n_gaps:,} gaps"
            self.note(f"{gaps} between records, as in a part of a trail")
        status = TrailStatus.INTACT if has_key else TrailStatus.UNVERIFIED
        if self._n_findings and (has_key or not self._chains):
            status = TrailStatus.TAMPERED
        return TrailVerdict(
            status=status,
            records=self._n_records,
            chains=len(self._chains),
            chains_open=n_open,
            findings_total=self._n_findings,
            findings=tuple(self._findings[:MAX_FINDINGS]),
            notes=tuple(self._notes),
        )

    # Checks of one record.

    def _check_place(self, chain: _Chain, record: AuditRecord) -> None:
        before, is_first = record.seq - 1, chain.last.seq == 0
        if chain.last.seq == before:
            # If the record before this one was changed, that is a finding already.
            if not is_first and chain.is_right and record.previous != chain.last.mac:
                self._find(TamperKind.MISPLACED, record, "does not follow the record before it")
        elif is_first and self._statements.is_removed(record.writer, before):
            removed = self._statements.removed[record.writer]
            if removed.seq == before and removed.mac != record.previous:
                self._find(TamperKind.MISPLACED, record, "does not follow what retention removed")
        elif self._is_partial:
            self._n_gaps += 1
        else:
            missing = _span(chain.last.seq + 1, before)
            self._find(TamperKind.MISSING, record, f"has none before it: {missing} missing")

    def _check_columns(self, record: AuditRecord) -> None:
        try:
            columns = columns_of(json.loads(record.line))
        except (ValueError, KeyError, TypeError):
            self._find(TamperKind.COLUMN, record, "has no event")
            return
        wrong = [name for name, value in columns.items() if getattr(record, name) != value]
        if wrong:
            problem = f"has columns that do not say what it says: {', '.join(wrong)}"
            self._find(TamperKind.COLUMN, record, problem)

    def _check_detail(self, record: AuditRecord) -> None:
        signed = record.detail_sha256
        if record.detail is not None:
            if signed is None or not is_same(detail_sha256(record.detail), signed):
                self._find(TamperKind.DETAIL, record, "has another detail than was signed")
        elif signed and not self._is_partial and not self._statements.is_detail_removed(record):
            problem = "has no detail any more, and no retention says so"
            self._find(TamperKind.DETAIL, record, problem)

    # Checks after the last record.

    def _find_foreign_chains(self) -> None:
        """Replace the findings about each chain that no key has signed by a single finding."""
        foreign = {writer for writer, chain in self._chains.items() if chain.key is None}
        self._findings = [each for each in self._findings if each.writer not in foreign]
        keys = ", ".join(map(key_id, self._keys))
        for writer in sorted(foreign):
            self._n_findings -= self._chains[writer].n_findings
            self.find(
                TamperKind.FOREIGN,
                f"chain {writer}: no record of it is signed with a key that was given ({keys}): "
                "it is forged, or of a time or a replica with another key",
                writer=writer,
            )

    def _check_end(self, writer: str, seq: int, why: str) -> None:
        """Check that a chain does not end before the record ``seq``.

        A chain may be missing as a whole if retention has removed it. ``why`` is the part of a
        finding that says why this record must exist.
        """
        chain = self._chains.get(writer)
        if chain is None and not self._statements.is_removed(writer, seq):
            text = f"chain {writer} is missing as a whole: {why}"
            self.find(TamperKind.REMOVED, text, writer=writer)
        elif chain is not None and chain.last.seq < seq:
            first = chain.last.seq + 1
            text = f"the end of chain {writer} is missing, {_span(first, seq)} at least: {why}"
            self.find(TamperKind.CUT, text, writer=writer, seq=first)

    def _check_rows(self, rows: Collection[HeadRow]) -> bool:
        """Compare chains with their rows in ``audit_writers``.

        Returns:
            Whether one of the keys has signed at least one of the rows.
        """
        has_key = False
        for row in rows:
            writer, chain = row.head.writer, self._chains.get(row.head.writer)
            if not row.is_signed(self._keys):
                self._find_row(writer, "is not as it was signed")
                continue
            has_key = True
            if chain is None or chain.last.seq < row.head.seq:
                why = f"its row in audit_writers ends with record {row.head.seq}"
                self._check_end(writer, row.head.seq, why)
            elif chain.last != row.head:
                self._find_row(writer, "has another end than the chain")
        for writer in sorted(self._chains.keys() - {row.head.writer for row in rows}):
            self._find_row(writer, "is missing")
        return has_key

    # Methods that add findings.

    def _find_row(self, writer: str, problem: str) -> None:
        text = f"chain {writer}: its row in audit_writers {problem}"
        self.find(TamperKind.HEAD, text, writer=writer)

    def _find(self, kind: TamperKind, record: AuditRecord, problem: str) -> None:
        text = f"record {record.seq} of chain {record.writer} {problem}"
        self.find(kind, text, writer=record.writer, seq=record.seq)


def _span(first: int, last: int) -> str:
    """Return a range of records in words, such as ``records 2 to 5``."""
    return f"record {first}" if first == last else f"records {first} to {last}"
