"""The interface of LettuceDetect's ``HallucinationDetector``, for code that was written for it.

::

    from groundwire.compat.lettucedetect import HallucinationDetector

    detector = HallucinationDetector(method="transformer", model_path=None)
    detector.predict(context=[...], question="...", answer="...", output_format="spans")

LettuceDetect reads a long context in parts, and flags a word unless every part supports it. So it
flags every fact that only one part states. Here, a word is flagged only if no part supports it. For
new code, use :class:`groundwire.Detector`.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from groundwire.compat.embedded import EMBEDDED, EmbeddedReader
from groundwire.detection.spans import reduce_tokens
from groundwire.detection.values import Detection, Outcome
from groundwire.engine.scores import TokenScores
from groundwire.errors import DetectionError, SettingError

if TYPE_CHECKING:
    from groundwire.detector import Detector
    from groundwire.engine.windowing import TokenClassifier

#: The threshold of the published models, which flag a word by its more probable class.
ARGMAX = 0.5

# The published models were trained on the prompts from which RAGTruth's answers were written
# (https://github.com/ParticleMedia/RAGTruth), so their input needs the words of these prompts.
_ASKED = (
    "Briefly answer the following question:\n{question}\n"
    "Bear in mind that your response should be strictly based on the following {n} passages:\n"
    "{passages}\n"
    "In case the passages do not contain the necessary information to answer the question, please "
    'reply with: "Unable to answer based on given passages."\n'
    "output:"
)
_SUMMARY = "Summarize the following text:\n{passages}\noutput:"


#: A span or a word piece of an answer; :meth:`HallucinationDetector.predict` lists its keys.
Prediction: TypeAlias = dict[str, Any]


class HallucinationDetector:
    """Finds the parts of an answer that its context does not support."""

    def __init__(
        self,
        method: str = "transformer",
        model_path: str | Path | None = None,
        *,
        revision: str | None = None,
        max_length: int = 4096,
        device: object = None,
        lang: str = "en",
    ) -> None:
        """Load a model; the embedded reader is loaded only by the first prediction.

        Args:
            method: ``transformer``. Other methods of LettuceDetect are not available.
            model_path: Hub id or folder of a token classifier. ``None``, ``groundwire`` and
                ``reader`` mean the embedded reader, for which revision, max_length and device are
                ignored.
            revision: Commit of a hub model, 40 hexadecimal digits.
            max_length: Limit on the word pieces of one pass; a longer context is read in parts.
            device: ``cpu``, ``cuda`` or ``cuda:N``, as a text or an object such as
                ``torch.device``; ``None`` means the CPU.
            lang: ``en``. Other languages are not available.

        Raises:
            SettingError: If a setting is not possible.
            UnpinnedModelError: If the revision of a hub model is not a commit, or is missing and
                not in :data:`groundwire.engine.checkpoints.PINS`.
            ModelError: If the model cannot be used.
            DetectionError: If a token classifier fails on a short trial text.
        """
        if method != "transformer":
            raise SettingError("method", method, "'transformer'")
        if lang != "en":
            raise SettingError("lang", lang, "'en'; for other languages use groundwire.Detector")
        self._checkpoint: TokenClassifier | None = None
        if model_path is None or str(model_path) in EMBEDDED:
            return
        from groundwire.engine.checkpoints import load_checkpoint

        self._checkpoint = load_checkpoint(
            model_path,
            revision=revision,
            device="cpu" if device is None else str(device),
            max_length=max_length,
        )

    def predict(
        self,
        context: Sequence[str] | str,
        answer: str,
        question: str | None = None,
        output_format: str = "tokens",
    ) -> list[Prediction]:
        """Judge an answer.

        Args:
            context: The passages that must support the answer, or a single passage.
            answer: The text to judge. If it is blank, nothing is found.
            question: The question; ``None`` for a summary.
            output_format: ``spans`` or ``tokens``.

        Returns:
            For ``spans``, the spans in reading order, with the keys ``start``, ``end``, ``text``
            (which is ``answer[start:end]``) and ``confidence``, P(not supported). Spans of a
            checkpoint may begin with a space; spans of the embedded reader do not.
            For ``tokens``, the word pieces of the answer, with the keys ``token`` (its text),
            ``pred`` (0, or 1 if flagged) and ``prob``, P(not supported).

        Raises:
            SettingError: If there is no such format.
            DetectionError: If a part of the answer could not be judged. With ``spans`` and the
                embedded reader, the error is raised only if there are no spans, and the outcome is
                neither ``grounded`` nor ``skipped``.
        """
        passages = [context] if isinstance(context, str) else list(context)
        return self._predict(passages, question, answer, output_format)

    def predict_prompt(
        self, prompt: str, answer: str, output_format: str = "tokens"
    ) -> list[Prediction]:
        """Judge an answer against the prompt from which it was written; see :meth:`predict`."""
        return self._predict([prompt], None, answer, output_format, is_prompt=True)

    def predict_prompt_batch(
        self, prompts: Sequence[str], answers: Sequence[str], output_format: str = "tokens"
    ) -> list[list[Prediction]]:
        """Judge each answer against its prompt, as :meth:`predict_prompt` does.

        Raises:
            ValueError: If there are not as many answers as prompts.
        """
        return [
            self.predict_prompt(prompt, answer, output_format)
            for prompt, answer in zip(prompts, answers, strict=True)
        ]

    def _predict(
        self,
        passages: Sequence[str],
        question: str | None,
        answer: str,
        output_format: str,
        *,
        is_prompt: bool = False,
    ) -> list[Prediction]:
        if output_format not in ("spans", "tokens"):
            raise SettingError("output_format", output_format, "'spans' or 'tokens'")
        if not answer.strip():
            return []
        model = self._checkpoint
        if model is None:
            return self._predict_embedded(passages, question, answer, output_format)
        prompts = passages if is_prompt else _prompts(model, passages, question, answer)
        reads = [model.read(prompt, None, answer) for prompt in prompts]
        # A word is unsupported only if no prompt supports it.
        lowest = np.min([read.probabilities for read in reads], axis=0)
        return _predictions(TokenScores(reads[0].offsets, lowest), answer, output_format)

    @cached_property
    def _detector(self) -> "Detector":
        from groundwire.detector import Detector

        return Detector.load()

    def _predict_embedded(
        self, passages: Sequence[str], question: str | None, answer: str, output_format: str
    ) -> list[Prediction]:
        detector = self._detector
        if output_format == "spans":
            return _spans_of(detector.detect(sources=passages, question=question, answer=answer))
        threshold = detector.info.threshold
        scores = EmbeddedReader(detector, threshold=threshold).read_sources(
            passages, question, answer
        )
        return _tokens(scores, answer, threshold)


def _spans_of(detection: Detection) -> list[Prediction]:
    """Return the spans of a detection.

    Raises:
        DetectionError: If there are no spans, and the outcome is neither ``grounded`` nor
            ``skipped``. An answer that claims nothing, such as a greeting, is ``skipped`` if there
            is evidence; the list for it is empty.
    """
    if not detection.spans and detection.outcome not in (Outcome.GROUNDED, Outcome.SKIPPED):
        reasons = ", ".join(map(str, detection.coverage.reasons)) or "no reason given"
        raise DetectionError(
            f"The answer is {detection.outcome} ({reasons}): no span was found, and an empty list "
            "would say that nothing is wrong. Detector.detect() returns the outcome and its "
            "coverage."
        )
    return [
        {"start": s.start, "end": s.end, "text": s.text, "confidence": s.probability}
        for s in detection.spans
    ]


def _prompts(
    model: "TokenClassifier", passages: Sequence[str], question: str | None, answer: str
) -> list[str]:
    """Return a prompt like those that the model was trained on, or several if one is too long."""
    whole = _prompt(passages, question)
    room = model.context_room(None, answer)
    if model.count(whole) <= room:
        return [whole]
    room -= model.count(_prompt([], question))
    groups: list[list[str]] = []
    left = 0
    for passage in passages:
        n_tokens = model.count(_line(len(passages), passage)) + 1  # 1 for the line break
        if not groups or n_tokens > left:
            groups.append([])
            left = room
        groups[-1].append(passage)
        left -= n_tokens
    # If a single passage does not fit, the model reads its prompt in windows.
    return [_prompt(group, question) for group in groups] or [whole]


def _prompt(passages: Sequence[str], question: str | None) -> str:
    lines = "\n".join(_line(i, passage) for i, passage in enumerate(passages, start=1))
    if question is None or not question.strip():
        return _SUMMARY.format(passages=lines)
    return _ASKED.format(question=question, n=len(passages), passages=lines)


def _line(number: int, passage: str) -> str:
    return f"passage {number}: {passage}"


def _predictions(scores: TokenScores, answer: str, output_format: str) -> list[Prediction]:
    if output_format == "tokens":
        return _tokens(scores, answer, ARGMAX)
    reduced = reduce_tokens(scores.offsets, scores.probabilities, answer, threshold=ARGMAX)
    return [
        {"start": s.start, "end": s.end, "text": answer[s.start : s.end], "confidence": s.score}
        for s in reduced.spans
    ]


def _tokens(scores: TokenScores, answer: str, threshold: float) -> list[Prediction]:
    # Called only because it raises an error if a score is not a number.
    reduce_tokens(scores.offsets, scores.probabilities, answer, threshold=threshold)
    flagged = scores.probabilities >= np.float32(threshold)
    rows = zip(
        scores.offsets.tolist(), flagged.tolist(), scores.probabilities.tolist(), strict=True
    )
    return [
        {"token": answer[start:end], "pred": int(is_flagged), "prob": probability}
        for (start, end), is_flagged, probability in rows
    ]
