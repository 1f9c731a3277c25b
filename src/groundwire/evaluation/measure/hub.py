"""Questions from Hugging Face datasets: known ones, and others by a column mapping."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from groundwire.detection.rows import RowError
from groundwire.errors import InputError, MissingExtraError
from groundwire.evaluation.datasets.files import Turn, Values, question_reader, turned_rows
from groundwire.evaluation.datasets.lines import content_of
from groundwire.evaluation.datasets.mapping import ColumnMapping
from groundwire.evaluation.measure.questions import AnyQuestion

#: First rows of a dataset, among which a limited number is drawn.
_DRAWN_AMONG = 1000


class HubError(InputError):
    """A dataset cannot be read."""

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        super().__init__(name, problem, remedy)
        self.name, self.problem, self.remedy = name, problem, remedy

    def __str__(self) -> str:
        return f"The dataset {self.name} cannot be read: {self.problem}. {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTable:
    """The part of a dataset to read.

    Attributes:
        name: On the hub, such as ``mandarjoshi/trivia_qa``, or a folder.
        config: Its configuration, such as ``rc``.
        split: Its part.
        revision: Commit; ``None`` is the newest.
        limit: At most so many rows, drawn of the first thousand or so.
    """

    name: str
    config: str | None = None
    split: str = "validation"
    revision: str | None = None
    limit: int | None = None


def read_hub(table: HubTable, mapping: ColumnMapping | None = None) -> Iterator[AnyQuestion]:
    """Read questions with their sources.

    Args:
        table: The rows.
        mapping: Which column holds what, of a dataset that is not among :data:`KNOWN`.

    Raises:
        MissingExtraError: If the library is not installed.
        HubError: If there is no such dataset or part, or no network.
    """
    return questions_of(_guarded(table), table, mapping)


def questions_of(
    rows: Iterator[Values], table: HubTable, mapping: ColumnMapping | None = None
) -> Iterator[AnyQuestion]:
    """Read questions from rows that are at hand.

    Raises:
        HubError: If there are none.
    """
    first = next(rows, None)
    if first is None:
        raise HubError(table.name, "it has no rows", "Choose another --split.")
    columns = mapping or ColumnMapping()
    turn = None if columns.columns else known_as(first)
    reader = question_reader(columns)
    for number, values in enumerate(chain([first], rows), 1):
        place = f"{table.name} ({table.split}):{number}"
        for turned in turned_rows(values, turn, Path(table.name), number):
            yield reader.read(number, place, content_of(values), turned)


def known_as(row: Values) -> Turn | None:
    """Recognize a known dataset by the columns of its first row."""
    return next((turn for columns, turn in KNOWN.values() if columns <= row.keys()), None)


def trivia_qa(row: Values, *_: object) -> Iterable[Values]:
    """Turn a row of TriviaQA (``rc``): sources are its Wikipedia pages and search results."""
    pages = [(page, "wiki_context") for page in _records(row["entity_pages"])]
    pages += [(page, "search_context") for page in _records(row["search_results"])]
    texts = [(page.get("title") or "", str(page.get(key) or "").strip()) for page, key in pages]
    yield {
        "id": row["question_id"],
        "question": row["question"],
        "sources": [f"{title}\n{text}".strip() for title, text in texts if text],
        "task": row.get("question_source") or "TriviaQA",
    }


def natural_questions(row: Values, *_: object) -> Iterable[Values]:
    """Turn a row of Natural Questions: the source is the marked long answer, or the page."""
    document, annotations = row["document"], _records(row["annotations"])
    tokens = _records(document["tokens"])
    ranges = [each["long_answer"] for each in annotations]
    marked = next((each for each in ranges if 0 <= each["start_token"] < each["end_token"]), None)
    chosen = tokens[marked["start_token"] : marked["end_token"]] if marked else tokens
    text = " ".join(str(each["token"]) for each in chosen if not each["is_html"])
    yield {
        "id": row["id"],
        "question": row["question"]["text"],
        "sources": [f"{document['title']}\n{text}"] if text else [],
        "task": "long answer" if marked else "no long answer",
    }


def hotpot_qa(row: Values, *_: object) -> Iterable[Values]:
    """Turn a row of HotpotQA: sources are its paragraphs, distractors included."""
    yield {
        "id": row["id"],
        "question": row["question"],
        "sources": [
            f"{each['title']}\n{''.join(each['sentences']).strip()}"
            for each in _records(row["context"])
        ],
        "task": row.get("type") or "HotpotQA",
        "level": row.get("level") or "",
    }


def squad(row: Values, *_: object) -> Iterable[Values]:
    """Turn a row of SQuAD 1.1 or 2.0: the source is a paragraph."""
    yield {
        "id": row["id"],
        "question": row["question"],
        "sources": [row["context"]],
        "task": "answerable" if _records(row["answers"]) else "unanswerable",
        "title": row.get("title") or "",
    }


#: Name → the columns that a dataset is recognized by, and the function that turns its rows.
KNOWN: Mapping[str, tuple[frozenset[str], Turn]] = {
    "TriviaQA": (
        frozenset({"question", "question_id", "entity_pages", "search_results"}),
        trivia_qa,
    ),
    "Natural Questions": (
        frozenset({"id", "document", "question", "annotations"}),
        natural_questions,
    ),
    "HotpotQA": (
        frozenset({"id", "question", "context", "supporting_facts", "answer"}),
        hotpot_qa,
    ),
    "SQuAD": (frozenset({"id", "question", "context", "answers"}), squad),
}


def _records(value: object) -> Sequence[Values]:
    """Read a list of objects; older versions of the library give an object of lists."""
    if isinstance(value, Mapping):
        columns = {name: each for name, each in value.items() if isinstance(each, Sequence)}
        try:
            rows = [*zip(*columns.values(), strict=True)]
        except ValueError:
            problem = "lists that belong together have not the same length"
            raise RowError(problem) from None
        return [dict(zip(columns, row, strict=True)) for row in rows]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    raise TypeError(f"a list was expected, and it is a {type(value).__name__}")


def _open(table: HubTable) -> Iterator[Values]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("Reading a Hugging Face dataset", "datasets") from error
    found: Any = datasets.load_dataset(
        table.name,
        table.config,
        split=table.split,
        revision=None if Path(table.name).is_dir() else table.revision,
        streaming=table.limit is not None,  # some are a hundred gigabytes
    )
    if table.limit is not None:
        found = found.shuffle(seed=0, buffer_size=_DRAWN_AMONG).take(table.limit)
    return iter(found)


def _guarded(table: HubTable) -> Iterator[Values]:
    try:
        yield from _open(table)
    except MissingExtraError:
        raise
    except Exception as error:  # the library raises what it likes, also while it is read
        said = str(error).splitlines()[0][:300] if str(error) else ""
        raise HubError(
            table.name,
            f"{type(error).__name__}: {said}".rstrip(": "),
            "See that the names of dataset, --config and --split are right and that there is a "
            "network; without one, write the questions to a file and give it with --data.",
        ) from error
