"""Whether chains end where others have seen them end, and where the store says they do."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from groundwire.control.audit.claims import Claims, SeenHead
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import Head
from groundwire.control.audit.verdict import TamperKind, TrailFinding


@dataclass(slots=True)
class ChainState:
    """What is known of a chain so far.

    Attributes:
        last: Where it stands; before its first record its ``seq`` is 0.
        first_seq: The number of the first record that is there.
        started_at: Its moment.
        moment: Of the last record.
        key: What signs it, once that is known.
        doubts: Findings about records that no key has signed: all of them, if none has.
        n_doubts: How many there are.
        is_right: Whether the last record is as it was signed.
        is_ended: Whether that is the end of the chain.
        n_back: How often the clock went back.
        back_us: By how much at most.
    """

    last: Head
    first_seq: int = 0
    started_at: int = 0
    moment: int = 0
    key: bytes | None = None
    doubts: list[TrailFinding] = field(default_factory=list)
    n_doubts: int = 0
    is_right: bool = True
    is_ended: bool = False
    n_back: int = 0
    back_us: int = 0


def seen_findings(claims: Claims, chains: Mapping[str, ChainState]) -> Iterator[TrailFinding]:
    """Chains that do not reach what others have seen of them."""
    for writer, seen in claims.seen.items():
        last = max(seen)
        chain = chains.get(writer)
        if (chain is None or chain.last.seq < last) and not claims.is_removed(writer, last):
            yield _lost(writer, chain, last, _by(seen[last], last))


def row_findings(
    rows: Collection[HeadRow], claims: Claims, chains: Mapping[str, ChainState]
) -> Iterator[TrailFinding]:
    """What does not agree with the rows of ``audit_writers``, all of which are signed."""
    for row in rows:
        writer, seq, chain = row.head.writer, row.head.seq, chains.get(row.head.writer)
        if chain is None or chain.last.seq < seq:
            if chain is not None or not claims.is_removed(writer, seq):
                why = f"its row in audit_writers ends with record {seq}"
                yield _lost(writer, chain, seq, why)
        elif problem := _differs(row, chain):
            yield row_finding(writer, problem)
        elif row.named_by and not (row.named_by in chains or row.named_by in claims.removed):
            text = f"chain {row.named_by} is missing as a whole: it names the end of {writer}"
            yield TrailFinding(kind=TamperKind.REMOVED, writer=row.named_by, seq=None, text=text)


def row_finding(writer: str, problem: str) -> TrailFinding:
    """That a row of ``audit_writers`` is not what it should be."""
    text = f"chain {writer}: its row in audit_writers {problem}"
    return TrailFinding(kind=TamperKind.HEAD, writer=writer, seq=None, text=text)


def span(first: int, last: int) -> str:
    """Some records, in words."""
    return f"record {first}" if first == last else f"records {first} to {last}"


def _by(seen: SeenHead, seq: int) -> str:
    return f"{seen.by} has seen record {seq}"


def _lost(writer: str, chain: ChainState | None, seq: int, why: str) -> TrailFinding:
    if chain is None:
        text = f"chain {writer} is missing as a whole: {why}"
        return TrailFinding(kind=TamperKind.REMOVED, writer=writer, seq=None, text=text)
    first = chain.last.seq + 1
    text = f"the end of chain {writer} is missing, {span(first, seq)} at least: {why}"
    return TrailFinding(kind=TamperKind.CUT, writer=writer, seq=first, text=text)


def _differs(row: HeadRow, chain: ChainState) -> str | None:
    """What a row says that its chain does not; ``None`` if nothing."""
    if row.head.seq < chain.last.seq:
        return f"ends with record {row.head.seq}, and the chain with {chain.last.seq}"
    if row.head.mac != chain.last.mac:
        return "has another end than the chain"
    if chain.first_seq == 1 and row.started_at != chain.started_at:
        return "has another start than the chain"
    if row.ended_at != (chain.moment if chain.is_ended else None):
        return "says otherwise whether the chain ended in order"
    return None
