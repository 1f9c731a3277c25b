"""Classified answers as columns of numbers: some fifty bytes each, so that millions fit."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.detection import Label, Outcome
from groundwire.errors import InputError
from groundwire.evaluation.metrics import Bools
from groundwire.evaluation.workflow.classify import FAILED
from groundwire.evaluation.workflow.stage import Stage, StageError, read_rows, read_stage

Numbers = NDArray[np.int64]

#: All that can become of an answer. The first two are verdicts, the others are not.
OUTCOMES = (
    *(str(Outcome.HALLUCINATED), str(Outcome.GROUNDED), str(Outcome.PARTIAL)),
    *(str(Outcome.UNVERIFIED), str(Outcome.UNAVAILABLE), str(Outcome.SKIPPED), FAILED),
)
N_VERDICTS = 2
MAX_SEVERITY = 4


#: What an answer can be told apart by if its row has no column of that name.
OWN_COLUMNS = ("model", "task", "finish_reason", "question_id", "context_id")


class NoColumnError(InputError):
    """No row has the column by which answers are to be told apart."""

    def __init__(self, column: str, columns: Collection[str]) -> None:
        super().__init__(column, columns)
        self.column, self.columns = column, tuple(sorted({*columns, *OWN_COLUMNS}))

    def __str__(self) -> str:
        shown = ", ".join(repr(each[:80]) for each in self.columns[:50])
        more = len(self.columns) - 50
        others = f" and {more:,} more" if more > 0 else ""
        return f"No row has the column {self.column[:80]!r} of --by. There are {shown}{others}."


def require_column(column: str | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a column that no row has.

    Args:
        column: Its name; ``None`` is no column.
        rows: The columns of each.

    Raises:
        NoColumnError: If none has it.
    """
    if column is None or column in OWN_COLUMNS:
        return
    known: set[str] = set()
    for columns in rows:
        if column in columns:
            return
        known.update(columns)
    raise NoColumnError(column, known)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Answers:
    """One value of each column for each answer.

    Attributes:
        models: Which model, as a number that counts :attr:`Read.models`.
        tasks: The same of tasks.
        values: The same of another column.
        contexts: A number that stands for the sources.
        outcomes: Which of :data:`OUTCOMES`.
        dropped: Whether the detector marked it and the explainer left nothing.
        contradicted: Whether a span is.
        severity: Of the worst span; -1 if that is not known.
        spans: Spans of each severity, shape ``(n, 5)``.
        contradicted_spans: How many are.
        tokens: Read and written, shape ``(n, 2)``.
        cut: Whether it was cut for its length.
    """

    models: Numbers
    tasks: Numbers
    values: Numbers
    contexts: NDArray[np.uint64]
    outcomes: Numbers
    dropped: Bools
    contradicted: Bools
    severity: Numbers
    spans: Numbers
    contradicted_spans: Numbers
    tokens: Numbers
    cut: Bools

    def __len__(self) -> int:
        return len(self.outcomes)

    def take(self, which: Bools) -> Self:
        """Some of the answers."""
        return type(self)(**{each.name: getattr(self, each.name)[which] for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A file of classified answers.

    Attributes:
        stage: Its first line.
        answers: What became of each.
        models: Their names, in the order of the data: that of the file depends on what failed.
        tasks: Theirs.
        values: Those of the column that was asked for.
        errors: Type of an error → how many answers failed with it.
    """

    stage: Stage
    answers: Answers
    models: Sequence[str]
    tasks: Sequence[str]
    values: Sequence[str]
    errors: Mapping[str, int]


def read_classified(path: Path, *, by: str | None = None) -> Read:
    """Read a file once.

    Args:
        path: What :func:`.classify.classify` wrote.
        by: A column whose values are told apart, or one of :data:`OWN_COLUMNS`; an answer without
            it has an empty one.

    Raises:
        StageError: If it is no such file, or has no rows.
        NoColumnError: If no answer has that column.
    """
    stage = read_stage(path, "classify")
    collector = _Collector(by)
    for line, row in read_rows(path, "classify"):
        try:
            collector.add(row)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            problem = f"this is no classified answer ({type(error).__name__}: {error})"
            raise StageError(path, line, problem) from error
    if not collector.n:
        raise StageError(path, None, "it has no rows")
    if not collector.has_column:
        require_column(by, (row["columns"] for _, row in read_rows(path, "classify")))
    return collector.read(stage)


@dataclass(slots=True)
class _Collector:
    by: str | None
    n: int = 0
    has_column: bool = False
    _names: tuple[dict[str, int], ...] = field(default_factory=lambda: ({}, {}, {}))
    _numbers: "array[int]" = field(default_factory=lambda: array("q"))
    _rows: "array[int]" = field(default_factory=lambda: array("q"))
    _contexts: "array[int]" = field(default_factory=lambda: array("Q"))
    _errors: dict[str, int] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        texts = (str(row["model"]), str(row["task"]), self._value(row))
        codes = [
            names.setdefault(text, len(names))
            for names, text in zip(self._names, texts, strict=True)
        ]
        severities = [0] * (MAX_SEVERITY + 1)
        for span in row["spans"]:
            severities[int(span["severity"])] += 1
        n_contradicted = sum(span["label"] == Label.CONTRADICTED for span in row["spans"])
        outcome = OUTCOMES.index(row["outcome"])
        is_dropped = row["detected"] != row["outcome"]
        severity = -1 if row["severity"] is None else int(row["severity"])
        tokens = (int(row["prompt_tokens"]), int(row["completion_tokens"]))
        is_cut = row["finish_reason"] == "length"
        numbers = (outcome, is_dropped, severity, n_contradicted, *tokens, is_cut)
        digest = sha256(str(row["context_id"]).encode("utf-8", "surrogatepass")).digest()
        if error := row["error"]:
            kind = str(error["type"])
            self._errors[kind] = self._errors.get(kind, 0) + 1
        self._rows.append(int(row["row"]))
        self._numbers.extend((*codes, *numbers, *severities))
        self._contexts.append(int.from_bytes(digest[:8], "big"))
        self.n += 1

    def _value(self, row: Mapping[str, Any]) -> str:
        if self.by is None:
            return ""
        if (value := row["columns"].get(self.by)) is not None:
            self.has_column = True
            return str(value)
        return str(row[self.by]) if self.by in OWN_COLUMNS else ""

    def read(self, stage: Stage) -> Read:
        table = np.frombuffer(self._numbers, np.int64).reshape(self.n, -1)
        rows = np.frombuffer(self._rows, np.int64)
        (models, model), (tasks, task), (values, value) = (
            _in_order([*names], table[:, i], rows) for i, names in enumerate(self._names)
        )
        answers = Answers(
            models=model,
            tasks=task,
            values=value,
            contexts=np.array(self._contexts, np.uint64),
            outcomes=table[:, 3],
            dropped=table[:, 4] == 1,
            severity=table[:, 5],
            contradicted_spans=table[:, 6],
            contradicted=table[:, 6] > 0,
            tokens=table[:, 7:9],
            cut=table[:, 9] == 1,
            spans=table[:, 10:],
        )
        return Read(
            stage=stage,
            answers=answers,
            models=models,
            tasks=tasks,
            values=values,
            errors=dict(sorted(self._errors.items())),
        )


def _in_order(names: list[str], codes: Numbers, rows: Numbers) -> tuple[list[str], Numbers]:
    """Names by the first row that has each, and codes that count them so."""
    first = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(first, codes, rows)
    order = np.argsort(first, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return [names[i] for i in order], places[codes]
