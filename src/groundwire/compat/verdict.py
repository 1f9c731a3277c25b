"""Verdicts for evaluators and guardrails of frameworks: passed, failed or not checked."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_core import PydanticSerializationError, to_json

from groundwire.detection.example import SourceLike, read_sources
from groundwire.detection.rows import ROW_KEYS, find_key
from groundwire.detection.values import Label, Outcome, Span
from groundwire.errors import InputError
from groundwire.pipeline import Checked, Pipeline
from groundwire.pipeline.lazy import Lazy
from groundwire.render.descriptions import OUTCOMES, describe_reasons

#: The pipeline with the default configuration, for :class:`Checks` that are given no pipeline.
_DEFAULT = Lazy(Pipeline.load)

#: The sources of an answer, such as texts, or documents of LangChain, LlamaIndex or Haystack;
#: ``None`` if there are no sources.
Sources: TypeAlias = Iterable[SourceLike] | None

_PASSED = {Outcome.GROUNDED: True, Outcome.HALLUCINATED: False}

#: Text that replaces a withheld answer. It does not quote the answer.
WITHHELD = "This answer was withheld, because the evidence does not support it."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HostVerdict:
    """The result of a check, in the terms that frameworks use.

    Attributes:
        checked: The full result.
        problem: Error message if the answer or its evidence could not be read, else empty.
    """

    checked: Checked
    problem: str = ""

    def __repr__(self) -> str:
        return f"HostVerdict(status={self.status!r}, reason={self.reason!r})"

    @property
    def passed(self) -> bool | None:
        """Whether the evidence supports all of the answer; ``None`` if the check did not decide."""
        return _PASSED.get(self.checked.outcome)

    @property
    def is_due(self) -> bool:
        """Whether a check was due.

        No check is due, for example, if checks are off, if the gate finds that none is needed, or
        if the answer is empty. If there is evidence, no check is due for a greeting either.
        """
        return self.checked.outcome is not Outcome.SKIPPED

    @property
    def status(self) -> str:
        """The verdict in words: ``passed``, ``failed`` or ``not checked``."""
        return {True: "passed", False: "failed", None: "not checked"}[self.passed]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The unsupported words of the answer, in reading order."""
        return self.checked.detection.spans if self.checked.detection else ()

    @property
    def score(self) -> float | None:
        """The share of the checked statements that are supported, in [0, 1]; 1 if passed.

        ``None`` if :attr:`passed` is ``None``.
        """
        detection = self.checked.detection
        if self.passed is None or detection is None:
            return None
        n_flagged = sum(bool(claim.spans) for claim in detection.claims)
        n_supported = sum(claim.label is Label.SUPPORTED for claim in detection.claims)
        return n_supported / (n_flagged + n_supported) if n_flagged else 1.0

    @property
    def reason(self) -> str:
        """The reason for the verdict, as text for people.

        It quotes the unsupported words of an answer that failed, or says why the answer was not
        checked.
        """
        checked, detection = self.checked, self.checked.detection
        if self.passed:
            return "No unsupported words found."
        if self.passed is None:
            details = [self.problem or checked.reason or ""]
            details += describe_reasons(detection.coverage) if detection else []
            text = "; ".join(filter(None, [OUTCOMES[checked.outcome], *details]))
            return f"Not checked: {text}."
        if checked.explanations:
            return " ".join(each.text for each in checked.explanations)
        return " ".join(f'The evidence does not say "{span.text}".' for span in self.spans)

    def withholds(self, *, block_unchecked: bool) -> bool:
        """Return whether a guardrail withholds the answer.

        Args:
            block_unchecked: Whether to withhold also answers that could not be checked.
        """
        return not self.passed if self.is_due and block_unchecked else self.passed is False

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return {
            "status": self.status,
            "outcome": str(self.checked.outcome),
            "score": self.score,
            "reason": self.reason,
        }


def value_of(data: object, field: str, key: str | None = None) -> Any:  # noqa: ANN401
    """Return the value of a field of a row; ``None`` if the data is no row, or lacks the field.

    A row is a dictionary. The field is looked up by ``key``, or by the usual keys of the field if
    ``key`` is ``None``.
    """
    if not isinstance(data, dict):
        return None
    found = find_key(data, ROW_KEYS[field] if key is None else [key])
    return None if found is None else data[found]


class Checks:
    """Checks answers for a framework; one object serves any number of threads."""

    def __init__(self, pipeline: Pipeline | None = None) -> None:
        """Use a pipeline for the checks.

        Args:
            pipeline: The pipeline; ``None`` for one with the default configuration, which is loaded
                at the first check and shared by all objects without a pipeline of their own.
        """
        self._pipeline = pipeline

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that checks.

        Raises:
            GroundwireError: If a model cannot be loaded.
        """
        return self._pipeline or _DEFAULT.get()

    def answer(
        self, answer: object, *, sources: Sources, question: str | None = None
    ) -> HostVerdict:
        """Check an answer that comes with its sources.

        Args:
            answer: The answer. ``None`` means an empty text; any other object is turned into text.
            sources: The sources of the answer; ``None`` means that there are none.
            question: The question; it is never evidence.
        """
        text = "" if answer is None else str(answer)
        try:
            context = self.pipeline.open_answer(read_sources(sources or ()), question=question)
        except InputError as error:
            return self.unread(text, error)
        return HostVerdict(checked=self.pipeline.check(context, text))

    def chat(self, body: Mapping[str, Any], answer: object) -> HostVerdict:
        """Check the answer to a chat request, whose messages have the question and the evidence.

        Args:
            body: The request, as ``POST /v1/chat/completions`` or ``/v1/responses`` takes it.
            answer: The answer: a text, or a structured output, whose fields are checked one by one.
        """
        if not isinstance(answer, str):
            try:
                answer = to_json(answer).decode()
            except PydanticSerializationError as error:
                return self.unread("", error)
            body = {"response_format": {"type": "json_object"}, **body}
        try:
            context = self.pipeline.open(body)
        except InputError as error:
            return self.unread(answer, error)
        return HostVerdict(checked=self.pipeline.check(context, answer))

    def completion(self, body: Mapping[str, Any], completion: object) -> HostVerdict:
        """Check the answers of a chat completion, and return the worst verdict.

        Args:
            body: The request, as for :meth:`chat`.
            completion: The response, as :func:`json.loads` gives it.
        """
        pipeline = self.pipeline
        try:
            context = pipeline.open(body)
            found = pipeline.check_response(context, completion).answers
        except InputError as error:
            return self.unread("", error)
        order = list(Outcome).index
        checked = min(found, key=lambda each: order(each.outcome), default=None)
        return HostVerdict(checked=checked or pipeline.check(context, ""))

    def unread(self, answer: str, error: Exception) -> HostVerdict:
        """Return the verdict "not checked", since the answer or its evidence cannot be read."""
        context = self.pipeline.unopened(type(error).__name__)
        # The check would skip an empty answer. Here the text is only unknown, so "?" replaces it.
        return HostVerdict(checked=self.pipeline.check(context, answer or "?"), problem=str(error))

    async def aanswer(
        self, answer: object, *, sources: Sources, question: str | None = None
    ) -> HostVerdict:
        """Run :meth:`answer` in a thread."""
        return await asyncio.to_thread(self.answer, answer, sources=sources, question=question)

    async def achat(self, body: Mapping[str, Any], answer: object) -> HostVerdict:
        """Run :meth:`chat` in a thread."""
        return await asyncio.to_thread(self.chat, body, answer)
