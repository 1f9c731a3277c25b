"""LettuceDetect's own package as a detector.

Its checkpoints also load into our engine, by folder or hub id; our engine joins sources and marks
words differently, and so gives other numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any

from groundwire.detection.example import Source
from groundwire.detection.values import Reason
from groundwire.engine.checkpoints import content_hash, pinned_revision
from groundwire.engine.scores import ClaimScores
from groundwire.errors import AnswerFailedError, ModelError
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading
from groundwire.text.segment import Segment

#: The first version that divides long contexts into groups of passages instead of cutting them.
OLDEST = (0, 2)
#: Most word pieces that its prompt template takes.
_TEMPLATE_PIECES = 128


class NoLettuceDetectError(ModelError, ImportError):
    """LettuceDetect's package is not installed, or too old."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"lettucedetect:MODEL needs LettuceDetect's package, {self.problem}. Install it: "
            "pip install 'lettucedetect>=0.2'. Its checkpoints load without it too: "
            "--detector MODEL."
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LettuceJudge(AdapterBackend):
    """Marks the words that the package marks, and reports passages that it cut.

    The package gives no probability for words that it does not mark, so they count as 0.
    """

    detector: Any
    # The package configures its tokenizer in each call, which is not thread-safe.
    _turn: Lock = field(default_factory=Lock)

    @classmethod
    def load(cls, model: str, *, revision: str | None, device: str) -> "LettuceJudge":
        """Load a model by the package.

        Raises:
            NoLettuceDetectError: If it is not installed, or too old.
            UnpinnedModelError: If a hub model has no pinned revision.
            ModelError: If it cannot load the model.
        """
        version = _version()
        options: dict[str, Any] = {"device": device}
        if Path(model).is_dir():
            commit = content_hash(Path(model))
        else:
            commit = options["revision"] = pinned_revision(model, revision)
        try:
            from lettucedetect.models.inference import HallucinationDetector
        except ImportError as error:
            raise NoLettuceDetectError(f"which cannot be imported ({error})") from error
        try:
            detector = HallucinationDetector(method="transformer", model_path=model, **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"LettuceDetect {version} cannot load {model}: {error}") from error
        name, pinned = f"lettucedetect:{model}", f"{commit[:12]}-{version}"
        return cls(detector=detector, name=name, revision=pinned)

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "LettuceReading":
        """Begin with an answer."""
        del threshold, tenant
        return LettuceReading(self, sources, question)

    def spans(self, context: list[str], question: str | None, answer: str) -> list[Any]:
        """Ask the package for its spans."""
        with self._turn:
            found = self.detector.predict(
                context=context, question=question, answer=answer, output_format="spans"
            )
        return list(found)

    def n_over(self, text: str, question: str | None, answer: str) -> tuple[int, int]:
        """Count the word pieces of a passage, and those beyond the window."""
        inner = self.detector.detector
        with self._turn:
            n, *others = (
                len(inner.tokenizer(each, add_special_tokens=False)["input_ids"])
                for each in (text, question or "", answer)
            )
        return n, max(0, n + sum(others) + _TEMPLATE_PIECES - int(inner.max_length))


class LettuceReading(AdapterReading):
    """One answer being judged, once it is complete."""

    is_incremental = False

    def __init__(
        self, judge: LettuceJudge, sources: Sequence[Source], question: str | None
    ) -> None:
        super().__init__(judge.tables, sources)
        self._judge, self._question = judge, question
        self._texts = ["\n".join(filter(None, (each.title, each.text))) for each in sources]

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge all claims.

        Raises:
            AnswerFailedError: If the package failed.
        """
        try:
            found = self._judge.spans(self._texts, self._question, answer)
            marks = [
                (int(each["start"]), int(each["end"]), float(each["confidence"])) for each in found
            ]
            self._tell_unread(answer)
        except Exception as error:
            # The package may raise anything, and its message may quote the answer.
            raise AnswerFailedError(f"LettuceDetect failed: {type(error).__name__}.") from error
        return [self._claim(answer, segment, marks) for segment in segments]

    def _claim(
        self, answer: str, segment: Segment, marks: Sequence[tuple[int, int, float]]
    ) -> ClaimScores:
        inside = [
            (max(start, segment.start), min(end, segment.end), probability)
            for start, end, probability in marks
            if start < segment.end and end > segment.start
        ]
        places = [(start, end) for start, end, _ in inside] or [(segment.start, segment.end)]
        labels = [(1 - p, p, 0.0) for *_, p in inside] or [(1.0, 0.0, 0.0)]
        return self._judged(answer, segment, places, labels)

    def _tell_unread(self, answer: str) -> None:
        """Count what the package silently cuts off passages that exceed its window."""
        n_unread = 0
        for text in dict.fromkeys(self._texts):
            n, over = self._judge.n_over(text, self._question, answer)
            if over:
                self.reasons[Reason.DROPPED_LONG] += 1
                n_unread += max(1, len(text) * min(over, n) // n)
        indexed = max(0, self.evidence.indexed_chars - n_unread)
        self.evidence = replace(self.evidence, indexed_chars=indexed)


def _version() -> str:
    try:
        version = metadata.version("lettucedetect")
    except metadata.PackageNotFoundError as error:
        raise NoLettuceDetectError("which is not installed") from error
    parts = version.split(".")[:2]
    if tuple(int(part) if part.isdigit() else 0 for part in parts) < OLDEST:
        raise NoLettuceDetectError(f"and {version} is too old")
    return version
