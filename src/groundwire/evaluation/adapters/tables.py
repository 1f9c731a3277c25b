"""What finds the evidence to show beside the verdict of a detector that shows none itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.example import Source
from groundwire.detection.passages import cut_source
from groundwire.detection.values import EvidenceRef
from groundwire.engine.models import DEFAULT_MODEL, find_model
from groundwire.engine.tokenizer import WordPieces


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The embedded reader's tables; none of them judges anything."""

    pieces: WordPieces
    words: WordWeights

    @classmethod
    def load(cls) -> Self:
        """Read them."""
        folder = find_model(DEFAULT_MODEL).folder
        return cls(WordPieces(folder / "tokenizer.json"), WordWeights.load(folder))

    def index(self, sources: Sequence[Source]) -> Evidence:
        """Index sources; which scripts a detector reads is its own matter."""
        return Evidence.of(sources, partial(cut_source, pieces=self.pieces, reads=bool), self.words)

    def references(self, evidence: Evidence, claim: str) -> tuple[EvidenceRef, ...]:
        """The lines that say most about a claim."""
        query = Query.of(self.pieces.encode(claim).ids)
        return evidence.references(query, evidence.select(query).first)
