"""A scorer for MLflow's ``mlflow.genai.evaluate``."""

from collections.abc import Iterator
from typing import Any

from groundwire.compat.verdict import Checks, Verdict
from groundwire.detection.rows import key_of
from groundwire.errors import MissingExtraError

try:
    from mlflow.entities import Feedback, SpanType, Trace
    from mlflow.genai.judges import CategoricalRating
    from mlflow.genai.scorers import Scorer
except ImportError as error:
    raise MissingExtraError("The scorer for MLflow", "mlflow") from error

_RATINGS = {
    True: CategoricalRating.YES,
    False: CategoricalRating.NO,
    None: CategoricalRating.UNKNOWN,
}


class Groundedness(Scorer):
    """Scores whether the evidence of a row supports its output: ``yes``, ``no`` or ``unknown``.

    ``unknown`` means that the output was not checked. The evidence is the sources of the row
    (``context``, ``contexts``, ``documents``... in the outputs or the inputs) and the outputs of
    retrievers and tools in its trace or, without any of these, the messages of its inputs. The
    output is a text, or has one as ``answer``, ``response`` or ``output``.

    Attributes:
        pipeline: The pipeline that checks; by default one with the default configuration.
    """

    name: str = "groundedness"
    pipeline: Any = None

    def __call__(
        self, *, inputs: object = None, outputs: object = None, trace: Trace | None = None
    ) -> Feedback:
        """Score one row."""
        verdict = self._verdict(inputs, outputs, trace)
        metadata = {"status": verdict.status, "outcome": str(verdict.checked.outcome)}
        if verdict.score is not None:
            metadata["score"] = f"{verdict.score:.4g}"
        return Feedback(
            name=self.name,
            value=_RATINGS[verdict.passed],
            rationale=verdict.reason,
            metadata=metadata,
        )

    def _verdict(self, inputs: object, outputs: object, trace: Trace | None) -> Verdict:
        checks = Checks(self.pipeline)
        answer = outputs if isinstance(outputs, str) else _value(outputs, "answer")
        answer = None if answer is None else str(answer)
        sources = _value(outputs, "sources") or _value(inputs, "sources")
        found = [sources] if isinstance(sources, str) else list(sources or ())
        found += _returned(trace)
        if not found and isinstance(inputs, dict) and "messages" in inputs:
            return checks.chat(inputs, answer or "")
        return checks.answer(answer, sources=found, question=_value(inputs, "question"))


def _value(data: object, field: str) -> Any:  # noqa: ANN401
    if not isinstance(data, dict) or (key := key_of(data, field)) is None:
        return None
    return data[key]


def _returned(trace: Trace | None) -> Iterator[Any]:
    """Yield the outputs of retrievers and tools in a trace."""
    if trace is None:
        return
    for span_type in (SpanType.RETRIEVER, SpanType.TOOL):
        for span in trace.search_spans(span_type=span_type):
            found = span.outputs
            for each in found if isinstance(found, list) else [found]:
                if isinstance(each, dict):  # a document, or the data that a tool returned
                    yield each.get("page_content", each)
                elif each is not None:
                    yield each if isinstance(each, str | list) else str(each)
