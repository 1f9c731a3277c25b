"""Where chains stand, as the store has it: a signed row for each."""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.control.audit.chain import head_mac
from groundwire.control.audit.record import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """A row of ``audit_writers``.

    Attributes:
        head: The last record of the chain.
        started_at: Moment of its first.
        ended_at: Moment of its last, if it ended in order.
        named_by: The writer whose chain names this head; ``None`` if none does.
        signature: What signs all of it.
    """

    head: Head
    started_at: int
    ended_at: int | None
    named_by: str | None
    signature: str

    @classmethod
    def signed(
        cls,
        key: bytes,
        head: Head,
        *,
        started_at: int,
        ended_at: int | None,
        named_by: str | None = None,
    ) -> "HeadRow":
        """A new row."""
        signature = head_mac(key, head, started_at=started_at, ended_at=ended_at, named_by=named_by)
        return cls(
            head=head,
            started_at=started_at,
            ended_at=ended_at,
            named_by=named_by,
            signature=signature,
        )

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "HeadRow":
        """Read a row, which anybody may have written.

        Raises:
            TypeError: If it has values of another kind, as SQLite takes them.
        """
        kinds = {"seq": int, "started_at": int, "ended_at": int | None, "named_by": str | None}
        if not all(isinstance(value, kinds.get(name, str)) for name, value in row.items()):
            raise TypeError
        return cls(
            head=Head(writer=row["writer"], seq=row["seq"], mac=row["mac"]),
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            named_by=row["named_by"],
            signature=row["signature"],
        )

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "HeadRow | None":
        """The same; ``None`` if it has values of another kind."""
        try:
            return cls.of(row)
        except TypeError:
            return None

    def named(self, writer: str, key: bytes) -> "HeadRow":
        """The same, named by a chain."""
        return self.signed(
            key, self.head, started_at=self.started_at, ended_at=self.ended_at, named_by=writer
        )

    def is_signed(self, keys: Sequence[bytes]) -> bool:
        """Whether one of the keys has signed it."""
        own = str(self.signature).encode("utf-8", "surrogatepass")
        return any(hmac.compare_digest(self._mac(key).encode(), own) for key in keys)

    def to_dict(self) -> dict[str, Any]:
        """As a row."""
        return {
            **self.head.to_dict(),
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "named_by": self.named_by,
            "signature": self.signature,
        }

    def _mac(self, key: bytes) -> str:
        return head_mac(
            key,
            self.head,
            started_at=self.started_at,
            ended_at=self.ended_at,
            named_by=self.named_by,
        )
