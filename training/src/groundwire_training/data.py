"""Turns labelled answers into tensors, through the stages of the deployed reader."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from groundwire.detection.evidence import Evidence, Query, WordWeights
from groundwire.detection.passages import PASSAGE_PIECES, Passage, cut_source
from groundwire.engine.features import N_FEATURES, NEUTRAL, TABLE_ROWS, match_features
from groundwire.engine.roles import RECALLED_SENTENCES
from groundwire.engine.sentence import ClaimPart, parts_of
from groundwire.engine.tokenizer import WordPieces
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.model import Group
from groundwire_training.sets import LabelledContext

#: Labels that cause no loss: of pieces outside of sentences, and of pieces whose label is unknown.
IGNORED, UNKNOWN = -100, -1


@dataclass(frozen=True, slots=True)
class Sentence:
    """Input and labels of the reader for one sentence.

    Attributes:
        ids: Word pieces, shape ``(n,)``.
        features: Match features, shape ``(n, F)``.
        labels: Label of each word piece.
        label: Label of the sentence: the highest label of its word pieces, if these are known.
        reads: Indices of the passages that the sentence attends to.
        answer: Index of the sentence's answer in its record.
        offsets: Character ranges of the pieces in the answer, shape ``(n, 2)``.
    """

    ids: NDArray[np.int32]
    features: NDArray[np.int64]
    labels: list[int]
    label: int
    reads: tuple[int, ...]
    answer: int
    offsets: NDArray[np.int32] = field(repr=False)


def labels_of(offsets: NDArray[np.int32], spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """Label word pieces: each gets the label of a span that it overlaps, or 0.

    Args:
        offsets: Character ranges in the answer, shape ``(n, 2)``.
        spans: ``(start, end, label)`` in the answer. If a piece overlaps several, the highest label
            counts.
    """
    return [
        max((label for s, e, label in spans if a < e and b > s), default=0)
        for a, b in offsets.tolist()
    ]


def sentence_labels(part: ClaimPart, answer: MarkedAnswer) -> tuple[list[int], int]:
    """Return the labels of a sentence's word pieces, and the label of the whole sentence."""
    labels = labels_of(part.ranges, answer.spans)
    label = max(labels, default=0)
    offsets = part.ranges
    for start, end, doubt in answer.doubts:
        shared = (offsets[:, 0] < end) & (offsets[:, 1] > start)
        if not shared.any():
            continue
        labels = [
            UNKNOWN if is_shared and not known else known
            for known, is_shared in zip(labels, shared.tolist(), strict=True)
        ]
        is_here = doubt > 0 and part.places[0] <= start and end <= part.places[-1] + 1
        label = label or (doubt if is_here else IGNORED)
    return labels, label


def sentences_of(
    record: LabelledContext, evidence: Evidence, pieces: WordPieces, *, question: bool = True
) -> list[Sentence]:
    """Cut a record's answers into sentences, and select passages for each, as the detector does."""
    asked = pieces.encode(record.question or "").ids if question else np.empty(0, np.int32)
    sentences = []
    for index, answer in enumerate(record.answers):
        before = np.empty(0, np.int32)
        parts = [part for s in segment(answer.text) for part in parts_of(answer.text, s, pieces)]
        for part in parts:
            query = Query.of(part.ids, question=asked, before=before)
            chosen = evidence.select(query).first
            features = match_features(
                part.ids,
                part.offsets,
                part.text,
                passages=[evidence.passages[i] for i in chosen],
                question_ids=asked,
                idf=evidence.words.idf,
                unknown_id=pieces.unknown_id,
            )
            labels, label = sentence_labels(part, answer)
            sentences.append(
                Sentence(part.ids, features, labels, label, chosen, index, part.ranges)
            )
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
    """Put sentences, their passages and the question into tensors of few distinct lengths.

    Args:
        sentences: Sentences in order, answer by answer; ``reads`` has indices of ``passages``.
        passages: Passages that the sentences attend to.
        question: Word pieces of the question; may be empty.
        pieces: The tokenizer, for its special tokens.
        device: Device of the tensors.
    """
    table = np.zeros((len(passages), _up(max(p.n_read for p in passages))), np.int64)
    mask = np.zeros(table.shape, bool)
    for row, passage in enumerate(passages):
        table[row, : passage.n_read] = [pieces.cls_id, *passage.ids, pieces.sep_id]
        mask[row, : passage.n_read] = True
    lengths = np.bincount([s.answer for s in sentences], [len(s.ids) + 2 for s in sentences])
    ends = np.cumsum([_up(int(n)) for n in lengths if n])
    total = int(ends[-1])
    ids, places = np.zeros(total, np.int64), np.zeros(total, np.int64)
    of, labels = np.full(total, -1, np.int64), np.full(total, IGNORED, np.int64)
    features = np.full((total, N_FEATURES), TABLE_ROWS - 1, np.int64)
    reads = np.zeros((len(sentences), len(passages)), bool)
    recalls = np.zeros((len(sentences), len(sentences)), bool)
    at = 0
    for i, sentence in enumerate(sentences):
        if i and sentence.answer != sentences[i - 1].answer:
            at = int(ends[np.searchsorted(ends, at)])
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
    asked = [pieces.cls_id, *question[:PASSAGE_PIECES], pieces.sep_id] if len(question) else []
    padded = np.zeros((1, _up(len(asked))), np.int64)
    padded[0, : len(asked)] = asked
    wanted = [sentence.label for sentence in sentences]
    tensors = (table, mask, padded, np.array(len(asked)), ids, places, of, features, reads, recalls)
    extents = np.stack([np.r_[0, ends[:-1]], ends], 1)
    targets = (labels, np.array(wanted), np.array([s.answer for s in sentences]), extents)
    return Group(*(torch.from_numpy(a).to(device) for a in (*tensors, *targets)))


def _up(n: int) -> int:
    # Lengths are rounded up to a multiple of 32, since kernels are compiled for each shape and are
    # slow for odd lengths.
    return -(-n // 32) * 32


def evidence_of(record: LabelledContext, pieces: WordPieces, words: WordWeights) -> Evidence:
    """Return the evidence of a record, cut into passages and indexed as in deployment."""
    return Evidence.of(record.sources, partial(cut_source, pieces=pieces), words)
