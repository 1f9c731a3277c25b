"""The model in PyTorch: what each sentence can see."""

from dataclasses import replace

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from groundwire.detection.evidence import WordWeights
from groundwire.engine.tokenizer import WordPieces
from groundwire_training import data
from groundwire_training.model import Group
from groundwire_training.sets import LabelledContext
from tests.training.conftest import BOTH_KINDS, Exported

pytestmark = [pytest.mark.torch, BOTH_KINDS]


@pytest.fixture
def group(record: LabelledContext, pieces: WordPieces, words: WordWeights) -> Group:
    evidence = data.evidence_of(record, pieces, words)
    sentences = data.sentences_of(record, evidence, pieces)
    question = pieces.encode(record.question or "").ids
    return data.group_of(sentences, evidence.passages, question, pieces)


def logits(exported: Exported, group: Group) -> list[Tensor]:
    """Of the word pieces, sentence by sentence."""
    with torch.inference_mode():
        pieces, overall = exported.model(group)
    assert overall.shape == (len(group.reads), 3)
    return [pieces[group.sentence == i] for i in range(len(group.reads))]


def changed(exported: Exported, group: Group, other: Group) -> list[bool]:
    """Which sentences come out differently."""
    before, after = logits(exported, group), logits(exported, other)
    return [not torch.allclose(a, b, atol=1e-5) for a, b in zip(before, after, strict=True)]


def swapped(ids: Tensor, place: tuple[int, ...]) -> Tensor:
    ids = ids.clone()
    ids[place] = 2000
    return ids


def test_a_sentence_sees_its_passages_and_no_other(exported: Exported, group: Group) -> None:
    reads = group.reads.new_ones(group.reads.shape)
    reads[1, 0] = False
    group = replace(group, reads=reads)
    other = replace(group, passages=swapped(group.passages, (0, 3)))
    # The third to fifth recall the second as it reads alone.
    assert changed(exported, group, other) == [True, False, True, True, True]


def test_a_sentence_sees_the_three_before_it_if_the_reader_recalls_any(
    exported: Exported, group: Group
) -> None:
    other = replace(group, ids=swapped(group.ids, (2,)))  # in the first sentence
    recalled = exported.model.sizes.recalls
    assert changed(exported, group, other) == [True, recalled, recalled, recalled, False]


def test_no_sentence_sees_one_after_it(exported: Exported, group: Group) -> None:
    last = int((group.sentence == 4).nonzero()[2])
    other = replace(group, ids=swapped(group.ids, (last,)))
    assert changed(exported, group, other) == [False, False, False, False, True]


def test_every_sentence_sees_the_question(exported: Exported, group: Group) -> None:
    other = replace(group, question=swapped(group.question, (0, 2)))
    assert changed(exported, group, other) == [True] * 5


def test_padding_is_seen_by_nobody(exported: Exported, group: Group) -> None:
    passage = int((~group.passage_mask).any(1).nonzero()[0])
    other = replace(
        group,
        passages=swapped(group.passages, (passage, group.passages.shape[1] - 1)),
        ids=swapped(group.ids, (len(group.ids) - 1,)),
    )
    assert not group.passage_mask[passage, -1]
    assert group.sentence[-1] == -1
    assert changed(exported, group, other) == [False] * 5


def test_a_match_feature_changes_its_sentence_only(exported: Exported, group: Group) -> None:
    features = group.features.clone()
    features[2, 0] += 1
    # History is read without features.
    assert changed(exported, group, replace(group, features=features)) == [True] + [False] * 4
