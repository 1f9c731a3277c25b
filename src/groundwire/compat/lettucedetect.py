"""LettuceDetect's ``HallucinationDetector``, under its names: tutorials written for it run.

::

    from groundwire.compat.lettucedetect import HallucinationDetector

    detector = HallucinationDetector(method="transformer", model_path=None)
    detector.predict(context=[...], question="...", answer="...", output_format="spans")

LettuceDetect takes the maximum over parts of a long context, and so flags every fact that only one
part states; here one part with the evidence is enough. For new code, use
:class:`groundwire.Detector`.
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

#: The threshold of the published models, which flag by argmax.
ARGMAX = 0.5

# The published models were trained to read the prompt that RAGTruth's answers were written
# from (https://github.com/ParticleMedia/RAGTruth); it is part of their input format.
_ASKED = (
    "Briefly answer the following question:\n{question}\n"
    "Bear in mind that your response should be strictly based on the following {n} passages:\n"
    "{passages}\n"
    "In case the passages do not contain the necessary information to answer the question, please "
    'reply with: "Unable to answer based on given passages."\n'
    "output:"
)
_SUMMARY = "Summarize the following text:\n{passages}\noutput:"


#: One span or one word piece; :meth:`HallucinationDetector.predict` names the keys.
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
        """Load a model.

        Args:
            method: ``transformer``; a language model as the judge is not offered.
            model_path: Hub id or folder of a token classifier. ``None``, ``groundwire`` and
                ``reader`` are the embedded reader.
            revision: Commit of a hub model, 40 hexadecimal digits.
            max_length: Word pieces of one pass; a longer context is read in parts.
            device: ``cpu``, ``cuda`` or ``cuda:N``, or what prints as that; ``None`` is the CPU.
            lang: ``en``; prompts in other languages are not offered.

        Raises:
            SettingError: If a setting is outside its range.
            UnpinnedModelError: If a hub model has no pinned revision.
            ModelError: If the model cannot be used.
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
            context: The passages that the answer may rest on, or one.
            answer: The text to judge; without visible text nothing is found.
            question: The question; ``None`` for a summary.
            output_format: ``spans`` are in reading order, with the keys ``start``, ``end``,
                ``text`` (which is ``answer[start:end]``) and ``confidence``, P(not supported).
                ``tokens`` are all word pieces of the answer, with the keys ``token`` (its text),
                ``pred`` (0, or 1 if flagged) and ``prob``, P(not supported).

        Returns:
            Spans are as the tokenizer of the checkpoint cuts them, perhaps with a space in front;
            those of the embedded reader have none.

        Raises:
            SettingError: If there is no such format.
            DetectionError: If some of the answer was not judged, and nothing is found in the rest.
        """
        passages = [context] if isinstance(context, str) else list(context)
        _check_format(output_format)
        if not answer.strip():
            return []
        if self._checkpoint is None:
            return self._predict_embedded(passages, question, answer, output_format)
        prompts = _prompts(self._checkpoint, passages, question, answer)
        return _predictions(_read_all(self._checkpoint, prompts, answer), answer, output_format)

    def predict_prompt(
        self, prompt: str, answer: str, output_format: str = "tokens"
    ) -> list[Prediction]:
        """Judge an answer against the prompt that it was written from: :meth:`predict` has more."""
        _check_format(output_format)
        if not answer.strip():
            return []
        if self._checkpoint is None:
            return self._predict_embedded([prompt], None, answer, output_format)
        return _predictions(_read_all(self._checkpoint, [prompt], answer), answer, output_format)

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

    @cached_property
    def _detector(self) -> "Detector":
        from groundwire.detector import Detector

        return Detector.load()

    def _predict_embedded(
        self, passages: Sequence[str], question: str | None, answer: str, output_format: str
    ) -> list[Prediction]:
        detector = self._detector
        if output_format == "spans":
            detection = detector.detect(sources=passages, question=question, answer=answer)
            return _spans_of(detection)
        threshold = detector.info.threshold
        scores = EmbeddedReader(detector, threshold=threshold).read_sources(
            passages, question, answer
        )
        return _tokens(scores, answer, threshold)


def _spans_of(detection: Detection) -> list[Prediction]:
    """Take the spans of a detection; without any, the answer must be known to be grounded."""
    if not detection.spans and detection.outcome is not Outcome.GROUNDED:
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
    """Write the prompt that the model was trained on, or several where the passages do not fit."""
    whole = _prompt(passages, question)
    room = model.context_room(None, answer)
    if model.count(whole) <= room:
        return [whole]
    room -= model.count(_prompt([], question))
    groups: list[list[str]] = []
    left = 0
    for passage in passages:
        n_tokens = model.count(_line(len(passages), passage)) + 1  # the line break
        if not groups or n_tokens > left:
            groups.append([])
            left = room
        groups[-1].append(passage)
        left -= n_tokens
    # A passage that alone does not fit is read in windows by the model.
    return [_prompt(group, question) for group in groups] or [whole]


def _prompt(passages: Sequence[str], question: str | None) -> str:
    lines = "\n".join(_line(i, passage) for i, passage in enumerate(passages, start=1))
    if question is None or not question.strip():
        return _SUMMARY.format(passages=lines)
    return _ASKED.format(question=question, n=len(passages), passages=lines)


def _line(number: int, passage: str) -> str:
    return f"passage {number}: {passage}"


def _read_all(model: "TokenClassifier", prompts: Sequence[str], answer: str) -> TokenScores:
    """Read an answer with each prompt; one that supports a word piece is enough."""
    reads = [model.read(prompt, None, answer) for prompt in prompts]
    return TokenScores(reads[0].offsets, np.min([read.probabilities for read in reads], axis=0))


def _predictions(scores: TokenScores, answer: str, output_format: str) -> list[Prediction]:
    if output_format == "tokens":
        return _tokens(scores, answer, ARGMAX)
    reduced = reduce_tokens(scores.offsets, scores.probabilities, answer, threshold=ARGMAX)
    return [
        {"start": s.start, "end": s.end, "text": answer[s.start : s.end], "confidence": s.score}
        for s in reduced.spans
    ]


def _tokens(scores: TokenScores, answer: str, threshold: float) -> list[Prediction]:
    # For its check: scores that are not numbers are an error.
    reduce_tokens(scores.offsets, scores.probabilities, answer, threshold=threshold)
    flagged = scores.probabilities >= np.float32(threshold)
    rows = zip(
        scores.offsets.tolist(), flagged.tolist(), scores.probabilities.tolist(), strict=True
    )
    return [
        {"token": answer[start:end], "pred": int(is_flagged), "prob": probability}
        for (start, end), is_flagged, probability in rows
    ]


def _check_format(output_format: str) -> None:
    if output_format not in ("spans", "tokens"):
        raise SettingError("output_format", output_format, "'spans' or 'tokens'")
