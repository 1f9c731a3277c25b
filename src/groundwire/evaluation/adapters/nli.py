"""A published NLI model as a detector: does all that the sources say entail each sentence?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from groundwire.detection.example import Source
from groundwire.engine.entailment import EntailmentModel
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.engine.token_classifier import TokenClassifierSession
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading, Tables
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import Segment


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NliJudge(AdapterBackend):
    """Flags sentences that the sources do not entail, with 1 - P(entailment) as probability.

    Sources that do not fit into one pass are read in windows, of which the best counts: nothing
    is cut off.
    """

    model: EntailmentModel

    @classmethod
    def load(cls, model: str, *, revision: str | None, device: str, threads: int) -> Self:
        """Load a checkpoint; errors are those of :class:`.EntailmentModel`."""
        loaded = EntailmentModel(model, revision=revision, device=device, threads=threads)
        return cls(model=loaded, name=f"nli:{model}", revision=loaded.revision)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "NliReading":
        """Begin with an answer; the question is no evidence."""
        del question, threshold, tenant
        return NliReading(self.tables, sources, self.model)


class NliReading(AdapterReading):
    """One answer being judged, sentence by sentence."""

    def __init__(self, tables: Tables, sources: Sequence[Source], model: EntailmentModel) -> None:
        super().__init__(tables, sources)
        self._premise, self._model = TokenClassifierSession.join(sources), model

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge the next claims."""
        return [self._claim(answer, segment) for segment in segments]

    def _claim(self, answer: str, segment: Segment) -> ClaimScores:
        claim = without_emphasis(without_citations(answer, segment)).strip()
        found = self._model.judge(self._premise, claim)
        labels = (found.entailment, found.neutral, found.contradiction)
        place = (segment.start, segment.end)
        return self._judged(answer, segment, [place], [labels], found)
