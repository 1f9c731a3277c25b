"""Answers on their way to the detector: those that were generated, or anybody's table of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from groundwire.errors import InputError
from groundwire.evaluation.datasets.files import (
    AnyRow,
    FailedRow,
    NumberedAnswer,
    read_labelled,
)
from groundwire.evaluation.datasets.labelled import Known, LabelledAnswer
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.workflow.questions import sources_from_rows
from groundwire.evaluation.workflow.stage import StageError, read_rows, read_stage
from groundwire.example import Example

#: Columns of results that say how an answer came about.
QUESTION, MODEL, FINISH = "question_id", "model", "finish_reason"
PROMPT_TOKENS, COMPLETION_TOKENS = "prompt_tokens", "completion_tokens"


def read_answers(path: Path, mapping: ColumnMapping | None = None) -> Iterator[AnyRow]:
    """All answers of a file.

    Args:
        path: What :func:`.generate.generate` wrote, or a table of answers that are there already.
        mapping: Which column of a table holds what.

    Raises:
        DatasetError: If a table has no rows, or cannot be read at all.
        StageError: If a line of what was generated is no answer.
    """
    if not is_generated(path):
        return read_labelled(path, mapping)
    return (_answer(path, line, row) for line, row in read_rows(path, "generate"))


def is_generated(path: Path) -> bool:
    """Whether a file is one of :func:`.generate.generate`."""
    if not path.is_file():
        return False
    try:
        read_stage(path, "generate")
    except StageError:
        return False
    return True


def _answer(path: Path, line: int, row: Mapping[str, Any]) -> AnyRow:
    try:
        columns = {str(name): str(value) for name, value in row["columns"].items()}
        # What a table calls the same says nothing of this answer.
        columns |= {QUESTION: str(row["question_id"]), MODEL: str(row["model"])}
        columns |= {name: str(row[name]) for name in (FINISH, PROMPT_TOKENS, COMPLETION_TOKENS)}
        if (error := row["error"]) is not None:
            return FailedRow(
                row=row["row"],
                id=str(row["id"]),
                place="",
                problem=str(error["message"]),
                sha256=row["sha256"],
                kind=str(error["type"]),
                task=str(row["task"]),
                columns=columns,
            )
        return _numbered(row, columns)
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"this is no answer ({type(error).__name__}: {error})"
        raise StageError(path, line, problem) from error


def _numbered(row: Mapping[str, Any], columns: Mapping[str, str]) -> AnyRow:
    try:
        example = Example.of(
            sources=sources_from_rows(row["sources"]),
            question=row["question"],
            answer=row["answer"],
        )
    except InputError as error:  # a model may write half a surrogate pair
        return FailedRow(
            row=row["row"],
            id=str(row["id"]),
            place="",
            problem=str(error),
            sha256=row["sha256"],
            kind=type(error).__name__,
            task=str(row["task"]),
            columns=columns,
        )
    answer = LabelledAnswer(
        id=str(row["id"]),
        task=str(row["task"]),
        context_id=str(row["context_id"]),
        example=example,
        spans=(),
        model=str(row["model"]),
        known=Known.NOTHING,
        columns=columns,
    )
    return NumberedAnswer(row=row["row"], answer=answer, sha256=row["sha256"])
