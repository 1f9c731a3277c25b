"""The verdicts of a results file, by model and question."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from groundwire.detection.values import DetectorInfo, Label, Outcome
from groundwire.errors import InputError
from groundwire.evaluation.judged_row import Header, JudgedRow, ResultsError, requiring_results
from groundwire.evaluation.results_file import ResultsFile

#: The outcome of an answer that could not be read, made or checked.
FAILED = "failed"
#: All outcomes of an answer. The first two are verdicts, the others are not.
OUTCOMES = (
    *(str(Outcome.HALLUCINATED), str(Outcome.GROUNDED), str(Outcome.PARTIAL)),
    *(str(Outcome.UNVERIFIED), str(Outcome.UNAVAILABLE), str(Outcome.SKIPPED), FAILED),
)
VERDICTS = OUTCOMES[:2]


class NoColumnError(InputError):
    """No row has the column to group by."""

    def __init__(self, column: str, columns: Collection[str]) -> None:
        super().__init__(column, columns)
        self.column, self.columns = column, tuple(sorted(columns))

    def __str__(self) -> str:
        shown = ", ".join(repr(each[:80]) for each in self.columns[:50])
        return f"No row has the column {self.column[:80]!r} of --by. There are: {shown or 'none'}."


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One judged answer, reduced to numbers and names.

    Attributes:
        row: Its number in the data.
        model: The model that wrote it; empty if nobody says.
        task: The kind of question.
        value: Its value in the column that the rates are grouped by.
        question: The id of its question.
        asked: A hash of the question with its sources; empty if the row failed.
        context: A number that stands for its sources.
        outcome: One of :data:`OUTCOMES`.
        severities: The severities of its spans.
        n_contradicted: Spans that contradict the sources.
        tokens: Read and written.
        is_cut: Whether it was cut for its length.
        error: The type of the error, if it failed.
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
        """Reduce a row of results to what rates and comparisons need."""
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
    """All judged answers of a results file, in the order of the data."""

    header: Header
    verdicts: Sequence[JudgedAnswer]

    @property
    def detector(self) -> DetectorInfo:
        """The detector that judged."""
        return self.header.detector


def read_verdicts(path: Path, *, by: str | None = None) -> Verdicts:
    """Read a results file.

    Args:
        path: What ``groundwire measure evaluate --output`` or ``groundwire evaluate`` wrote.
        by: A column to group by.

    Raises:
        ResultsError: If it is no such file, or has no rows.
        NoColumnError: If no row has that column.
    """
    results, found, columns = ResultsFile(path), [], dict[str, None]()
    with requiring_results(path):
        header = results.header()
        for row in results.rows():
            columns |= dict.fromkeys(row.columns)
            found.append(JudgedAnswer.of(row, by))
    if not found:
        raise ResultsError(path, None, "it has no rows")
    if by is not None and by not in columns:
        raise NoColumnError(by, columns)
    return Verdicts(header=header, verdicts=sorted(found, key=lambda each: each.row))


def _count(text: str | None) -> int:
    """Read a number of tokens; a table may have anything in a column of that name."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0
