"""The stored ends of chains: a signed row of the table ``audit_writers`` for each chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.control.audit.chain import head_mac
from groundwire.control.audit.claims import is_same
from groundwire.control.audit.record import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """The stored end of a chain: a row of the table ``audit_writers``.

    Attributes:
        head: The last record of the chain.
        started_at: The moment of its first record, in microseconds since 1970.
        ended_at: The moment of its last record, if its process ended normally; else ``None``.
        signature: The MAC of the values above.
    """

    head: Head
    started_at: int
    ended_at: int | None
    signature: str

    @classmethod
    def signed(cls, key: bytes, head: Head, *, started_at: int, ended_at: int | None) -> "HeadRow":
        """Make a row and sign it."""
        signature = head_mac(key, head, started_at=started_at, ended_at=ended_at)
        return cls(head=head, started_at=started_at, ended_at=ended_at, signature=signature)

    @classmethod
    def read(cls, row: Mapping[Any, Any]) -> "HeadRow | None":
        """Read a row; ``None`` if a value has the wrong type, which SQLite allows."""
        kinds = {"seq": int, "started_at": int, "ended_at": int | None}
        if not all(isinstance(value, kinds.get(name, str)) for name, value in row.items()):
            return None
        return cls(
            head=Head(writer=row["writer"], seq=row["seq"], mac=row["mac"]),
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            signature=row["signature"],
        )

    def is_signed(self, keys: Sequence[bytes]) -> bool:
        """Return whether one of the keys has signed the row."""
        begin, end = self.started_at, self.ended_at
        signatures = (head_mac(key, self.head, started_at=begin, ended_at=end) for key in keys)
        return any(is_same(each, self.signature) for each in signatures)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a mapping from column to value."""
        return {
            **self.head.to_dict(),
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "signature": self.signature,
        }
