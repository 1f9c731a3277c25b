"""Reads data sets of labelled answers as records with exact character spans.

Files have the formats in which the sets are published, one JSON object on each line, gzipped;
docs/training.md names the fields.
"""

import difflib
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from groundwire.detection.example import Source, SourceLike, read_sources
from groundwire.detection.values import Label
from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow, read_labelled
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.slots import (
    CONTRADICTED,
    UNSUPPORTED,
    MarkedAnswer,
    n_slots,
    render_slots,
)
from groundwire.text.segment import segment

_WORD = re.compile(r"\w+|[^\w\s]")
# The most answers of one record of edits.
_EDITS = 8
# The most documents of a file, paragraphs of a document, and rows of a table that are read; and the
# number of characters after which an excerpt ends.
_MOST_DOCUMENTS, _MOST_PARAGRAPHS, _MOST_ROWS, _EXCERPT_CHARS = 2_500, 40, 12, 600
_TAG = re.compile(r"\{\{.*?\}\}|<[^>]+>", re.S)


@dataclass(frozen=True, slots=True)
class LabelledContext:
    """A record of training data: a context and labelled answers to it.

    Attributes:
        id: The id of the record in its set.
        task: The task of the answers or the kind of the record, such as ``Summary``, or ``slots-``
            with the domain of the text.
        sources: The sources of the context.
        question: The question; ``None`` if there is none.
        answers: Answers to the question, with their spans.
        slots: A slot-annotated answer, from which variants are drawn; ``None`` in other sets.
    """

    id: str
    task: str
    sources: tuple[Source, ...]
    question: str | None
    answers: tuple[MarkedAnswer, ...]
    slots: str | None = None

    def with_last(self, answer: MarkedAnswer) -> "LabelledContext":
        """Return a record with ``answer`` in place of the last answer, or after a single answer."""
        kept = self.answers[:-1] or self.answers
        return replace(self, answers=(*kept, answer))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a file of JSON lines, gzipped or not."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def all_answers(rows: Iterable[AnyRow]) -> Iterator[LabelledAnswer]:
    """Yield the answers of rows.

    Raises:
        DatasetError: At the first row that could not be read.
    """
    for row in rows:
        if isinstance(row, FailedRow):
            path, _, line = row.place.rpartition(":")
            raise DatasetError(Path(path), int(line), row.problem.removesuffix("."))
        yield row.answer


def ragtruth(path: Path) -> list[LabelledContext]:
    """Read RAGTruth answers (https://arxiv.org/abs/2401.00396), grouped by context."""
    groups: dict[str, list[LabelledAnswer]] = {}
    for answer in all_answers(read_labelled(path)):
        groups.setdefault(answer.context_id, []).append(answer)
    return [
        LabelledContext(
            id=context_id,
            task=answers[0].task,
            sources=answers[0].example.sources,
            question=answers[0].example.question,
            answers=tuple(
                MarkedAnswer(answer.example.answer, _marks(answer)) for answer in answers
            ),
        )
        for context_id, answers in groups.items()
    ]


def _marks(answer: LabelledAnswer) -> tuple[tuple[int, int, int], ...]:
    return tuple(
        (span.start, span.end, CONTRADICTED if span.label is Label.CONTRADICTED else UNSUPPORTED)
        for span in answer.spans
    )


