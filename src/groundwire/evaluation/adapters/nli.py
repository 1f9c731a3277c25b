"""A published NLI model as a detector: do the sources together entail each sentence?"""

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
    """Backend that flags sentences that the sources do not entail, by 1 - P(entailment).

    Sources that are too long for one pass of the model are read in windows, so that nothing is cut
    off. The window with the highest P(entailment) counts.

    Attributes:
        model: The NLI model.
    """

    model: EntailmentModel

    @classmethod
    def load(cls, model: str, *, revision: str | None, device: str, threads: int) -> Self:
        """Load a checkpoint; the errors are those of :class:`.EntailmentModel`."""
        loaded = EntailmentModel(model, revision=revision, device=device, threads=threads)
        return cls(model=loaded, name=f"nli:{model}", revision=loaded.revision)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "NliReading":
        """Begin to judge an answer; the question is ignored, because it is no evidence."""
        del question, threshold, tenant
        return NliReading(self.tables, sources, self.model)


class NliReading(AdapterReading):
    """The judging of one answer, claim by claim."""

    def __init__(self, tables: Tables, sources: Sequence[Source], model: EntailmentModel) -> None:
        super().__init__(tables, sources)
        self._premise, self._model = TokenClassifierSession.join(sources), model

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge the next claims of the answer."""
        return [self._claim(answer, segment) for segment in segments]

    def _claim(self, answer: str, segment: Segment) -> ClaimScores:
        claim = without_emphasis(without_citations(answer, segment)).strip()
        found = self._model.judge(self._premise, claim)
        labels = (found.entailment, found.neutral, found.contradiction)
        place = (segment.start, segment.end)
        return self._judged(answer, segment, [place], [labels], found)
