"""Whether a trail is as it was written: purely, record by record, in bounded memory.

A :class:`TrailVerifier` is told twice. First what the trail says about itself (``learn``), then all
records (``feed``), those of one chain in their order and the chains in any.
"""

import json
from collections.abc import Collection, Iterable, Sequence

from groundwire.control.audit.chain import detail_sha256, key_id
from groundwire.control.audit.claims import TELLING, Claims, is_same, signer
from groundwire.control.audit.ends import ChainState, row_finding, row_findings, seen_findings, span
from groundwire.control.audit.event import EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord, Head, columns_of
from groundwire.control.audit.verdict import (
    MAX_FINDINGS,
    TamperKind,
    TrailFinding,
    TrailStatus,
    TrailVerdict,
)

#: Findings that are kept of a chain until it is known which key signs it.
_MAX_DOUBTS = 100
#: Events are handed over a little later than they were made, and not all of them equally.
_JITTER_US = 10_000_000


def verify(
    records: Collection[AuditRecord],
    rows: Collection[HeadRow] | None,
    keys: Sequence[bytes],
    *,
    anchors: Sequence[Head] = (),
    is_partial: bool = False,
) -> TrailVerdict:
    """Verify a trail that is in memory.

    Args:
        records: All of it, those of one chain in their order.
        rows: Where its chains stand, if the store says so; ``None``: there is no store.
        keys: What its chains may be signed with.
        anchors: Where chains stood at an earlier time.
        is_partial: Whether it is only a part of a trail, so that gaps are nothing wrong.
    """
    verifier = TrailVerifier(keys, anchors=anchors, is_partial=is_partial)
    for record in records:
        if record.type in TELLING:
            verifier.learn(record)
    verifier.feed(records)
    return verifier.finish(rows)


