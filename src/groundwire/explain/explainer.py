"""The explainer: it scores claims with a model, explains spans, and can drop false positives."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Self

from groundwire.detection import values
from groundwire.detection.comparison.finding import Explanation
from groundwire.detection.example import SourceLike, read_sources
from groundwire.detection.values import Detection, Entailment, EvidenceRef, JsonRecord
from groundwire.engine.models import find_reader, verify
from groundwire.engine.settings import check_for_embedded, n_threads
from groundwire.errors import UnreadableError
from groundwire.explain import explanations
from groundwire.text.segment.characters import ALNUM

#: Names of the default explainer, which uses a reader. The last name is for configurations that
#: were written for HaluGate, the hallucination check of vLLM's Semantic Router.
EMBEDDED = ("reader", "embedded", "models/halugate-explainer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained(JsonRecord):
    """A detection with explanations of its spans, without spans that the explainer drops.

    Values that differ only in ``timing_ms`` are equal.

    Attributes:
        detection: The detection without the dropped spans. The labels of its claims and its outcome
            follow from the remaining spans; everything else is unchanged.
        explanations: One explanation for each span of ``detection``, in the same order.
        dropped: One explanation for each span that was dropped.
        reason: The class name of the first error in explaining, or ``None``. Spans that could not
            be judged stay marked, and their explanations say so.
        timing_ms: Wall time in milliseconds.
    """

    detection: Detection
    explanations: tuple[Explanation, ...]
    dropped: tuple[Explanation, ...] = ()
    reason: str | None = None
    timing_ms: float = field(default=0.0, compare=False)

    @classmethod
    def failed(cls, detection: Detection, reason: str) -> Self:
        """Make the result of an explainer that failed: all spans stay, and ``reason`` says why."""
        left = tuple(explanations.unexplained(span, reason) for span in detection.spans)
        return cls(detection=detection, explanations=left, reason=reason)


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """Explains why words were marked, and can drop spans whose claims follow from the evidence.

    :meth:`load` makes an explainer from a model. An explainer keeps no state between calls, so
    threads may share it.

    Attributes:
        judge: Function that takes a claim and lines of evidence, and returns P(entailed),
            P(neutral) and P(contradicted).
        name: Name of the explainer.
        revision: Revision of the model behind ``judge``: the commit of a hub model, or a hash of
            its files.
        takes_detectors: Whether to use the detector's entailment of the claims instead of calling
            ``judge``, if all claims with spans have it.
        threshold: If a span's label has a lower probability than this, the severity of the span may
            be one lower; in (0, 1].
        entailment_threshold: A span is a false positive only if its claim has this P(entailed) or
            more; in (0, 1].
        drops_entailed: Whether false positives are dropped.

    Raises:
        SettingError: If a threshold is outside its range.
    """

    judge: explanations.JudgeEntailment
    _: KW_ONLY
    name: str = "custom"
    revision: str = ""
    takes_detectors: bool = False
    threshold: float = explanations.THRESHOLD
    entailment_threshold: float = explanations.ENTAILMENT_THRESHOLD
    drops_entailed: bool = True

    def __post_init__(self) -> None:
        explanations.require_thresholds(self.threshold, self.entailment_threshold)

    @classmethod
    def load(
        cls,
        model: str | Path | None = None,
        *,
        revision: str | None = None,
        threshold: float = explanations.THRESHOLD,
        drops_entailed: bool = True,
        entailment_threshold: float = explanations.ENTAILMENT_THRESHOLD,
        device: str = "cpu",
        threads: int | None = None,
    ) -> Self:
        """Load a model and make an explainer of it.

        Args:
            model: A folder with a reader or an NLI model, ``"reader-small"`` or ``"reader-base"``,
                or the id of an NLI model on the Hugging Face hub. ``None`` or a name of
                :data:`EMBEDDED`: the best installed reader, unless the environment variable
                ``GROUNDWIRE_READER`` names another. The explainer then reads no claim if the
                detector gave the entailment of all claims with spans.
            revision: Commit of a hub model, 40 hexadecimal digits.
            threshold: If a span's label has a lower probability than this, the severity of the span
                may be one lower; in (0, 1].
            drops_entailed: Whether false positives are dropped.
            entailment_threshold: A span is a false positive only if its claim has this P(entailed)
                or more; in (0, 1].
            device: ``cpu`` or ``cuda:N``, for NLI models; readers run on the CPU.
            threads: CPU threads, at most 256; by default one for each processor this process may
                use.

        Raises:
            UnknownModelError: If there is no such model.
            UnpinnedModelError: If a hub model has no pinned revision.
            CorruptModelError: If a file is missing, or does not have the hash that the manifest
                gives.
            ModelError: If the model is not installed, or cannot be fetched or opened, or is neither
                a reader nor an NLI model with named classes.
            MissingExtraError: If the model has no ONNX graph or no ``tokenizer.json``, and the
                ``train`` extra is not installed.
            DetectionError: If an NLI model fails on a short text.
            SettingError: If a setting is not possible.
        """
        n_threads(threads)  # raises an error if the number is not allowed
        is_embedded = model is None or str(model) in EMBEDDED
        manifest = find_reader(None if is_embedded else model)
        judge: explanations.JudgeEntailment
        if manifest is not None:
            from groundwire.engine.reader import Reader

            check_for_embedded(revision=revision, device=device, max_length=None)
            verify(manifest)
            # No cache, so that tenants do not share results.
            judge = Reader.load_alone(manifest, threads=threads, cache_bytes=0).entailment
            pinned = manifest.revision
        else:
            from groundwire.engine.entailment import EntailmentModel

            opened = EntailmentModel(str(model), revision=revision, device=device, threads=threads)
            judge, pinned = opened, opened.revision
        return cls(
            judge,
            name="reader" if is_embedded else str(model),
            revision=pinned,
            takes_detectors=is_embedded,
            threshold=threshold,
            entailment_threshold=entailment_threshold,
            drops_entailed=drops_entailed,
        )

    def entailment(self, hypothesis: str, evidence: Sequence[EvidenceRef]) -> Entailment:
        """Judge with the model whether lines of evidence entail or contradict a claim.

        Args:
            hypothesis: The claim.
            evidence: A few lines, such as those that :func:`groundwire.explain.best_lines` chooses.

        Raises:
            UnreadableError: If there is no evidence, or nothing in the claim can be read. A reader
                raises it too if nothing in the evidence can be read.
            DetectionError: If the loaded model failed. A ``judge`` of another kind may raise other
                errors.
        """
        if not evidence or not ALNUM.search(hypothesis):
            raise UnreadableError
        return self.judge(hypothesis, tuple(evidence))

    def explain(self, detection: Detection, sources: Iterable[SourceLike]) -> Explained:
        """Explain each span of a detection; with ``drops_entailed``, drop false positives.

        Args:
            detection: The detection; it is not changed.
            sources: The sources that the answer was checked with, in the same order.

        Returns:
            The detection with the remaining spans, and the explanations. If the model fails, no
            error is raised: the spans stay marked, and the result has the reason.

        Raises:
            InputError: If the sources are invalid: :class:`.InvalidSourceError` or
                :class:`.InvalidTextError`.
        """
        started, read = perf_counter(), read_sources(sources)
        marked = [claim for claim in detection.claims if claim.spans]
        is_known = all(claim.entailment is not None for claim in marked)
        try:
            found = explanations.explain(
                detection,
                read,
                None if is_known and self.takes_detectors else self.judge,
                threshold=self.threshold,
                entailment_threshold=self.entailment_threshold,
            )
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the spans stay marked
            found = Explained.failed(detection, type(error).__name__).explanations
        is_dropped = [self.drops_entailed and each.is_false_positive for each in found]
        return Explained(
            detection=without_spans(detection, is_dropped) if any(is_dropped) else detection,
            explanations=tuple(e for e, out in zip(found, is_dropped, strict=True) if not out),
            dropped=tuple(e for e, out in zip(found, is_dropped, strict=True) if out),
            reason=next((each.reason for each in found if each.reason is not None), None),
            timing_ms=round(1000 * (perf_counter() - started), 3),
        )


def without_spans(detection: Detection, is_dropped: Sequence[bool]) -> Detection:
    """Return a detection without some of its spans, with new labels of claims and a new outcome.

    ``is_dropped`` tells for each of ``detection.spans`` whether it is left out.
    """
    flags = iter(is_dropped)
    kept = []
    for claim in detection.claims:
        spans = tuple(span for span in claim.spans if not next(flags))
        kept.append(replace(claim, spans=spans, label=values.claim_label(spans, claim.reason)))
    claims = tuple(kept)
    return replace(
        detection, claims=claims, outcome=values.decide_outcome(claims, detection.coverage)
    )
