"""What a claim plainly gets wrong, by rule, beside the model."""

from groundwire.conflicts.conflict import Conflict, ConflictKind

__all__ = ["Conflict", "ConflictKind"]
