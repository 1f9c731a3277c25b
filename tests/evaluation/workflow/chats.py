"""A language model for tests: a real server on loopback, which answers by a function of a question.

Files of classified answers, made without one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundwire.evaluation.workflow.model import Address, LanguageModel
from groundwire.evaluation.workflow.model import Reply as Answer
from groundwire.evaluation.workflow.stage import Stage, write_whole
from tests.verify.scripted import Asked, Reply

#: Pauses between tries are as short as this where an endpoint asks for it.
SOON = {"retry-after-ms": "1"}


def said(text: str | None, **more: Any) -> Reply:  # noqa: ANN401
    """A chat completion with this text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    finish = more.pop("finish_reason", "stop")
    usage = more.pop("usage", {"prompt_tokens": 50, "completion_tokens": 10})
    message = {"role": "assistant", "content": text, **more}
    choice |= {"finish_reason": finish, "message": message}
    body = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
    return Reply(200, json.dumps(body).encode())


def question_of(asked: Asked) -> str:
    """What a model was asked, without its sources."""
    return asked.user.rpartition("Question: ")[2]


def echo(asked: Asked) -> Reply:
    """Says which question it was asked."""
    return said(f"{asked.body['model']} says: {question_of(asked)}")


def language_model(base_url: str, *, max_retries: int = 2, timeout_s: float = 30) -> LanguageModel:
    address = Address(base_url=base_url, api_key="sk-secret")
    return LanguageModel(address, max_retries=max_retries, timeout_s=timeout_s)


@dataclass
class ScriptedModel:
    """Answers in this process, and remembers what it was asked."""

    says: Callable[[str], str | Exception]
    base_url: str = "http://localhost/v1"
    asked: list[str] = field(default_factory=list)

    def ask(self, body: Mapping[str, Any]) -> Answer:
        question = str(body["messages"][-1]["content"]).rpartition("Question: ")[2]
        self.asked.append(question)
        said = self.says(question)
        if isinstance(said, Exception):
            raise said
        return Answer(
            answer=said, finish_reason="stop", prompt_tokens=5, completion_tokens=2, seconds=0.1
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """A classified answer."""

    row: int | None = None  # where it stands, if nothing else is said
    outcome: str = "grounded"
    question: str = ""
    context: str = ""
    model: str = "m"
    task: str = "QA"
    spans: Sequence[tuple[str, int]] = ()
    detected: str = ""
    finish_reason: str = "stop"
    tokens: tuple[int, int] = (100, 10)
    columns: Mapping[str, str] = field(default_factory=dict)
    sha256: str = "a" * 16


SETTINGS: Mapping[str, Any] = {
    "detector": {
        "name": "reader",
        "revision": "0" * 12,
        "operating_point": "balanced",
        "threshold": 0.3,
        "score": "probability",
    },
    "explainer": {"name": "reader"},
}


def classified(path: Path, rows: Sequence[Row], settings: Mapping[str, Any] = SETTINGS) -> Path:
    """A file of classified answers."""
    stage = Stage(step="classify", data={"results.jsonl": "b" * 64}, settings=settings)
    write_whole(path, stage, (_row(number, row) for number, row in enumerate(rows, 1)))
    return path


def _row(number: int, row: Row) -> dict[str, Any]:
    has_failed = row.outcome == "failed"
    spans = list(row.spans)
    if row.outcome == "hallucinated" and not spans:
        spans = [("unsupported", 2)]
    return {
        "row": row.row or number,
        "id": f"a{number}",
        "question_id": row.question or f"q{number}",
        "question_sha256": row.sha256,
        "model": row.model,
        "task": row.task,
        "context_id": row.context or f"c{number}",
        "columns": dict(row.columns),
        "finish_reason": row.finish_reason,
        "prompt_tokens": row.tokens[0],
        "completion_tokens": row.tokens[1],
        "error": {"type": "GenerationError", "message": "no"} if has_failed else None,
        "sha256": "f" * 16,
        "detected": row.detected or row.outcome,
        "outcome": row.outcome,
        "label": spans[0][0] if spans else None,
        "severity": max((severity for _, severity in spans), default=None),
        "spans": [{"label": label, "severity": severity} for label, severity in spans],
        "n_dropped": 0,
        "reason": None,
        "claims": {},
    }
