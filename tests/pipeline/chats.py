"""Requests and responses as tests have them, and pipelines around a judge with fixed scores."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.detection.example import Source
from groundwire.detection.values import Entailment, EvidenceRef
from groundwire.detector import Detector
from groundwire.explain import Explainer
from groundwire.pipeline import Pipeline
from tests.fixed_judge import FixedJudge, FixedReading

#: HaluGate's documented example.
QUESTION = "When was the Eiffel Tower built?"
FACTS = json.dumps(
    {
        "name": "Eiffel Tower",
        "built": "1887-1889",
        "height": "330 meters",
        "location": "Paris, France",
    }
)
WRONG = "The Eiffel Tower was built in 1950 and stands at 500 meters tall in Paris, France."
RIGHT = "The Eiffel Tower was built from 1887 to 1889 and stands at 330 metres tall."
POEM = "Write a poem about autumn"


def contradicts(claim: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
    """Stands for a model that is sure of every claim."""
    return Entailment(entailment=0.02, neutral=0.03, contradiction=0.95)


EXPLAINER = Explainer(contradicts)
TOOLS = [{"type": "function", "function": {"name": "landmark", "parameters": {}}}]


def asked(question: str | None = QUESTION, *results: object, **more: object) -> dict[str, Any]:
    """A request: a question, the results of tools, and what else its body holds."""
    calls = [
        {"id": f"call_{i}", "type": "function", "function": {"name": "landmark", "arguments": "{}"}}
        for i in range(len(results))
    ]
    messages: list[dict[str, Any]] = []
    if question is not None:
        messages.append({"role": "user", "content": question})
    if results:
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    messages += [
        {"role": "tool", "tool_call_id": f"call_{i}", "content": result}
        for i, result in enumerate(results)
    ]
    return {"model": "any", "messages": messages, **more}


def sent(*sources: object, question: str = QUESTION, **more: object) -> dict[str, Any]:
    """A request that names its sources."""
    return asked(question, metadata={"grounding.sources": list(sources)}, **more)


def answered(*contents: object) -> dict[str, Any]:
    """A response with a choice for each content, or for each message that is given whole."""
    messages = [
        content if isinstance(content, dict) else {"role": "assistant", "content": content}
        for content in contents
    ]
    return {"choices": [{"index": i, "message": m} for i, m in enumerate(messages)]}


class BrokenReading(FixedReading):
    """Cannot judge."""

    def read(self, *_: object) -> Any:  # noqa: ANN401 - it never returns
        """Fail."""
        raise OSError("out of memory")


@dataclass(frozen=True, kw_only=True)
class WatchedJudge(FixedJudge):
    """A judge that counts requests in ``work`` and can fail.

    Attributes:
        fails_at: ``open`` or ``read``.
    """

    fails_at: str = ""

    def open(self, sources: Sequence[Source], *args: object, **more: Any) -> FixedReading:  # noqa: ANN401
        """Index the sources, or fail."""
        self.work["opened"] = self.work.get("opened", 0) + 1
        if self.fails_at == "open":
            raise OSError("out of memory")
        reading = super().open(sources, None, threshold=0.5, tenant="")
        return BrokenReading(self, reading.evidence) if self.fails_at == "read" else reading


def judged(*, fails_at: str = "", **doubtful: float) -> WatchedJudge:
    """A judge that doubts the tower's wrong numbers."""
    return WatchedJudge(
        doubtful={"1950": 0.9, "500": 0.9, "meters": 0.6, **doubtful}, fails_at=fails_at
    )


def piped(judge: FixedJudge | None = None, **stages: Any) -> Pipeline:  # noqa: ANN401
    """A pipeline around a judge."""
    return Pipeline(Detector(judge or judged(), threads=1), **stages)
