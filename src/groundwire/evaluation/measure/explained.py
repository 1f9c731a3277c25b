"""A detector whose spans an explainer grades, and drops where the evidence entails them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from groundwire.detection.example import Example, Source, SourceLike, read_sources
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import GroundwireError
from groundwire.evaluation.loading import AnyDetector, AnyExplainer, DetectorChoice
from groundwire.pipeline.explaining import as_explained


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDetector:
    """A detector combined with an explainer.

    Labels and severities of spans are the explainer's; spans that it drops are gone.

    Attributes:
        detector: Finds spans.
        explainer: Grades them.
    """

    detector: AnyDetector
    explainer: AnyExplainer

    @property
    def info(self) -> DetectorInfo:
        """The detector, with the explainer in its name, so that their results do not mix."""
        info, explainer = self.detector.info, self.explainer
        explained = f"explained by {explainer.name} {explainer.revision[:12]}".rstrip()
        return replace(info, name=f"{info.name}, {explained}")

    def detect(
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection:
        """Check one answer."""
        read = read_sources(sources)
        return self._graded(
            self.detector.detect(sources=read, answer=answer, question=question), read
        )

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check many answers, in order; a failed check gives its error."""
        waiting = deque[Example]()

        def watched() -> Iterator[Example]:
            for example in examples:
                waiting.append(example)
                yield example

        for verdict in self.detector.detect_batch(watched()):
            sources = waiting.popleft().sources
            yield self._graded(verdict, sources) if isinstance(verdict, Detection) else verdict

    def close(self) -> None:
        """Close the detector, if it can be closed."""
        if close := getattr(self.detector, "close", None):
            close()

    def _graded(self, detection: Detection, sources: tuple[Source, ...]) -> Detection:
        explained = self.explainer.explain(detection, sources)
        graded = as_explained(explained.detection, explained.explanations)
        return replace(graded, detector=self.info)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadExplained:
    """Loads a detector with an explainer; it can be pickled for worker processes."""

    load: Callable[[DetectorChoice], AnyDetector]
    load_explainer: Callable[[], AnyExplainer]

    def __call__(self, choice: DetectorChoice) -> ExplainedDetector:
        """Load the detector that is chosen, and the explainer."""
        return ExplainedDetector(detector=self.load(choice), explainer=self.load_explainer())
