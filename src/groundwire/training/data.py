"""From labelled answers to tensors, through the same stages that the deployed reader uses."""

import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from groundwire.engine.features import NEUTRAL, TABLE_ROWS, match_features
from groundwire.engine.roles import RECALLED_SENTENCES
from groundwire.engine.sentence import parts_of
from groundwire.engine.tokenizer import WordPieces
from groundwire.evidence import Evidence, Query, WordWeights
from groundwire.example import Source, SourceLike, read_sources
from groundwire.passages import PASSAGE_PIECES, Passage, cut_source
from groundwire.segment import segment
from groundwire.training.model import Group

_SLOT = re.compile(r"\{\{(.*?)\}\}", re.S)
_SUPPORTED, _UNSUPPORTED, _CONTRADICTED, _IGNORED = 0, 1, 2, -100


@dataclass(frozen=True, slots=True)
class Marked:
    """An answer with its hallucinated stretches: ``(start, end, label)``, label 1 or 2."""

    text: str
    spans: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A context and answers to it."""

    id: str
    task: str
    sources: tuple[Source, ...]
    question: str | None
    answers: tuple[Marked, ...]
    slots: str | None = None  # a slot-annotated answer: variants are drawn anew each time


@dataclass(frozen=True, slots=True)
class Sentence:
    """What the reader gets to see of one sentence, and what it should say."""

    ids: NDArray[np.int32]
    features: NDArray[np.int64]
    labels: list[int]
    reads: tuple[int, ...]
    answer: int
    offsets: NDArray[np.int32] = field(repr=False)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def ragtruth(path: Path) -> list[Record]:
    """RAGTruth answers (https://arxiv.org/abs/2401.00396), grouped by context."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(path):
        groups.setdefault(row["context_id"], []).append(row)
    return [
        Record(
            id=context_id,
            task=rows[0]["task"],
            sources=read_sources([rows[0]["context"]]),
            question=rows[0]["question"],
            answers=tuple(Marked(row["answer"], _ragtruth_spans(row)) for row in rows),
        )
        for context_id, rows in groups.items()
    ]


def _ragtruth_spans(row: Mapping[str, Any]) -> tuple[tuple[int, int, int], ...]:
    return tuple(
        (span["start"], span["end"], _CONTRADICTED if "Conflict" in span["label"] else 1)
        for span in row["spans"]
    )


def slots(path: Path) -> list[Record]:
    """Slot-annotated answers: ``{{supported||hallucinated||kind}}`` inline."""
    records = []
    for row in read_rows(path):
        context: SourceLike | list[SourceLike] = row["context"]
        sources = context if isinstance(context, list) else [context]
        faithful = render_slots(row["answer"], frozenset())
        records.append(
            Record(
                row["id"],
                "slots-" + row["domain"],
                read_sources(sources),
                row["question"],
                (faithful,),
                row["answer"],
            )
        )
    return records


def render_slots(annotated: str, hallucinated: frozenset[int]) -> Marked:
    """Write out a slot-annotated answer.

    Args:
        annotated: Text with ``{{supported||hallucinated||kind}}``.
        hallucinated: Which slots take their second text, counted from 0.

    Returns:
        The text, with the exact ranges of what was put in, trimmed of white space.
    """
    text = ""
    spans = []
    for i, part in enumerate(_SLOT.split(annotated)):
        if i % 2 == 0:
            text += part
            continue
        good, bad, kind = part.split("||")
        if i // 2 not in hallucinated:
            text += good
            continue
        start = len(text) + len(bad) - len(bad.lstrip())
        if bad.strip():
            label = _CONTRADICTED if kind == "conflict" else _UNSUPPORTED
            spans.append((start, len(text) + len(bad.rstrip()), label))
        text += bad
    return Marked(text, tuple(spans))


def n_slots(annotated: str) -> int:
    """How many slots an annotated answer has."""
    return len(_SLOT.findall(annotated))


def draw(record: Record, n: int, rng: random.Random) -> Record:
    """Some answers of a record; of a slot record the faithful one and random variants."""
    if record.slots is None:
        return replace(
            record, answers=tuple(rng.sample(record.answers, min(n, len(record.answers))))
        )
    count = n_slots(record.slots)
    answers = [render_slots(record.slots, frozenset())]
    for _ in range(n - 1 if count else 0):
        chosen = {i for i in range(count) if rng.random() < 0.35} or {rng.randrange(count)}
        answers.append(render_slots(record.slots, frozenset(chosen)))
    return replace(record, answers=tuple(answers))


def labels_of(
    offsets: NDArray[np.int32], spans: Sequence[tuple[int, int, int]], start: int = 0
) -> list[int]:
    """The label of each word piece: that of a span it shares a character with.

    Args:
        offsets: Character ranges, shape ``(n, 2)``, counted from ``start``.
        spans: ``(start, end, label)`` in the answer; where two overlap, the higher label counts.
        start: Where the sentence begins in the answer.
    """
    return [
        max((label for s, e, label in spans if a + start < e and b + start > s), default=0)
        for a, b in offsets.tolist()
    ]


def sentences_of(
    record: Record, evidence: Evidence, pieces: WordPieces, *, question: bool = True
) -> list[Sentence]:
    """Cut the answers of a record as the detector does, and look up what each sentence reads."""
    asked = pieces.encode(record.question or "").ids if question else np.empty(0, np.int32)
    sentences = []
    for index, answer in enumerate(record.answers):
        before = np.empty(0, np.int32)
        parts = (part for s in segment(answer.text) for part in parts_of(answer.text, s, pieces))
        for part in parts:
            query = Query.of(part.ids, question=asked, before=before)
            chosen = evidence.select(query).first
            features = match_features(
                part.ids,
                part.offsets,
                part.text,
                passages=[evidence.passages[i] for i in chosen],
                question_ids=asked,
                unknown_id=pieces.unknown_id,
            )
            labels = labels_of(part.offsets, answer.spans, part.start)
            offsets = part.offsets + part.start
            sentences.append(Sentence(part.ids, features, labels, chosen, index, offsets))
            before = part.ids
    return sentences


def group_of(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    question: NDArray[np.int32],
    pieces: WordPieces,
    *,
    device: str = "cpu",
) -> Group:
    """Put sentences and what they read into tensors; lengths are multiples of 32.

    Args:
        sentences: In order, answer by answer; ``reads`` counts in ``passages``.
        passages: What they read.
        question: Word pieces of the question, perhaps none.
        pieces: Knows the special tokens.
        device: Where the tensors go.
    """
    table = np.zeros((len(passages), _up(max(p.n_read for p in passages))), np.int64)
    mask = np.zeros(table.shape, bool)
    for row, passage in enumerate(passages):
        table[row, : passage.n_read] = [pieces.cls_id, *passage.ids, pieces.sep_id]
        mask[row, : passage.n_read] = True
    total = _up(sum(len(s.ids) + 2 for s in sentences))
    ids, places = np.zeros(total, np.int64), np.zeros(total, np.int64)
    of, labels = np.full(total, -1, np.int64), np.full(total, _IGNORED, np.int64)
    features = np.full((total, 4), TABLE_ROWS - 1, np.int64)
    reads = np.zeros((len(sentences), len(passages)), bool)
    recalls = np.zeros((len(sentences), len(sentences)), bool)
    at = 0
    for i, sentence in enumerate(sentences):
        n = len(sentence.ids)
        here = slice(at, at + n + 2)
        ids[here] = [pieces.cls_id, *sentence.ids, pieces.sep_id]
        places[here], of[here] = np.arange(n + 2), i
        features[here] = NEUTRAL
        features[at + 1 : at + n + 1] = sentence.features
        labels[at + 1 : at + n + 1] = sentence.labels
        reads[i, list(sentence.reads)] = True
        for j in range(max(0, i - RECALLED_SENTENCES), i):
            recalls[i, j] = sentences[j].answer == sentence.answer
        at += n + 2
    asked = [[pieces.cls_id, *question[:PASSAGE_PIECES], pieces.sep_id]] if len(question) else [[]]
    worst = [max(sentence.labels, default=0) for sentence in sentences]
    tensors = (table, mask, np.array(asked, np.int64), ids, places, of, features, reads, recalls)
    targets = (labels, np.array(worst), np.array([s.answer for s in sentences]))
    return Group(*(torch.from_numpy(a).to(device) for a in (*tensors, *targets)))


def _up(n: int) -> int:
    # Kernels are compiled for each shape: few distinct lengths.
    return -(-n // 32) * 32


def evidence_of(record: Record, pieces: WordPieces, words: WordWeights) -> Evidence:
    """The evidence of a record, cut and indexed as in deployment."""
    return Evidence.of(record.sources, partial(cut_source, pieces=pieces), words)
