"""Maps the columns of a table to the fields of a labelled answer or a question."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Self

from groundwire.detection.example import Example, Source, read_sources, require_text
from groundwire.detection.rows import (
    ROW_KEYS,
    MissingColumnError,
    RowError,
    find_key,
    json_kind,
    lacking,
    listed,
)
from groundwire.detection.values import Label
from groundwire.errors import SettingError
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.labelled import GoldSpan, Known, LabelledAnswer, context_of
from groundwire.text.spelling import guess

#: Field → usual names of its column; the first name that a row has is used.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "task": ("task", "domain", "category"),
    "context_id": ("context_id",),
    **ROW_KEYS,
    "spans": ("spans", "labels"),
    "label": ("label", "hallucinated", "is_hallucinated"),
}

#: Labels that only mean yes or no → whether the label means yes. :attr:`ColumnMapping.label_means`
#: says whether yes means hallucinated or supported.
_BARE = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "y"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "n"), False),
}
_HALLUCINATED = (
    *("hallucinated", "hallucination", "wrong", "incorrect", "fail", "failed", "bad"),
    *("unsupported", "not supported", "contradicted", "contradiction", "refuted", "refutes"),
    *("unfaithful", "not faithful", "ungrounded", "not grounded", "inconsistent", "neutral"),
)
_GROUNDED = (
    *("grounded", "faithful", "consistent", "right", "correct", "pass", "passed", "good", "ok"),
    *("supported", "supports", "entailed", "entailment"),
    *("not hallucinated", "no hallucination", "non hallucinated"),
)
#: A label in lower case, with spaces in place of hyphens and underscores → whether the answer is
#: hallucinated. The labels of :data:`_BARE` are here as if yes meant hallucinated.
WORDS: Mapping[str, bool] = {
    **_BARE,
    **dict.fromkeys(_HALLUCINATED, True),
    **dict.fromkeys(_GROUNDED, False),
}

#: Words in a span's label that mean that the sources contradict the span. "Intrinsic" is the term
#: in research on summaries; "instrinsic" is how FaithBench sometimes spells it.
_CONFLICTS = ("conflict", "contradict", "intrinsic", "instrinsic")

#: Limit on the characters of a value in a column that holds no field, such as the name of a model.
#: Longer values are not kept in results.
_MAX_COLUMN_CHARS = 256

#: Limit on the characters of a label or a marked text that an error message quotes.
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """The column of each field of an answer or a question, and the meaning of its label.

    If a row lacks the column that the mapping names for a field, reading this field raises an
    error. Without this error, a misspelt name would silently leave out the field. (If only some
    rows of a table have an optional column, :func:`.files.table_lines` first adds the column to the
    other rows.)

    Attributes:
        columns: Field → column. Other fields are found by the usual names of their columns
            (:data:`COLUMNS`).
        label_means: Meaning of a label of 1, true or yes: ``hallucinated``, or
            ``supported`` as in LLM-AggreFact.

    Raises:
        SettingError: If a field is unknown, or ``label_means`` is neither ``hallucinated`` nor
            ``supported``.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    label_means: str = "hallucinated"

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.columns) - set(COLUMNS)):
            near = guess(unknown[0], COLUMNS)
            legal = f"one of {', '.join(COLUMNS)}" + (f" ({near} is closest)" if near else "")
            raise SettingError("column", unknown[0], legal)
        if self.label_means not in ("hallucinated", "supported"):
            raise SettingError("label_means", self.label_means, "hallucinated or supported")

    @classmethod
    def of(cls, pairs: Iterable[str], *, label_means: str = "hallucinated") -> Self:
        """Make a mapping from texts of the form ``field=column``, as options give them.

        Raises:
            SettingError: If a text has another form or names an unknown field, if the column
                ``answer``, ``question`` or ``sources`` is given to a field other than these three
                (as when the two names are swapped), or if ``label_means`` is neither
                ``hallucinated`` nor ``supported``.
        """
        columns = {}
        for pair in pairs:
            name, equals, column = pair.partition("=")
            if not equals or not column or (column in ROW_KEYS and name not in ROW_KEYS):
                raise SettingError("column", pair, "of the form field=column, as answer=response")
            columns[name] = column
        return cls(columns=columns, label_means=label_means)

    @property
    def fingerprint(self) -> bytes:
        """The mapping as bytes, which differ for different mappings."""
        return json.dumps([sorted(self.columns.items()), self.label_means]).encode()

    @property
    def optional(self) -> frozenset[str]:
        """The columns that the mapping names for fields other than answer and sources."""
        return frozenset(
            column for name, column in self.columns.items() if name not in ("answer", "sources")
        )

    def id_of(self, row: Mapping[str, Any]) -> str | None:
        """Read the id of a row; ``None`` if it has none.

        Raises:
            InputError: If the id is neither a valid text nor a number, or the row lacks the column
                that the mapping names for the id.
        """
        return _name(self._get(row, "id"), "id")

    def task_of(self, row: Mapping[str, Any]) -> str:
        """Read the task of a row; empty if it has none.

        Raises:
            InputError: If the task is neither a valid text nor a number, or the row lacks the
                column that the mapping names for the task.
        """
        return _name(self._get(row, "task"), "task") or ""

    def reason_of(self, row: Mapping[str, Any]) -> str:
        """Return the error that ``measure generate`` wrote in place of an answer; empty if none."""
        column = self._column(row, "answer")
        said = row.get("error") if column is not None and row.get(column) is None else None
        return said if isinstance(said, str) else ""

    def labels_of(self, columns: Collection[str]) -> list[str]:
        """List the columns of a row that hold its label or its marked words."""
        found = (self._column(columns, name) for name in ("label", "spans"))
        return [column for column in found if column and column in columns]

    def others_of(self, row: Mapping[str, Any]) -> Mapping[str, str]:
        """Collect the short texts, numbers and booleans of a row, by which results can be grouped.

        Columns that hold a field, such as the answer or its label, are left out; the task is kept.
        """
        used = {self._column(row, name) for name in COLUMNS if name != "task"}
        return {
            str(name): str(value)
            for name, value in row.items()
            if name not in used
            and isinstance(value, str | int | float)
            and len(str(value)) <= _MAX_COLUMN_CHARS
        }

    def question(self, row: Mapping[str, Any], number: int) -> AskedQuestion:
        """Read a row as a question with its sources; its answer, if it has one, is ignored.

        Raises:
            MissingColumnError: If the row lacks the column of question or sources, or a column that
                the mapping names for the id, the task or the context id.
            InputError: If the row cannot be read.
        """
        text = _text(self._need(row, "question"), "question")
        if not text.strip():
            raise RowError("the question is empty")
        require_text(text, "question")
        sources = read_sources(_sources(self._need(row, "sources")))
        return AskedQuestion(text=text, sources=sources, **self._names(row, number, sources))

    def example(self, row: Mapping[str, Any]) -> Example:
        """Read a row as an answer with its sources; labels are ignored.

        Raises:
            MissingColumnError: If the row lacks the column of answer or sources, or the column that
                the mapping names for the question.
            InputError: If the row cannot be read.
        """
        self._require(row, "answer", "sources")
        answer = _text(self._need(row, "answer"), "answer")
        question = self._get(row, "question")
        return Example.of(
            sources=_sources(self._need(row, "sources")),
            question=None if question is None else _text(question, "question"),
            answer=answer,
        )

    def answer(self, row: Mapping[str, Any], number: int) -> LabelledAnswer:
        """Read a row as a labelled answer; spans may be a JSON text.

        ``number`` is the number of the row, which serves as id if the row has none.

        Raises:
            InputError: If the row cannot be read.
        """
        example = self.example(row)
        spans = _spans(self._get(row, "spans"), example.answer)
        label = self._get(row, "label")
        is_hallucinated = None if label is None else self._means_hallucinated(label)
        return LabelledAnswer(
            **self._names(row, number, example.sources),
            example=example,
            spans=spans or (),
            known=_known(spans, is_hallucinated),
            label=is_hallucinated,
        )

    def unpacked(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Parse the sources of a CSV or TSV row if they are a list written as a text.

        Call this for rows of CSV and TSV only: other formats have real lists, so a text in them is
        one source.
        """
        column = self._column(row, "sources")
        if column is None or column not in row:
            return row
        return {**row, column: listed(row[column])}

    def _names(
        self, row: Mapping[str, Any], number: int, sources: Iterable[Source]
    ) -> dict[str, Any]:
        """Read what answers and questions have in common: id, task, context id, further columns."""
        context_id = _name(self._get(row, "context_id"), "context_id")
        return {
            "id": self.id_of(row) or str(number),
            "task": self.task_of(row),
            "context_id": context_id or context_of(sources),
            "columns": self.others_of(row),
        }

    def _column(self, row: Collection[str], name: str) -> str | None:
        if name in self.columns:
            return self.columns[name]
        return find_key(row, COLUMNS[name])

    def _get(self, row: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - a cell's value
        if name in self.columns:
            return _value(self._need(row, name))
        column = self._column(row, name)
        return None if column is None else _value(row[column])

    def _need(self, row: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401
        self._require(row, name)
        return row[self._column(row, name) or name]

    def _require(self, row: Mapping[str, Any], *names: str) -> None:
        """Raise one error that names all given fields for which a row has no column."""
        problems = []
        for name in names:
            column = self._column(row, name)
            if column is None or column not in row:
                wanted = (column,) if column else COLUMNS[name]
                problem = lacking(row, name, what="column", wanted=wanted)
                problems.append(f"{problem} Name it with --column {name}=COLUMN")
        if problems:
            raise MissingColumnError("; ".join(problems))

    def _means_hallucinated(self, label: object) -> bool:
        word = str(label).strip().lower().replace("_", " ").replace("-", " ")
        if word not in WORDS:
            raise RowError(
                f"the label {word[:_SHOWN_CHARS]!r} is none of {', '.join(_HALLUCINATED)}; nor of "
                f"{', '.join(_GROUNDED)}; nor of {', '.join(_BARE)}. Leave it empty if it is open"
            )
        return WORDS[word] != (word in _BARE and self.label_means == "supported")


def _value(value: Any) -> Any:  # noqa: ANN401 - the value of a table's cell
    # A missing value is an empty text in CSV, and sometimes NaN in Parquet.
    is_nothing = value == "" or (isinstance(value, float) and isnan(value))
    return None if is_nothing else value


def _known(spans: tuple[GoldSpan, ...] | None, is_hallucinated: bool | None) -> Known:
    if spans is None:
        return Known.NOTHING if is_hallucinated is None else Known.ANSWER
    if spans and is_hallucinated is False:
        raise RowError(
            "words of the answer are marked, and its label says that it is not hallucinated: "
            "correct the label, or leave out the spans"
        )
    # A hallucinated answer without marked words is labelled as a whole.
    return Known.ANSWER if is_hallucinated and not spans else Known.SPANS


def _name(value: object, name: str) -> str | None:
    """Read a value that serves as a name: a text or a number; ``None`` if there is no value."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RowError(f"the {name} is a JSON {json_kind(value)} and must be a text or a number")
    require_text(str(value), name)
    return str(value)


def _short(number: int) -> str:
    """Format a number for a message, or "…" if it is huge: JSON allows thousands of digits."""
    return str(number) if abs(number) < 10**15 else "…"


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise RowError(f"the {name} is a JSON {json_kind(value)} and must be a text")
    return value


def _sources(value: object) -> Any:  # noqa: ANN401 - read_sources takes any kind
    return [] if value is None else value


def _spans(value: object, answer: str) -> tuple[GoldSpan, ...] | None:
    """Parse gold spans; ``None`` if the row has no value for them."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowError("the spans are a text that is no JSON") from error
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise RowError(f"the spans are a JSON {json_kind(value)} and must be a list")
    return tuple(_span(each, answer) for each in value)


def _span(value: object, answer: str) -> GoldSpan:
    if isinstance(value, list | tuple) and len(value) == 2:
        value = {"start": value[0], "end": value[1]}
    if not isinstance(value, Mapping):
        raise RowError("a span is neither an object with start and end nor a pair of them")
    start, end = value.get("start"), value.get("end")
    if type(start) is not int or type(end) is not int:
        raise RowError("a span has no whole numbers as start and end")
    if not 0 <= start < end <= len(answer):
        raise RowError(
            f"the span {_short(start)}-{_short(end)} does not lie in the answer, which has "
            f"{len(answer):,} characters"
        )
    said = value.get("text")
    if isinstance(said, str) and said != answer[start:end]:
        raise RowError(
            f"the span {start}-{end} is {answer[start:end][:_SHOWN_CHARS]!r} in the answer and not "
            f"{said[:_SHOWN_CHARS]!r}: do its offsets count characters?"
        )
    kind = str(value.get("label") or value.get("label_type") or "")
    is_conflict = any(word in kind.lower() for word in _CONFLICTS)
    label = Label.CONTRADICTED if is_conflict else Label.UNSUPPORTED
    return GoldSpan(start=start, end=end, label=label, kind=kind)
