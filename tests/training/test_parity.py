"""The deployed reader computes what was trained: in PyTorch with masks, in ONNX piece by piece."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")

import torch

from groundwire.detection.evidence import WordWeights
from groundwire.engine.architecture import Architecture
from groundwire.engine.cache import ByteCache
from groundwire.engine.part_scores import Calibration
from groundwire.engine.reader import Reader
from groundwire.engine.runtime import ReaderGraph
from groundwire.engine.shared import SharedResources
from groundwire.engine.tokenizer import WordPieces
from groundwire.text.segment import segment
from groundwire_training import data
from groundwire_training.sets import LabelledContext
from tests.training.conftest import BOTH_KINDS, Exported

pytestmark = [pytest.mark.torch, BOTH_KINDS]

Labels = NDArray[np.float32]


def trained(
    exported: Exported, record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> list[Labels]:
    """Probabilities of the three labels by sentence, as training computes them."""
    evidence = data.evidence_of(record, pieces, words)
    sentences = data.sentences_of(record, evidence, pieces)
    question = pieces.encode(record.question or "").ids
    group = data.group_of(sentences, evidence.passages, question, pieces)
    with torch.inference_mode():
        logits, _ = exported.model(group)
    found: list[Labels] = []
    at = 0
    for sentence in sentences:
        own = logits[at + 1 : at + 1 + len(sentence.ids)]
        found.append(own.softmax(-1).numpy())
        at += len(sentence.ids) + 2
    return found


def deployed(
    graph: Path, sizes: Architecture, record: LabelledContext, reader: Reader
) -> list[Labels]:
    """The same by the deployed reader, sentence by sentence with past keys and values."""
    cache = ByteCache[Any](100_000_000)
    with closing(SharedResources(1, cache=cache, sources=ByteCache(1_000_000))) as shared:
        judge = replace(
            reader,
            graph=ReaderGraph(graph, sizes, threads=1),
            calibration=Calibration(),
            shared=shared,
        )
        reading = judge.open(record.sources, record.question, threshold=1.0, tenant="parity")
        answer = record.answers[0].text
        return [scores.labels for scores in reading.read(answer, segment(answer))]


@pytest.mark.parametrize("question", [None, "How tall is the tower?"])
def test_fp32_gives_the_probabilities_of_training(
    exported: Exported,
    record: LabelledContext,
    reader: Reader,
    words: WordWeights,
    question: str | None,
) -> None:
    record = replace(record, question=question)
    expected = trained(exported, record, reader.pieces, words)
    found = deployed(exported.fp32, exported.model.sizes, record, reader)
    assert len(found) == len(expected) == 5
    for mine, theirs in zip(found, expected, strict=True):
        # Keys and values of the past are kept in half precision.
        np.testing.assert_allclose(mine, theirs, atol=1e-4)
        assert theirs.std() > 0.05  # there is something to tell apart


def test_int8_stays_within_four_hundredths(
    exported: Exported, record: LabelledContext, reader: Reader, words: WordWeights
) -> None:
    expected = np.concatenate(trained(exported, record, reader.pieces, words))
    found = np.concatenate(deployed(exported.int8, exported.model.sizes, record, reader))
    # A processor without instructions for dot products of int8 adds up in 16 bits, and is a little
    # less exact: it needs 0.034.
    np.testing.assert_allclose(found, expected, atol=0.04)
    clear = np.sort(expected)[:, -1] - np.sort(expected)[:, -2] > 0.08
    assert clear.sum() > 20
    assert (found.argmax(1) == expected.argmax(1))[clear].all()


def test_without_past_the_graph_is_the_plain_encoder(
    exported: Exported, record: LabelledContext, pieces: WordPieces, words: WordWeights
) -> None:
    evidence = data.evidence_of(record, pieces, words)
    (sentence, *_) = data.sentences_of(record, evidence, pieces)
    alone = replace(sentence, reads=())
    group = data.group_of([alone], evidence.passages, np.empty(0, np.int32), pieces)
    with torch.inference_mode():
        logits, overall = exported.model(group)
    n = len(sentence.ids)
    graph = ReaderGraph(exported.fp32, exported.model.sizes, threads=1)
    verdict = graph.read_sentence(
        group.ids[: n + 2].numpy(), group.features[: n + 2].numpy(), graph.nothing
    )
    np.testing.assert_allclose(verdict.pieces, logits[1 : n + 1].numpy(), atol=1e-4)
    np.testing.assert_allclose(verdict.sentence, overall[0].numpy(), atol=1e-4)
