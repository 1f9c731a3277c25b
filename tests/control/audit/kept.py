"""A trail as the store keeps it, in memory: for tests that change it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from groundwire.control.audit.chain import Chain, ended
from groundwire.control.audit.event import AuditEvent, EventType
from groundwire.control.audit.heads import HeadRow
from groundwire.control.audit.record import AuditRecord
from groundwire.control.audit.statements import TELLING
from groundwire.control.audit.verdict import TrailVerdict
from groundwire.control.audit.verify import TrailVerifier
from tests.control.audit.trails import KEY, event


@dataclass
class Trail:
    """Records in the order they were written, and where their chains stand."""

    records: list[AuditRecord] = field(default_factory=list)
    rows: dict[str, HeadRow] = field(default_factory=dict)
    open: list[Chain] = field(default_factory=list)

    def start(self, key: bytes = KEY) -> Chain:
        """A writer starts: it names the ends of the others."""
        chain = Chain.new(key)
        heads = [row.head for row in self.rows.values()]
        self._keep(chain, chain.link(chain.started(heads)), key)
        self.open.append(chain)
        return chain

    def write(self, chain: Chain, own: AuditEvent) -> AuditRecord:
        """A writer writes."""
        record = chain.link(own)
        self._keep(chain, record, KEY)
        return record

    def end(self, chain: Chain) -> None:
        """A writer ends in order."""
        self.write(chain, ended(n_lost=0))
        self.open.remove(chain)

    def verdict(self, keys: Sequence[bytes] = (KEY,)) -> TrailVerdict:
        """What verifying it says, of records in the order of the database."""
        in_order = sorted(self.records, key=lambda record: (record.writer, record.seq))
        return verify(in_order, list(self.rows.values()), keys)

    def _keep(self, chain: Chain, record: AuditRecord, key: bytes) -> None:
        self.records.append(record)
        known = self.rows.get(chain.writer)
        self.rows[chain.writer] = HeadRow.signed(
            key,
            chain.head,
            started_at=known.started_at if known else record.moment,
            ended_at=record.moment if record.type == EventType.CHAIN_ENDED else None,
        )


def verify(
    records: Collection[AuditRecord],
    rows: Collection[HeadRow] | None,
    keys: Sequence[bytes],
    *,
    is_partial: bool = False,
) -> TrailVerdict:
    """Verify records of a trail, each chain in its order."""
    verifier = TrailVerifier(keys, is_partial=is_partial)
    for record in records:
        if record.type in TELLING:
            verifier.learn(record)
    for record in records:
        verifier.feed(record)
    return verifier.finish(rows)


@st.composite
def trails(draw: st.DrawFn) -> Trail:
    """Any trail: several writers, side by side and one after another; some are killed."""
    trail = Trail()
    trail.start()
    for number, step in enumerate(draw(st.lists(st.sampled_from("eeeeddsx"), max_size=14))):
        if step == "s" or not trail.open:
            trail.start()
            continue
        chain = draw(st.sampled_from(trail.open))
        if step == "x":
            trail.end(chain)
        else:
            trail.write(chain, event(number, detail={"n": number} if step == "d" else None))
    return trail
