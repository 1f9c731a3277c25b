"""The interface of Director-AI's span detector, for code that was written for it.

With the same model, this detector flags the same spans as Director-AI's, unless the context is too
long for one pass: Director-AI then cuts off the end of the context, and this detector reads the
context in windows. The threshold is inclusive, and spans begin and end where word pieces (the
model's tokens) do. Unlike Director-AI, this detector warns if the device is missing. For new code,
use :class:`groundwire.Detector`.
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
        span_detection_enabled: Whether responses can be checked.
        span_model: Hub id or folder of a token classifier; ``groundwire`` means the embedded
            reader.
        span_model_revision: Commit of a hub model; empty for the commit in
            :data:`groundwire.engine.checkpoints.PINS`.
        span_token_threshold: A word piece with this P(hallucinated) or more is flagged; in [0, 1].
        span_min_tokens: An answer is hallucinated if at least this many word pieces are flagged.
        span_max_length: Limit on the word pieces of one pass, special tokens included; at least 16.
        span_device: Number of the CUDA device, or -1 for the CPU.

    Raises:
        SettingError: If a number is outside its range.
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
    """A run of flagged word pieces.

    ``text`` is ``response[start:end]`` and may begin or end with white space. ``score`` is the
    highest P(hallucinated) of its word pieces, in [0, 1].
    """

    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SpanDetection:
    """The result of the check of a response.

    Attributes:
        hallucinated: Whether at least ``min_tokens`` word pieces are flagged.
        spans: The spans, in reading order.
        max_token_score: The highest score of any word piece, flagged or not.
        flagged_tokens: Number of flagged word pieces, without word pieces of zero width.
        response_tokens: Number of word pieces that were judged.
    """

    hallucinated: bool
    spans: tuple[HallucinatedSpan, ...] = field(default=())
    max_token_score: float = 0.0
    flagged_tokens: int = 0
    response_tokens: int = 0

    @property
    def coverage(self) -> float:
        """Share of the word pieces that are flagged, in [0, 1]; 0 if no word piece was judged."""
        return self.flagged_tokens / self.response_tokens if self.response_tokens else 0.0


def merge_flagged_spans(
    offsets: Offsets, scores: Scores, response: str, threshold: float
) -> tuple[tuple[HallucinatedSpan, ...], int, float]:
    """Join flagged word pieces into spans.

    Args:
        offsets: Half-open character ranges, one for each word piece.
        scores: P(hallucinated) of each word piece, in [0, 1].
        response: The text that the offsets refer to.
        threshold: A word piece with this score or more is flagged, unless its range is empty; in
            [0, 1].

    Returns:
        The spans, the number of flagged word pieces, and the highest score of any word piece.

    Raises:
        SettingError: If the threshold is outside its range.
        DetectionError: If a score is not a number.
        ValueError: If offsets and scores differ in length.
    """
    reduced = reduce_tokens(offsets, scores, response, threshold=threshold, allow_zero=True)
    spans = tuple(
        HallucinatedSpan(span.start, span.end, response[span.start : span.end], span.score)
        for span in reduced.spans
    )
    return spans, reduced.n_flagged, reduced.max_score


class HallucinationSpanDetector:
    """Flags the parts of a response that its context does not support."""

    def __init__(
        self,
        model: ReadsAnswers | None,
        tokenizer: object,
        *,
        token_threshold: float = 0.95,
        min_tokens: int = 1,
        max_length: int = 1024,
    ) -> None:
        """Make a detector of a model that is loaded already; :meth:`from_pretrained` loads one.

        Args:
            model: An object with ``read(context, question, answer)``, such as a loaded checkpoint.
            tokenizer: The tokenizer of the model. It must be given, but is not used.
            token_threshold: A word piece with this P(hallucinated) or more is flagged; in [0, 1].
            min_tokens: A response is hallucinated if at least this many word pieces are flagged.
            max_length: Limit on the word pieces of one pass; it is not used.

        Raises:
            SettingError: (a ``ValueError``) If an argument is missing or not possible.
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
        """Load a token classifier or the embedded reader, and make a detector of the model.

        Args:
            model_id: Hub id or folder of a token classifier. ``groundwire`` and ``reader`` mean the
                embedded reader, for which revision, device and max_length are ignored.
            revision: Commit of a hub model; ``None`` or empty for the commit in
                :data:`groundwire.engine.checkpoints.PINS`.
            device: Number of the CUDA device, or -1 for the CPU. If there is no such device, a
                warning is given and the CPU is used.
            token_threshold: A word piece with this P(hallucinated) or more is flagged; in [0, 1].
            min_tokens: A response is hallucinated if at least this many word pieces are flagged.
            max_length: Limit on the word pieces of one pass; longer texts are read in windows.

        Raises:
            UnpinnedModelError: (a ``ValueError``) If the revision of a hub model is not a commit,
                or is missing and not in ``PINS``.
            MissingExtraError: (an ``ImportError``) If the model has no ONNX graph or no
                ``tokenizer.json``, and the ``train`` extra is not installed.
            SettingError: (a ``ValueError``) If a setting is not possible.
            ModelError: If the model cannot be used for another reason.
            DetectionError: (a ``RuntimeError``) If a token classifier fails on a short trial text.
        """
        _check(token_threshold, min_tokens)
        model: ReadsAnswers
        tokenizer: object
        if model_id in EMBEDDED:
            from groundwire.detector import Detector

            model = tokenizer = EmbeddedReader(Detector.load(), threshold=token_threshold)
        else:
            from groundwire.engine.checkpoints import load_checkpoint

            model = load_checkpoint(
                model_id,
                revision=revision or None,
                device="cpu" if device < 0 else f"cuda:{device}",
                max_length=max_length,
            )
            tokenizer = model.tokenizer
        return cls(
            model,
            tokenizer,
            token_threshold=token_threshold,
            min_tokens=min_tokens,
            max_length=max_length,
        )

    def detect(self, context: str | None, response: str | None) -> SpanDetection:
        """Check a response against its context.

        Args:
            context: The text that must support the response; ``None`` means an empty text.
            response: The text to check. If it is ``None`` or blank, nothing is found.

        Raises:
            DetectionError: If the model could not judge all of the response. The embedded reader
                needs a context that is not empty.
        """
        if response is None or not response.strip():
            return SpanDetection(hallucinated=False)
        scores: TokenScores = self.model.read(context or "", None, response)
        spans, flagged, max_score = merge_flagged_spans(
            scores.offsets, scores.probabilities, response, self.token_threshold
        )
        return SpanDetection(flagged >= self.min_tokens, spans, max_score, flagged, len(scores))


class ProductionGuard:
    """Director-AI's entry point: a configuration, and the span detector that it describes."""

    def __init__(self, config: DirectorConfig | None = None) -> None:
        self.config = config or DirectorConfig()

    @cached_property
    def span_detector(self) -> HallucinationSpanDetector:
        """The detector; its model is loaded at the first access."""
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
            GroundwireError: If the model, which is loaded when it is first needed, cannot be
                loaded; see :meth:`HallucinationSpanDetector.from_pretrained`. The next call tries
                again.
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
