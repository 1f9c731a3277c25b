"""A reader that a cross-encoder joins; the cross-encoder's verdicts can be worked out by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire import Detector
from groundwire.detection.closest_lines import Excerpt
from groundwire.detection.values import EvidenceRef
from groundwire.engine.cross_encoder import CrossEncoder
from groundwire.engine.layout import QUESTION_PIECES, row_of
from groundwire.engine.part_scores import CrossWeights
from groundwire.engine.reader import Reader
from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import RawScores
from groundwire.engine.tokenizer import WordPieces
from tests.engine.lookup import SURE, LookupGraph, looking_up

TOWER = "The tower stands in Paris. It is 330 metres tall. It was built by Eiffel."


@dataclass
class LookupCross(CrossEncoder):
    """Doubts a word piece that none of the lines has, and tells what it was asked to read."""

    rows: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    broken: bool = False

    def read(
        self,
        claim: NDArray[np.int32],
        features: NDArray[np.int64],
        question: NDArray[np.int32],
        excerpts: Sequence[Excerpt],
        pieces: WordPieces,
    ) -> RawScores:
        lines = np.concatenate([excerpt.ids for excerpt in excerpts])
        self.rows.append((len(claim), len(question), tuple(lines.tolist())))
        assert features.shape == (len(claim), 6)
        doubt = (~np.isin(claim, lines)).astype(np.float32)
        sure = np.nan if self.broken else SURE
        logits = np.column_stack([-2 * sure * doubt, 0 * doubt, 2 * sure * doubt])
        whole = np.array([1.0, 0.0, 3.0 * doubt.max()], np.float32)
        return RawScores(logits.astype(np.float32), whole)


@pytest.fixture
def cross() -> LookupCross:
    return LookupCross()


@pytest.fixture
def judge(reader: Reader, cross: LookupCross) -> Iterator[Reader]:
    with looking_up(reader, LookupGraph()) as detector:
        assert isinstance(detector.backend, Reader)
        yield replace(detector.backend, cross=cross, finds_conflicts=False)


def detector_of(judge: Reader) -> Detector:
    return Detector(judge, operating_point=0.5, threads=1)


def test_what_the_cross_encoder_doubts_is_marked(judge: Reader) -> None:
    answer = "It is 330 miles tall."
    found = detector_of(judge).detect(sources=[TOWER], answer=answer)
    assert [span.text for span in found.spans] == ["miles"]
    assert found.spans[0].label == "contradicted"
    assert found.claims[0].entailment is not None
    assert found.claims[0].entailment.contradiction > 0.5


def test_without_weight_the_reader_alone_decides(judge: Reader) -> None:
    muted = replace(judge, cross_weights=CrossWeights(pieces=0.0))
    found = detector_of(muted).detect(sources=[TOWER], answer="It is 330 miles tall.")
    assert [span.text for span in found.spans] == ["miles"]
    assert found.spans[0].label == "unsupported"


def test_each_claim_is_read_once_with_the_question_and_its_lines(
    judge: Reader, cross: LookupCross
) -> None:
    detector_of(judge).detect(
        sources=[TOWER], question="How tall is it?", answer="It is 330 metres tall."
    )
    ((n_claim, n_question, lines),) = cross.rows
    assert n_claim == 6
    assert n_question == 5
    assert set(judge.pieces.encode("330 metres").ids.tolist()) <= set(lines)
    assert judge.work["claims_crossed"] == 1


def test_a_stream_is_read_as_the_whole(judge: Reader) -> None:
    answer = "It is 330 miles tall. It stands in Rome. It was built by Eiffel."
    whole = detector_of(judge).detect(sources=[TOWER], answer=answer)
    stream = detector_of(judge).stream(sources=[TOWER])
    for letter in answer:
        stream.feed(letter)
    assert stream.finish().claims == whole.claims


def test_a_cross_encoder_that_breaks_leaves_its_claims_unchecked(
    judge: Reader, cross: LookupCross
) -> None:
    cross.broken = True
    found = detector_of(judge).detect(sources=[TOWER], answer="It is 330 metres tall.")
    assert found.outcome == "unavailable"
    assert found.claims[0].reason == "detector_failed"


def test_a_claim_with_lines_alone_is_judged_by_the_cross_encoder(
    judge: Reader, cross: LookupCross
) -> None:
    line = EvidenceRef(source_id="S0", start=0, end=len(TOWER), text=TOWER)
    assert judge.entailment("It is 330 metres tall.", [line]).entailment > 0.5
    assert judge.entailment("It is 330 miles tall.", [line]).contradiction > 0.5
    assert len(cross.rows) == 2


def test_a_row_has_the_claim_the_question_and_each_excerpt_with_an_end() -> None:
    excerpts = [
        Excerpt(np.array([7], np.int32), (np.array([8, 9], np.int32),)),
        Excerpt(np.array([], np.int32), (np.array([5], np.int32),)),
    ]
    ids, roles = row_of(
        np.array([3, 4], np.int32), np.array([6], np.int32), excerpts, cls_id=1, sep_id=2
    )
    assert ids.tolist() == [1, 3, 4, 2, 6, 2, 7, 8, 9, 2, 5, 2]
    own, asked, source = TextRole.ANSWER, TextRole.QUESTION, TextRole.SOURCE
    assert roles.tolist() == [own] * 4 + [asked] * 2 + [source] * 6


def test_of_a_long_question_the_middle_is_left_out() -> None:
    question = np.arange(100, 200, dtype=np.int32)
    ids, _ = row_of(np.array([3], np.int32), question, [], cls_id=1, sep_id=2)
    half = QUESTION_PIECES // 2
    assert ids.tolist() == [1, 3, 2, *question[:half], *question[-half:], 2]