class TrailVerifier:
    """Verifies a trail that does not have to fit into memory."""

    def __init__(
        self,
        keys: Sequence[bytes],
        *,
        anchors: Sequence[Head] = (),
        is_partial: bool = False,
    ) -> None:
        """Begin.

        Args:
            keys: What its chains may be signed with.
            anchors: Where chains stood at an earlier time.
            is_partial: Whether it is only a part of a trail, so that gaps are nothing wrong.
        """
        self._keys, self._is_partial = keys, is_partial
        self._claims = Claims(keys, anchors)
        self._chains: dict[str, ChainState] = {}
        self._findings: list[TrailFinding] = []
        self._notes: list[str] = []
        self._n_findings = self._n_gaps = self.n_records = 0
        # Whether a key fits to anything: else nothing can be told, not even that it was changed.
        self._has_key = False

    def learn(self, record: AuditRecord) -> None:
        """Take from a record of :data:`TELLING` what it says about the trail, if it is signed."""
        self._claims.learn(record)

    def feed(self, records: Iterable[AuditRecord]) -> None:
        """Take the next records."""
        for record in records:
            self.n_records += 1
            chain = self._chains.get(record.writer)
            if chain is None:
                chain = ChainState(last=Head(writer=record.writer, seq=0, mac=""))
                self._chains[record.writer] = chain
            self._feed(chain, record)

    def find(self, kind: TamperKind, text: str, *, writer: str | None = None) -> None:
        """Take what is wrong beside the records."""
        self._add(TrailFinding(kind=kind, writer=writer, seq=None, text=text))

    def note(self, text: str) -> None:
        """Take what is worth knowing."""
        self._notes.append(text)

    def finish(self, rows: Collection[HeadRow] | None) -> TrailVerdict:
        """What came of it.

        Args:
            rows: Where its chains stand, if the store says so; ``None``: there is no store.
        """
        for chain in self._chains.values():
            self._finish_chain(chain)
        if not self._is_partial:
            self._add(*seen_findings(self._claims, self._chains))
        if rows is not None:
            self._check_rows(rows)
        n_open = sum(not chain.is_ended for chain in self._chains.values())
        self._note_chains(n_open)
        return TrailVerdict(
            status=self._status(),
            n_records=self.n_records,
            n_chains=len(self._chains),
            n_open=n_open,
            n_findings=self._n_findings,
            findings=tuple(self._findings),
            notes=tuple(self._notes),
            heads=tuple(chain.last for chain in self._chains.values()),
        )

    # Of one record.

    def _feed(self, chain: ChainState, record: AuditRecord) -> None:
        is_signed = self._is_signed(chain, record)
        if chain.first_seq and record.seq <= chain.last.seq:
            self._find_at(TamperKind.MISPLACED, record, f"stands after record {chain.last.seq}")
            return
        self._check_place(chain, record)
        self._check_detail(record)
        if is_signed:
            self._check_columns(record)
            self._check_clock(chain, record)
            seen = self._claims.seen_at(record.head)
            if seen is not None and seen.mac != record.mac:
                self._find_at(TamperKind.EDITED, record, f"is not the one that {seen.by} has seen")
        if not chain.first_seq:
            chain.first_seq, chain.started_at = record.seq, record.moment
        chain.last, chain.moment, chain.is_right = record.head, record.moment, is_signed
        chain.is_ended = is_signed and record.type == EventType.CHAIN_ENDED

    def _is_signed(self, chain: ChainState, record: AuditRecord) -> bool:
        """Whether it is as it was signed; of a chain, one key has signed all records."""
        known = chain.key is not None
        key = signer(record, self._keys if chain.key is None else [chain.key])
        if key is not None:
            chain.key, self._has_key = key, True
            return True
        finding = _finding(TamperKind.EDITED, record, "is not as it was signed")
        if known:
            self._add(finding)
        else:
            chain.n_doubts += 1
            if len(chain.doubts) < _MAX_DOUBTS:
                chain.doubts.append(finding)
        return False

    def _check_place(self, chain: ChainState, record: AuditRecord) -> None:
        expected = chain.last.seq + 1
        if record.seq == expected:
            # Where the record before was changed, that is found already.
            if chain.first_seq and chain.is_right and record.previous != chain.last.mac:
                self._find_at(TamperKind.MISPLACED, record, "does not follow the record before it")
        elif not chain.first_seq and self._claims.is_removed(record.writer, record.seq - 1):
            removed = self._claims.removed[record.writer]
            if removed.seq == record.seq - 1 and removed.mac != record.previous:
                self._find_at(
                    TamperKind.MISPLACED, record, "does not follow what retention removed"
                )
        elif self._is_partial:
            self._n_gaps += 1
        else:
            problem = f"has none before it: {span(expected, record.seq - 1)} missing"
            self._find_at(TamperKind.MISSING, record, problem)

    def _check_columns(self, record: AuditRecord) -> None:
        try:
            columns = columns_of(json.loads(record.line))
        except (ValueError, KeyError, TypeError):
            self._find_at(TamperKind.COLUMN, record, "has no event")
            return
        wrong = [name for name, value in columns.items() if getattr(record, name) != value]
        if wrong:
            problem = f"has columns that do not say what it says: {', '.join(wrong)}"
            self._find_at(TamperKind.COLUMN, record, problem)

    def _check_detail(self, record: AuditRecord) -> None:
        if record.detail is not None:
            own = detail_sha256(record.detail)
            if record.detail_sha256 is None or not is_same(own, record.detail_sha256):
                self._find_at(TamperKind.DETAIL, record, "has another detail than was signed")
            return
        is_kept = record.detail_sha256 is not None and not self._is_partial
        if is_kept and not self._claims.is_detail_removed(record):
            self._find_at(
                TamperKind.DETAIL, record, "has no detail any more, and no retention says so"
            )

    def _check_clock(self, chain: ChainState, record: AuditRecord) -> None:
        back = chain.moment - record.moment
        if chain.first_seq and back > _JITTER_US:
            chain.n_back += 1
            chain.back_us = max(chain.back_us, back)

    # At the end.

    def _finish_chain(self, chain: ChainState) -> None:
        if chain.key is not None:
            self._add(*chain.doubts)
            self._n_findings += chain.n_doubts - len(chain.doubts)
            return
        keys = ", ".join(map(key_id, self._keys))
        self.find(
            TamperKind.FOREIGN,
            f"chain {chain.last.writer}: none of its {chain.n_doubts:,} records is signed with a "
            f"key that was given ({keys}): it is forged, or of a time or a replica with another",
            writer=chain.last.writer,
        )

    def _check_rows(self, rows: Collection[HeadRow]) -> None:
        signed = [row for row in rows if row.is_signed(self._keys)]
        self._has_key = self._has_key or bool(signed)
        for row in rows:
            if not row.is_signed(self._keys):
                self._add(row_finding(row.head.writer, "is not as it was signed"))
        self._add(*row_findings(signed, self._claims, self._chains))
        for writer in sorted(self._chains.keys() - {row.head.writer for row in rows}):
            self._add(row_finding(writer, "is missing"))

    def _note_chains(self, n_open: int) -> None:
        if n_open:
            are = "chain has" if n_open == 1 else "chains have"
            self.note(f"{n_open:,} {are} no end: the process writes still, or was killed")
        n_back = sum(chain.n_back for chain in self._chains.values())
        if n_back:
            most = max(chain.back_us for chain in self._chains.values()) / 1e6
            times = "once" if n_back == 1 else f"{n_back:,} times"
            self.note(f"the clock went back {times}, by {most:g} seconds at most")
        if self._n_gaps:
            gaps = "1 gap" if self._n_gaps == 1 else f"{self._n_gaps:,} gaps"
            self.note(f"{gaps} between records, as in a part of a trail")

    def _status(self) -> TrailStatus:
        if self._n_findings and (self._has_key or not self._chains):
            return TrailStatus.TAMPERED
        return TrailStatus.INTACT if self._has_key else TrailStatus.UNVERIFIED

    def _find_at(self, kind: TamperKind, record: AuditRecord, problem: str) -> None:
        self._add(_finding(kind, record, problem))

    def _add(self, *findings: TrailFinding) -> None:
        self._n_findings += len(findings)
        self._findings += findings[: MAX_FINDINGS - len(self._findings)]


def _finding(kind: TamperKind, record: AuditRecord, problem: str) -> TrailFinding:
    text = f"record {record.seq} of chain {record.writer} {problem}"
    return TrailFinding(kind=kind, writer=record.writer, seq=record.seq, text=text)
