"""Reads judged answers from a results file, for the rates of hallucinated answers."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from groundwire.detection.values import Label, Outcome
from groundwire.evaluation.judged_row import Header, JudgedRow, ResultsError, requiring_results
from groundwire.evaluation.results_file import read_header, read_judged

#: The outcome of an answer without a detection: the answer could not be read or generated, or its
#: check raised an error.
FAILED = "failed"
#: All outcomes of an answer. Only the first two are verdicts.
OUTCOMES = (
    *(str(Outcome.HALLUCINATED), str(Outcome.GROUNDED), str(Outcome.PARTIAL)),
    *(str(Outcome.UNVERIFIED), str(Outcome.UNAVAILABLE), str(Outcome.SKIPPED), FAILED),
)
VERDICTS = OUTCOMES[:2]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One judged answer, reduced to numbers and names.

    Attributes:
        row: Number of the answer's row in the data.
        model: The model that wrote the answer; empty if unknown.
        task: The kind of question.
        context: Hash of the context id; answers to the same sources share it.
        outcome: One of :data:`OUTCOMES`.
        severities: Severity of each span of the answer, from 0 to 4.
        n_contradicted: Number of spans that the sources contradict.
        tokens: Number of tokens that the model read, and number of tokens that it wrote; 0 if
            unknown.
        is_cut: Whether the answer was cut off at the limit of tokens.
        error: Type of the error, if the row could not be read or its check failed; else empty.
    """

    row: int
    model: str
    task: str
    context: int
    outcome: str
    severities: tuple[int, ...]
    n_contradicted: int
    tokens: tuple[int, int]
    is_cut: bool
    error: str

    @classmethod
    def of(cls, row: JudgedRow) -> "JudgedAnswer":
        """Make a judged answer from a row of results."""
        columns, detection = row.columns, row.detection
        spans = () if detection is None else detection["spans"]
        return cls(
            row=row.row,
            model=columns.get("model", ""),
            task=row.task,
            context=int(sha256(row.context_id.encode()).hexdigest()[:16], 16),
            outcome=FAILED if detection is None else str(detection["outcome"]),
            severities=tuple(int(each["severity"]) for each in spans),
            n_contradicted=sum(each["label"] == Label.CONTRADICTED for each in spans),
            tokens=(_count(columns.get("prompt_tokens")), _count(columns.get("completion_tokens"))),
            is_cut=columns.get("finish_reason") == "length",
            error="" if row.error is None else row.error["type"],
        )


def read_verdicts(path: Path) -> tuple[Header, list[JudgedAnswer]]:
    """Read the header and the judged answers of a results file, in the order of the data.

    Raises:
        ResultsError: If the file is not a results file, or has no rows.
    """
    with requiring_results(path):
        header, found = read_header(path), list(map(JudgedAnswer.of, read_judged(path)))
    if not found:
        raise ResultsError(path, None, "it has no rows")
    return header, sorted(found, key=lambda each: each.row)


def _count(text: str | None) -> int:
    """Read a number of tokens; 0 if the text is not a whole number of at most 15 digits.

    The column of a user's table may have any text.
    """
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0
