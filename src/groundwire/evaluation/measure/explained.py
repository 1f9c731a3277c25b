"""A detector whose spans are graded by an explainer, which can also drop spans."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import tee
from typing import TYPE_CHECKING

from groundwire.detection.any_detector import AnyDetector
from groundwire.detection.example import Example, Source, SourceLike, read_sources
from groundwire.detection.values import Detection, DetectorInfo
from groundwire.errors import GroundwireError
from groundwire.pipeline.explaining import as_explained

if TYPE_CHECKING:
    from groundwire.explain import Explainer


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDetector:
    """A detector whose detections are revised by an explainer.

    Spans get the labels and severities that the explainer gives them, as
    :func:`groundwire.pipeline.explaining.as_explained` says. Spans that the explainer drops are
    removed.
    """

    detector: AnyDetector
    explainer: "Explainer"

    @property
    def info(self) -> DetectorInfo:
        """The info of the detector, with the explainer added to the detector's name.

        The name thus tells results with and without the explainer apart.
        """
        info, explainer = self.detector.info, self.explainer
        explained = f"explained by {explainer.name} {explainer.revision[:12]}".rstrip()
        return replace(info, name=f"{info.name}, {explained}")

    def detect(
        self, *, sources: Iterable[SourceLike], answer: str, question: str | None = None
    ) -> Detection:
        """Check one answer, and revise the detection."""
        read = read_sources(sources)
        found = self.detector.detect(sources=read, answer=answer, question=question)
        return self._graded(found, read)

    def detect_batch(self, examples: Iterable[Example]) -> Iterator[Detection | GroundwireError]:
        """Check answers in order; yield each revised detection, or the error if the check fails."""
        to_check, checked = tee(examples)
        for verdict in self.detector.detect_batch(to_check):
            sources = next(checked).sources
            yield self._graded(verdict, sources) if isinstance(verdict, Detection) else verdict

    def _graded(self, detection: Detection, sources: tuple[Source, ...]) -> Detection:
        explained = self.explainer.explain(detection, sources)
        graded = as_explained(explained.detection, explained.explanations)
        return replace(graded, detector=self.info)
