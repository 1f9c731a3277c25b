"""A published NLI model as a detector: do the sources together entail each sentence?"""

from dataclasses import dataclass
from typing import Self

from groundwire.engine.entailment import EntailmentModel
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.engine.token_classifier import TokenClassifierSession
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading
from groundwire.text.emphasis import without_emphasis
from groundwire.text.segment import Segment


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NliJudge(AdapterBackend):
    """Backend that flags sentences that the sources do not entail, by 1 - P(entailment).

    Sources that are too long for one pass of the model are read in windows, so that nothing is cut
    off. The result is that of the window with the highest P(entailment).

    Attributes:
        model: The NLI model.
    """

    model: EntailmentModel

    @classmethod
    def load(cls, model: str, *, revision: str | None, device: str, threads: int) -> Self:
        """Load a checkpoint; the errors are those of :class:`.EntailmentModel`."""
        loaded = EntailmentModel(model, revision=revision, device=device, threads=threads)
        return cls(model=loaded, name=f"nli:{model}", revision=loaded.revision)

    def judge(self, reading: AdapterReading, answer: str, segment: Segment) -> ClaimScores:
        """Judge one claim; the question is ignored, because it is not evidence."""
        premise = TokenClassifierSession.join(reading.sources)
        claim = without_emphasis(without_citations(answer, segment)).strip()
        found = self.model.judge(premise, claim)
        labels = (found.entailment, found.neutral, found.contradiction)
        return reading.scores(answer, segment, labels, entailment=found)