def edits(path: Path) -> list[LabelledContext]:
    """Read answers with a known mistake and their correct versions (BUMP, DeFacto, SummEdits).

    BUMP (https://aclanthology.org/2023.acl-long.716) puts one error into a reference summary;
    DeFacto (https://arxiv.org/abs/2212.09968) has people repair a model's summary; SummEdits
    (https://aclanthology.org/2023.emnlp-main.600) has many edits of one summary, harmless ones too.
    The words that differ become the spans. Both texts become answers, so that two answers of a
    record differ only in the mistake.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(path):
        groups.setdefault(row["context"], []).append(row)
    records = []
    for context, rows in groups.items():
        answers = list(dict.fromkeys(answer for row in rows for answer in _edited(row)))
        sources = read_sources([context])
        # The edits of an article are divided among several records if there are many.
        for start in range(0, len(answers), _EDITS):
            some = tuple(answers[start : start + _EDITS])
            records.append(LabelledContext(rows[0]["id"], "Summary", sources, None, some))
    return records


def documents(folder: Path) -> list[LabelledContext]:
    """Read texts as records without answers, for functions that make claims from sources.

    Articles and pages are cut into runs of paragraphs. Tables become pipe tables; in the files,
    ``#`` separates their cells.

    Args:
        folder: A folder of ``.jsonl.gz`` files whose rows have ``id``, ``title`` and ``text``.
    """
    return [
        LabelledContext(row["id"], "document", read_sources([text]), None, ())
        for path in sorted(folder.glob("*.jsonl.gz"))
        for row in islice(read_rows(path), _MOST_DOCUMENTS)
        for text in _excerpts(row)
    ]


def _excerpts(row: Mapping[str, Any]) -> list[str]:
    text = row["text"].strip()
    if row["title"] == "table":
        lines = text.splitlines()[:_MOST_ROWS]
        return ["\n".join(f"| {line.replace('#', ' | ')} |" for line in lines)]
    if text.startswith("{"):
        return [text]
    found = []
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n|\n(?=[A-Z#])", _TAG.sub("", text))]
    run: list[str] = []
    for paragraph in paragraphs[:_MOST_PARAGRAPHS]:
        run.append(paragraph)
        if sum(map(len, run)) > _EXCERPT_CHARS:
            found.append("\n\n".join(run))
            run = []
    return found


def shares_text(
    records: Iterable[LabelledContext], held_out: Iterable[LabelledContext]
) -> list[bool]:
    """Return for each record whether it shares twelve words in a row with a held-out source.

    Sources are not compared as a whole, because an article has other headlines and white space in
    different sets.
    """
    known = {run for record in held_out for run in _runs(record)}
    return [not known.isdisjoint(_runs(record)) for record in records]


def _runs(record: LabelledContext, n: int = 12) -> Iterator[tuple[str, ...]]:
    for source in record.sources:
        words = re.findall(r"\w+", source.text.lower())
        yield from zip(*(words[i:] for i in range(n)), strict=False)


def _edited(row: Mapping[str, Any]) -> list[MarkedAnswer]:
    wrong = row["answer"]
    right = row.get("original_answer") or (row.get("feedback") or {}).get("summary")
    if row["label"] != "inconsistent":
        return [MarkedAnswer(wrong, ())]
    if not right:
        return []
    outside = (
        row.get("extrinsic")
        or "Extrinsic" in row.get("error_type", "")
        or "hallucinated_fact_insertion" in row.get("edit_types", ())
    )
    label = UNSUPPORTED if outside else CONTRADICTED
    spans = tuple((start, end, label) for start, end in changed_words(right, wrong))
    # An omission leaves no words to mark, and a rewrite does not show which words are wrong.
    if not spans or sum(end - start for start, end, _ in spans) > len(wrong) / 2:
        return []
    return [MarkedAnswer(wrong, spans), MarkedAnswer(right, ())]


def changed_words(right: str, wrong: str) -> list[tuple[int, int]]:
    """Return the character ranges in ``wrong`` whose words differ from those of ``right``."""
    # Words are put in lower case one by one, because lower case can change the length of a text.
    a, b = [[word.lower() for word in _WORD.findall(text)] for text in (right, wrong)]
    places = [match.span() for match in _WORD.finditer(wrong)]
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    return [
        (places[start][0], places[end - 1][1])
        for kind, _, _, start, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    ]


def slots(path: Path) -> list[LabelledContext]:
    """Read slot-annotated answers, with ``{{supported||hallucinated||kind}}`` inline."""
    records = []
    for row in read_rows(path):
        context: SourceLike | list[SourceLike] = row["context"]
        sources = context if isinstance(context, list) else [context]
        faithful = render_slots(row["answer"], frozenset())
        records.append(
            LabelledContext(
                row["id"],
                "slots-" + row["domain"],
                read_sources(sources),
                row["question"],
                (faithful,),
                row["answer"],
            )
        )
    return records


def sentences_of(record: LabelledContext) -> list[str]:
    """Return the sentences of a record's sources and, if it has slots, of its faithful answer."""
    texts = [source.text for source in record.sources]
    texts.append(render_slots(record.slots or "", frozenset()).text)
    return [text[piece.start : piece.end].strip() for text in texts for piece in segment(text)]


def draw(
    record: LabelledContext, n: int, rng: random.Random, *, one_slot_share: float = 0.0
) -> LabelledContext:
    """Draw answers of a record; if it has slots, the faithful answer and random variants.

    Args:
        record: A record of any set.
        n: The most answers to draw.
        rng: The only source of randomness.
        one_slot_share: Probability that a variant is wrong in one slot only. In other variants each
            slot is wrong with probability 0.35, and at least one is.
    """
    if record.slots is None:
        return replace(
            record, answers=tuple(rng.sample(record.answers, min(n, len(record.answers))))
        )
    count = n_slots(record.slots)
    answers = [render_slots(record.slots, frozenset())]
    for _ in range(n - 1 if count else 0):
        if one_slot_share and rng.random() < one_slot_share:
            chosen = {rng.randrange(count)}
        else:
            chosen = {i for i in range(count) if rng.random() < 0.35} or {rng.randrange(count)}
        answers.append(render_slots(record.slots, frozenset(chosen)))
    return replace(record, answers=tuple(answers))


def both_ways(record: LabelledContext, rng: random.Random) -> LabelledContext:
    """Draw two answers of a slot-annotated record: each slot is right in one, wrong in the other.

    Claims then differ in their mistake only, and not in length or in rare words.
    """
    slots = record.slots or ""
    everything = frozenset(range(n_slots(slots)))
    wrong = frozenset(i for i in sorted(everything) if rng.random() < 0.5)
    answers = (render_slots(slots, wrong), render_slots(slots, everything - wrong))
    return replace(record, answers=answers)
