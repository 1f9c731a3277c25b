"""RAGTruth: answers of six LLMs with the spans that people marked (https://arxiv.org/abs/2401.00396).

:func:`read_ragtruth` reads rows that hold all of an answer, :class:`ReleaseSources` the two files
of the release (https://github.com/ParticleMedia/RAGTruth). Spans of every kind and answers of every
``quality`` are there: what to leave out is for who measures to decide, and to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from groundwire.detection.example import Example
from groundwire.detection.values import Label
from groundwire.evaluation.datasets.labelled import GoldSpan, LabelledAnswer
from groundwire.evaluation.datasets.rows import DataRow, read_rows

#: The files of the release: answers, and what they were written from.
RESPONSES, SOURCES = "response.jsonl", "source_info.jsonl"

# What stands between instruction and data in the prompts of Data2txt; part of neither.
_BEFORE_DATA = "Structured data:"


def read_ragtruth(path: Path) -> Iterator[LabelledAnswer]:
    """Read rows with the keys context_id, task, context, question, answer and spans.

    A span has start, end and label; ``implicit_true`` and ``due_to_null`` are false if they are
    missing. ``id``, ``model`` and ``quality`` may be missing too; the line then is the id.

    Raises:
        DatasetError: If a row is not as described, a span lies outside its answer, an id comes
            twice, or one ``context_id`` stands for two contexts.
    """
    contexts: dict[str, str] = {}
    ids: set[str] = set()
    for row in read_rows(path):
        context_id, context = row.get("context_id", str), row.get("context", str)
        if contexts.setdefault(context_id, context) != context:
            raise row.error(f"context_id {context_id!r} stood for another context before")
        example = row.example([context], row.get_text("question"), row.get("answer", str))
        yield LabelledAnswer(
            id=_new_id(row, ids),
            task=row.get("task", str),
            context_id=context_id,
            example=example,
            spans=_spans(row, "spans", "label", example),
            quality=row.get("quality", str, "good"),
            model=row.get("model", str, ""),
        )


@dataclass(frozen=True, slots=True)
class ReleaseSources:
    """The sources of the release: source_id → row, context, question.

    The context of an answer is the text that its prompt held: the article, the passages, or the
    record in Python's notation. The question is the question, or what the prompt says before it.
    """

    contents: Mapping[str, tuple[DataRow, str, str | None]]

    @classmethod
    def read(cls, folder: Path) -> "ReleaseSources":
        """Read ``source_info.jsonl``, gzipped or not.

        Raises:
            DatasetError: If a row is not as the release describes it, or an id comes twice.
        """
        contents: dict[str, tuple[DataRow, str, str | None]] = {}
        for row in read_rows(_find(folder, SOURCES)):
            source_id = row.get("source_id", str)
            if source_id in contents:
                raise row.error(f"source_id {source_id!r} is there for the second time")
            contents[source_id] = (row, *_content(row))
        return cls(contents)

    def answer(self, row: DataRow) -> LabelledAnswer:
        """The answer of a row of ``response.jsonl``.

        Raises:
            DatasetError: If the row is not as the release describes it, or its source is missing.
        """
        source_id = row.get("source_id", str)
        if source_id not in self.contents:
            raise row.error(f"source_id {source_id!r} is not in {SOURCES}")
        source, context, question = self.contents[source_id]
        example = row.example([context], question, row.get("response", str))
        return LabelledAnswer(
            id=row.get("id", str, str(row.line)),
            task=source.get("task_type", str),
            context_id=source_id,
            example=example,
            spans=_spans(row, "labels", "label_type", example),
            quality=row.get("quality", str, "good"),
            model=row.get("model", str, ""),
        )


def _find(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if packed.exists() else folder / name


def _content(row: DataRow) -> tuple[str, str | None]:
    """The context and the question of a row of ``source_info.jsonl``."""
    match row.data.get("source_info"):
        case {"question": str(question), "passages": str(passages)}:
            return passages.strip(), question
        case str(article):
            context = article
        case dict(record):
            context = str(record)  # as the prompt has it
        case _:
            raise row.error(
                "'source_info' must be a text, a record, or have the keys question and passages"
            )
    before, found, _ = row.get("prompt", str).partition(context)
    question = before.partition(_BEFORE_DATA)[0].strip()
    return context, question if found and question else None


def _spans(row: DataRow, key: str, label_key: str, example: Example) -> tuple[GoldSpan, ...]:
    spans = []
    answer = example.answer
    for span in row.objects(key):
        start, end = span.get("start", int), span.get("end", int)
        if not 0 <= start < end <= len(answer):
            raise row.error(
                f"the span {start}-{end} does not lie in the answer, which has "
                f"{len(answer):,} characters"
            )
        said = span.get_text("text")
        if said is not None and said != answer[start:end]:
            raise row.error(f"the span {start}-{end} is {answer[start:end]!r} and not {said!r}")
        kind = span.get(label_key, str)
        spans.append(
            GoldSpan(
                start=start,
                end=end,
                label=Label.CONTRADICTED if "Conflict" in kind else Label.UNSUPPORTED,
                kind=kind,
                implicit_true=span.get("implicit_true", bool, default=False),
                due_to_null=span.get("due_to_null", bool, default=False),
            )
        )
    return tuple(spans)


def _new_id(row: DataRow, ids: set[str]) -> str:
    """The id of a row, which no row before it has."""
    id_ = row.get("id", str, str(row.line))
    if id_ in ids:
        raise row.error(f"the id {id_!r} is there for the second time")
    ids.add(id_)
    return id_
