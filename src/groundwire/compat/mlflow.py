"""A scorer for MLflow's ``mlflow.genai.evaluate``."""

from collections.abc import Iterator
from typing import Any

from groundwire.compat.verdict import Checks, HostVerdict, value_of
from groundwire.errors import needs_extra

with needs_extra("The scorer for MLflow", "mlflow"):
    from mlflow.entities import Feedback, SpanType, Trace
    from mlflow.genai.judges import CategoricalRating
    from mlflow.genai.scorers import Scorer

_RATINGS = {
    True: CategoricalRating.YES,
    False: CategoricalRating.NO,
    None: CategoricalRating.UNKNOWN,
}


class Groundedness(Scorer):
    """Scores whether the evidence of a row supports its output: ``yes``, ``no`` or ``unknown``.

    ``unknown`` means that the output was not checked. The evidence is the sources of the row
    (``context``, ``contexts``, ``documents``... in the outputs or the inputs) and the outputs of
    retrievers and tools in its trace. Without any of these, evidence is looked for in the messages
    of the inputs. The output is a text, or has one as ``answer``, ``response``, ``output`` or
    ``actual_output``.

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

    def _verdict(self, inputs: object, outputs: object, trace: Trace | None) -> HostVerdict:
        checks = Checks(self.pipeline)
        answer = outputs if isinstance(outputs, str) else value_of(outputs, "answer")
        sources = value_of(outputs, "sources") or value_of(inputs, "sources")
        found = [sources] if isinstance(sources, str) else list(sources or ())
        found += _returned(trace)
        if not found and isinstance(inputs, dict) and "messages" in inputs:
            return checks.chat(inputs, "" if answer is None else str(answer))
        return checks.answer(answer, sources=found, question=value_of(inputs, "question"))


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
