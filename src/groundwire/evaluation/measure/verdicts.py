"""Reads the verdicts of a results file, reduced to the data for rates and comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from groundwire.detection.values import Label, Outcome
from groundwire.errors import InputError
from groundwire.evaluation.judged_row import Header, JudgedRow, ResultsError, requiring_results
from groundwire.evaluation.results_file import read_header, read_judged

#: The outcome of an answer that could not be read, generated or checked.
FAILED = "failed"
#: All outcomes of an answer. Only the first two are verdicts.
OUTCOMES = (
    *(str(Outcome.HALLUCINATED), str(Outcome.GROUNDED), str(Outcome.PARTIAL)),
    *(str(Outcome.UNVERIFIED), str(Outcome.UNAVAILABLE), str(Outcome.SKIPPED), FAILED),
)
VERDICTS = OUTCOMES[:2]


class NoColumnError(InputError):
    """No row has the column to group by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One judged answer, reduced to numbers and names.

    Attributes:
        row: Number of the answer's row in the data.
        model: The model that wrote the answer; empty if unknown.
        task: The kind of question.
        value: Value of the answer's row in the column that rates are grouped by; empty if there is
            no such column.
        question: Id of the question.
        asked: Hash of the question and its sources; empty if the row could not be read.
        context: Hash of the context id; answers to the same sources share it.
        outcome: One of :data:`OUTCOMES`.
        severities: Severity of each span of the answer.
        n_contradicted: Number of spans that the sources contradict.
        tokens: Number of tokens that the model read, and number of tokens that it wrote.
        is_cut: Whether the answer was cut off at the limit of tokens.
        error: Type of the error, if the row could not be read or its check failed; else empty.
    """

    row: int
    model: str
    task: str
    value: str
    question: str
    asked: str
    context: int
    outcome: str
    severities: tuple[int, ...]
    n_contradicted: int
    tokens: tuple[int, int]
    is_cut: bool
    error: str

    @classmethod
    def of(cls, row: JudgedRow, by: str | None = None) -> "JudgedAnswer":
        """Make a judged answer from a row of results; ``by`` is a column to group by."""
        columns, detection = row.columns, row.detection
        model = columns.get("model", "")
        spans = () if detection is None else detection["spans"]
        asked = repr((row.question, [each["sha256"] for each in row.sources]))
        return cls(
            row=row.row,
            model=model,
            task=row.task,
            value="" if by is None else columns.get(by, ""),
            question=columns.get("question_id") or row.id.removesuffix(f"@{model}"),
            asked="" if row.is_unreadable else sha256(asked.encode()).hexdigest()[:16],
            context=int(sha256(row.context_id.encode()).hexdigest()[:16], 16),
            outcome=FAILED if detection is None else str(detection["outcome"]),
            severities=tuple(int(each["severity"]) for each in spans),
            n_contradicted=sum(each["label"] == Label.CONTRADICTED for each in spans),
            tokens=(_count(columns.get("prompt_tokens")), _count(columns.get("completion_tokens"))),
            is_cut=columns.get("finish_reason") == "length",
            error="" if row.error is None else row.error["type"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """All judged answers of a results file.

    Attributes:
        header: The detector and the data.
        verdicts: The answers, in the order of the data.
    """

    header: Header
    verdicts: Sequence[JudgedAnswer]


def read_verdicts(path: Path, *, by: str | None = None) -> Verdicts:
    """Read the verdicts of a results file.

    Args:
        path: A file that ``groundwire measure evaluate`` or ``groundwire evaluate`` wrote.
        by: A column to group by, or ``None``.

    Raises:
        ResultsError: If the file is not a results file, or has no rows.
        NoColumnError: If no row has the column ``by``.
    """
    found, columns = [], set[str]()
    with requiring_results(path):
        header = read_header(path)
        for row in read_judged(path):
            columns.update(row.columns)
            found.append(JudgedAnswer.of(row, by))
    if not found:
        raise ResultsError(path, None, "it has no rows")
    if by is not None and by not in columns:
        shown = ", ".join(repr(each[:80]) for each in sorted(columns)[:50])
        raise NoColumnError(
            f"No row has the column {by[:80]!r} of --by. There are: {shown or 'none'}."
        )
    return Verdicts(header=header, verdicts=sorted(found, key=lambda each: each.row))


def _count(text: str | None) -> int:
    """Read a number of tokens; 0 if the text is not a number: the column may hold anything."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0
