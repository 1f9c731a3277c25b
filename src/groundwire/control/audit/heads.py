"""The stored ends of chains: a signed row of the table ``audit_writers`` for each chain."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.control.audit.chain import head_mac
from groundwire.control.audit.record import Head
from groundwire.control.audit.statements import is_same


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow(Head):
    """The stored end of a chain: a row of the table ``audit_writers``.

    Attributes:
        started_at: The moment of the chain's first record, in microseconds since 1970.
        ended_at: The moment of the chain's last record, in microseconds since 1970, if the chain
            ended normally; else ``None``.
        signature: The MAC of the other values.
    """

    started_at: int
    ended_at: int | None
    signature: str

    @classmethod
    def signed(cls, key: bytes, head: Head, *, started_at: int, ended_at: int | None) -> "HeadRow":
        """Make the row for the end of a chain, and sign the row with ``key``."""
        signature = head_mac(key, head, started_at=started_at, ended_at=ended_at)
        return cls(**head.to_dict(), started_at=started_at, ended_at=ended_at, signature=signature)

    def is_signed(self, keys: Sequence[bytes]) -> bool:
        """Return whether one of the keys has signed the row."""
        begin, end = self.started_at, self.ended_at
        signatures = (head_mac(key, self.head, started_at=begin, ended_at=end) for key in keys)
        return any(is_same(each, self.signature) for each in signatures)
