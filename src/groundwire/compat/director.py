"""Director-AI's span detector, under its names: for code that was written against it.

It flags the same spans, given the same model: the threshold is inclusive, and spans are as the
tokenizer cuts them. Two limits are gone: a context longer than ``max_length`` is read in windows
rather than cut at its end, and a missing device is reported. For new code, use
:class:`groundwire.Detector`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from groundwire.compat.embedded import EMBEDDED, EmbeddedReader, ReadsAnswers
from groundwire.detection.spans import Offsets, Scores, reduce_tokens
from groundwire.engine.scores import TokenScores
from groundwire.errors import DetectionError, SettingError

#: The checkpoint that Director-AI uses.
DEFAULT_MODEL = "anulum/director-ragtruth-token-modernbert"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorConfig:
    """The settings of span detection, with Director-AI's defaults.

    Attributes:
        span_detection_enabled: Whether answers are checked; off unless asked for.
        span_model: Hub id or folder of a token classifier; ``groundwire`` is the embedded reader.
        span_model_revision: Commit of a hub model; empty takes the one we pin.
        span_token_threshold: A word piece at or above it is flagged, in [0, 1].
        span_min_tokens: Flagged word pieces from which on an answer is hallucinated, 1 or more.
        span_max_length: Word pieces of one pass, special tokens included, at least 16.
        span_device: CUDA device, or -1 for the CPU.
    """

    span_detection_enabled: bool = False
    span_model: str = DEFAULT_MODEL
    span_model_revision: str = ""
    span_token_threshold: float = 0.95
    span_min_tokens: int = 1
    span_max_length: int = 1024
    span_device: int = -1

    def __post_init__(self) -> None:
        _check(self.span_token_threshold, self.span_min_tokens, prefix="span_")
        if self.span_max_length < 16:
            raise SettingError("span_max_length", self.span_max_length, "16 or more")
        if self.span_device < -1:
            raise SettingError("span_device", self.span_device, "-1 (CPU) or a device's number")


@dataclass(frozen=True, slots=True)
class HallucinatedSpan:
    """A run of flagged word pieces: ``response[start:end] == text``, outer white space included.

    ``score`` is P(hallucinated) of its highest word piece, in [0, 1].
    """

    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SpanDetection:
    """The findings in a response.

    Attributes:
        hallucinated: Whether at least ``min_tokens`` word pieces are flagged; if not, there may be
            spans nevertheless.
        spans: The spans, in reading order.
        max_token_score: The highest score of any word piece, flagged or not.
        flagged_tokens: Word pieces at or above the threshold, those of no width left out.
        response_tokens: All word pieces of the response.
    """

    hallucinated: bool
    spans: tuple[HallucinatedSpan, ...] = field(default=())
    max_token_score: float = 0.0
    flagged_tokens: int = 0
    response_tokens: int = 0

    @property
    def coverage(self) -> float:
        """Share of the word pieces that are flagged, in [0, 1]; 0 if there are none."""
        return self.flagged_tokens / self.response_tokens if self.response_tokens else 0.0


def merge_flagged_spans(
    offsets: Offsets, scores: Scores, response: str, threshold: float
) -> tuple[tuple[HallucinatedSpan, ...], int, float]:
    """Join flagged word pieces into spans.

    Args:
        offsets: Half-open character ranges, one for each word piece.
        scores: P(hallucinated) of each, in [0, 1].
        response: The text of the offsets.
        threshold: Threshold in [0, 1], inclusive.

    Returns:
        The spans, how many word pieces are flagged, and the highest score of all.

    Raises:
        SettingError: If the threshold is outside its range.
        DetectionError: If a score is not a number.
    """
    reduced = reduce_tokens(offsets, scores, response, threshold=threshold, allow_zero=True)
    spans = tuple(
        HallucinatedSpan(span.start, span.end, response[span.start : span.end], span.score)
        for span in reduced.spans
    )
    return spans, reduced.n_flagged, reduced.max_score


class HallucinationSpanDetector:
    """Flags the stretches of a response that its context does not support."""

    def __init__(
        self,
        model: ReadsAnswers | None,
        tokenizer: object,
        *,
        token_threshold: float = 0.95,
        min_tokens: int = 1,
        max_length: int = 1024,
    ) -> None:
        """Put a detector together; :meth:`from_pretrained` is the usual way.

        Args:
            model: Something with ``read(context, question, answer)``, such as a loaded checkpoint.
            tokenizer: The tokenizer of the model; it is not used here, since models read text.
            token_threshold: A word piece at or above it is flagged, in [0, 1].
            min_tokens: Flagged word pieces from which on a response is hallucinated.
            max_length: Word pieces of one pass; it is the model's, and not used here.

        Raises:
            SettingError: (a ``ValueError``) If one of them is missing or outside its range.
        """
        if not isinstance(model, ReadsAnswers):
            raise SettingError(
                "model",
                model,
                "something with read(context, question, answer); "
                "HallucinationSpanDetector.from_pretrained() loads a checkpoint",
            )
        if tokenizer is None:
            raise SettingError("tokenizer", tokenizer, "the tokenizer of the model")
        _check(token_threshold, min_tokens)
        self.model, self.tokenizer = model, tokenizer
        self.token_threshold, self.min_tokens = token_threshold, min_tokens
        self.max_length = max_length

    @classmethod
    def from_pretrained(
        cls,
        model_id: str = DEFAULT_MODEL,
        *,
        revision: str | None = None,
        device: int = -1,
        token_threshold: float = 0.95,
        min_tokens: int = 1,
        max_length: int = 1024,
    ) -> Self:
        """Load a token classifier, or the embedded reader under the name ``groundwire``.

        Args:
            model_id: Hub id, local folder, ``groundwire`` or ``reader``.
            revision: Commit of a hub model; ``None`` or empty takes the one we pin.
            device: CUDA device, or -1 for the CPU; if it is not there, a warning and the CPU.
            token_threshold: A word piece at or above it is flagged, in [0, 1].
            min_tokens: Flagged word pieces from which on a response is hallucinated.
            max_length: Word pieces of one pass; longer texts are read in windows.

        Raises:
            UnpinnedModelError: (a ``ValueError``) If a hub model has no pinned revision.
            MissingExtraError: (an ``ImportError``) If it must be exported and the extra is absent.
            SettingError: (a ``ValueError``) If a setting is outside its range.
            ModelError: If the model cannot be used.
        """
        _check(token_threshold, min_tokens)
        settings = {
            "token_threshold": token_threshold,
            "min_tokens": min_tokens,
            "max_length": max_length,
        }
        if model_id in EMBEDDED:
            from groundwire.detector import Detector

            reader = EmbeddedReader(Detector.load(), threshold=token_threshold)
            return cls(reader, reader, **settings)  # type: ignore[arg-type]
        from groundwire.engine.checkpoints import load_checkpoint

        model = load_checkpoint(
            model_id,
            revision=revision or None,
            device="cpu" if device < 0 else f"cuda:{device}",
            max_length=max_length,
        )
        return cls(model, model.tokenizer, **settings)  # type: ignore[arg-type]

    def detect(self, context: str | None, response: str | None) -> SpanDetection:
        """Check a response against its context.

        Args:
            context: The text that the response may rest on; ``None`` is the empty text.
            response: The text to check. Without visible text the model is not called, and nothing
                is found.

        Raises:
            DetectionError: If the model failed, or gave a score that is not a number.
        """
        if response is None or not response.strip():
            return SpanDetection(hallucinated=False)
        scores: TokenScores = self.model.read(context or "", None, response)
        spans, flagged, max_score = merge_flagged_spans(
            scores.offsets, scores.probabilities, response, self.token_threshold
        )
        return SpanDetection(flagged >= self.min_tokens, spans, max_score, flagged, len(scores))


class ProductionGuard:
    """Holds a configuration, and the span detector that it describes."""

    def __init__(self, config: DirectorConfig | None = None) -> None:
        self.config = config or DirectorConfig()

    @cached_property
    def span_detector(self) -> HallucinationSpanDetector:
        """The detector, loaded when it is first asked for."""
        config = self.config
        return HallucinationSpanDetector.from_pretrained(
            config.span_model,
            revision=config.span_model_revision,
            device=config.span_device,
            token_threshold=config.span_token_threshold,
            min_tokens=config.span_min_tokens,
            max_length=config.span_max_length,
        )

    def detect_spans(self, context: str | None, response: str | None) -> SpanDetection:
        """Check a response against its context.

        Raises:
            DetectionError: (a ``RuntimeError``) If span detection is disabled, or failed.
        """
        if not self.config.span_detection_enabled:
            raise DetectionError(
                "span detection is disabled. Enable it: "
                "DirectorConfig(span_detection_enabled=True)."
            )
        return self.span_detector.detect(context, response)


def _check(token_threshold: float, min_tokens: int, *, prefix: str = "") -> None:
    if not 0 <= token_threshold <= 1:
        raise SettingError(f"{prefix}token_threshold", token_threshold, "in [0, 1]")
    if min_tokens < 1:
        raise SettingError(f"{prefix}min_tokens", min_tokens, "1 or more")
