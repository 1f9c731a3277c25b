"""The first step: questions with their sources, from a table or a hub, into a file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from heapq import heappush, heappushpop
from pathlib import Path
from typing import Any, TypeAlias

from groundwire.evaluation.datasets.asked import Question
from groundwire.evaluation.datasets.files import FailedRow, NumberedQuestion
from groundwire.evaluation.workflow.stage import (
    Stage,
    StageError,
    fingerprint_of,
    read_rows,
    write_whole,
)
from groundwire.example import Source

#: The key of the last line, which says how many rows there are.
_END = "n_rows"

#: What loading one row gives.
AnyQuestion: TypeAlias = NumberedQuestion | FailedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was loaded.

    Attributes:
        n: Rows of the file.
        n_failed: Those among them that could not be read.
        first_problem: Of the first of these, for people; empty if there is none.
    """

    n: int
    n_failed: int
    first_problem: str = ""


def load(rows: Iterable[AnyQuestion], output: Path, stage: Stage) -> Loaded:
    """Write questions, and what is wrong with the rows that are none."""
    failed: list[str] = []
    n_failed = 0

    def told() -> Iterator[Mapping[str, Any]]:
        nonlocal n_failed
        n = 0
        for n, row in enumerate(rows, 1):  # noqa: B007  # told at the end
            if isinstance(row, FailedRow):
                n_failed += 1
                failed.extend([row.message] if not failed else [])
            yield to_row(row)
        yield {_END: n}

    n = write_whole(output, stage, told()) - 1
    return Loaded(n=n, n_failed=n_failed, first_problem=next(iter(failed), ""))


def is_whole(path: Path) -> bool:
    """Whether a file has its last line: nobody is to ask half of the questions unawares."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 64))
        return stream.read().splitlines()[-1].startswith(b'{"' + _END.encode() + b'": ')


def drawn(rows: Iterable[AnyQuestion], limit: int | None) -> Iterator[AnyQuestion]:
    """So many of the rows, drawn by their fingerprints: the same each time, in their order.

    Each row is read once and only those drawn are kept.
    """
    if limit is None:
        yield from rows
        return
    kept: list[tuple[int, int, AnyQuestion]] = []
    for row in rows:
        # The lowest hashes are drawn; negated, since a heap gives up its lowest.
        key = -int.from_bytes(sha256(row.sha256.encode()).digest()[:8], "big")
        entry = (key, row.row, row)
        if len(kept) < limit:
            heappush(kept, entry)
        else:
            heappushpop(kept, entry)
    yield from (row for _, _, row in sorted(kept, key=lambda entry: entry[1]))


def read(path: Path) -> Iterator[AnyQuestion]:
    """The questions of a file that :func:`load` wrote.

    Raises:
        StageError: If it is none, or breaks off.
    """
    n = 0
    for line, row in read_rows(path, "load"):
        if row.get(_END) == n:
            return
        n += 1
        try:
            yield from_row(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"this is no question ({type(error).__name__}: {error})"
            raise StageError(path, line, problem) from error
    raise StageError(path, None, f"it breaks off after {n:,} rows. Load the questions again")


def to_row(row: AnyQuestion) -> dict[str, Any]:
    """As JSON data."""
    if isinstance(row, FailedRow):
        return {
            "row": row.row,
            "id": row.id,
            "error": {"type": row.kind, "message": row.message},
            "sha256": row.sha256,
        }
    question = row.question
    return {
        "row": row.row,
        "id": question.id,
        "task": question.task,
        "context_id": question.context_id,
        "question": question.text,
        "sources": sources_to_rows(question.sources),
        "columns": dict(question.columns),
        "sha256": row.sha256,
    }


def from_row(row: Mapping[str, Any]) -> AnyQuestion:
    """Read it back.

    Raises:
        KeyError: If it is none; so do TypeError, ValueError and AttributeError.
    """
    if error := row.get("error"):
        return FailedRow(
            row=row["row"],
            id=str(row["id"]),
            place="",
            problem=str(error["message"]),
            sha256=row["sha256"],
            kind=str(error["type"]),
        )
    question = Question(
        id=str(row["id"]),
        task=str(row["task"]),
        context_id=str(row["context_id"]),
        text=str(row["question"]),
        sources=sources_from_rows(row["sources"]),
        columns={str(name): str(value) for name, value in row["columns"].items()},
    )
    return NumberedQuestion(row=row["row"], question=question, sha256=row["sha256"])


def sources_to_rows(sources: Iterable[Source]) -> list[dict[str, str]]:
    """Sources as JSON data."""
    return [
        {"id": each.id, "text": each.text} | ({} if each.title is None else {"title": each.title})
        for each in sources
    ]


def sources_from_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    """Read them back."""
    return tuple(Source.of(row, i) for i, row in enumerate(rows))


def fingerprint(question: str | None, sources: Iterable[str]) -> str:
    """What tells a question with its sources from another, whatever table it came from.

    Args:
        question: Its text.
        sources: SHA-256 of the text of each.
    """
    return fingerprint_of([question, list(sources)])
