"""What the reader reads for a claim, how often, and what becomes of failures.

The graph looks word pieces up: a piece is supported if a passage that the claim attends to has it.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import NoReturn, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire import Detection, Detector
from groundwire.detection import evidence
from groundwire.detection.evidence import SELECTED_PIECES
from groundwire.detection.passages import PASSAGE_PIECES
from groundwire.detection.values import EvidenceRef, Label, Outcome, Reason
from groundwire.engine.cross_encoder import CrossEncoder
from groundwire.engine.features import FEATURE_RULES
from groundwire.engine.models import Manifest
from groundwire.engine.reader import PREFETCHED_PASSAGES, Reader
from groundwire.engine.roles import RECALLED_SENTENCES, TextRole
from groundwire.engine.runtime import KeysValues
from groundwire.engine.scores import AnswerCalibration, SentenceCalibration
from groundwire.engine.settings import n_threads
from groundwire.engine.shared import SharedResources
from groundwire.errors import ModelError, SettingError, UnreadableError
from tests.engine.lookup import LookupGraph, looking_up

Logits = NDArray[np.float32]
FACTS = ["The tower is tall.", "The bridge is long."]


def padding(seed: int, n_sentences: int) -> str:
    """Text that shares few words with the facts."""
    rng = random.Random(seed)
    words = ["copper", "harvest", "violin", "glacier", "pepper", "orbit", "canvas", "lantern"]
    return " ".join(
        f"Some {' '.join(rng.choices(words, k=9))} {rng.randrange(100, 999)}."
        for _ in range(n_sentences)
    )


def words(detection: Detection) -> list[str]:
    return [span.text for span in detection.spans]


def id_of(reader: Reader, word: str) -> int:
    (id_,) = reader.pieces.encode(word).ids.tolist()
    return int(id_)


@pytest.fixture
def graph() -> LookupGraph:
    return LookupGraph()


@pytest.fixture
def lookup(reader: Reader, graph: LookupGraph) -> Detector:
    return looking_up(reader, graph)


def test_words_that_no_source_has_are_marked(lookup: Detector) -> None:
    found = lookup.detect(sources=FACTS, answer="The tower is red. The bridge is long.")
    assert words(found) == ["red"]
    assert [claim.label for claim in found.claims] == [Label.UNSUPPORTED, Label.SUPPORTED]
    assert found.outcome is Outcome.HALLUCINATED


def test_the_label_of_a_span_is_the_likelier_of_the_two(reader: Reader) -> None:
    detector = looking_up(reader, LookupGraph(logits=lambda found: found[:, [0, 2, 1]]))
    found = detector.detect(sources=FACTS, answer="The tower is red.")
    assert [(span.text, span.label, span.severity) for span in found.spans] == [
        ("red", Label.CONTRADICTED, 4)
    ]
    assert found.claims[0].label is Label.CONTRADICTED


# What a claim is read with.


@pytest.fixture
def everything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short facts say next to nothing about each other, and are to be read all the same."""
    for floor in ("FIRST_FLOOR", "SECOND_FLOOR", "SOURCE_FLOOR"):
        monkeypatch.setattr(evidence, floor, -1e9)


@pytest.mark.usefixtures("everything_is_read")
def test_a_claim_attends_to_passages_the_question_and_three_claims_before(
    lookup: Detector, graph: LookupGraph
) -> None:
    answer = "The tower is tall. The bridge is long. The tower is long. It is. The bridge is tall."
    lookup.detect(sources=FACTS, answer=answer, question="What is tall?")
    by_ids = {sentence.ids: sentence for sentence in graph.sentences}
    encode = reader_ids(lookup)
    last = by_ids[encode("The bridge is tall.")]
    assert RECALLED_SENTENCES == 3
    assert last.roles() == [TextRole.SOURCE] * 2 + [TextRole.QUESTION] + [TextRole.HISTORY] * 3
    assert [text.ids for text in last.past[2:]] == [
        encode("What is tall?"),
        encode("The bridge is long."),
        encode("The tower is long."),
        encode("It is."),
    ]
    first = by_ids[encode("The tower is tall.")]
    assert first.roles() == [TextRole.SOURCE] * 2 + [TextRole.QUESTION]


def reader_ids(detector: Detector) -> Callable[[str], tuple[int, ...]]:
    """What cuts a text into word pieces."""
    judge = detector.backend
    assert isinstance(judge, Reader)
    return lambda text: tuple(judge.pieces.encode(text).ids.tolist())


def test_the_question_is_no_evidence(lookup: Detector) -> None:
    found = lookup.detect(
        sources=FACTS, answer="The tower is red.", question="Is it true that the tower is red?"
    )
    assert words(found) == ["red"]


def test_earlier_claims_are_no_evidence(lookup: Detector) -> None:
    found = lookup.detect(sources=FACTS, answer="The tower is red. Yes, the tower is red.")
    assert words(found)[0] == "red"
    assert "red" in words(found)[-1]


def test_citations_are_not_read(lookup: Detector, graph: LookupGraph) -> None:
    found = lookup.detect(sources=FACTS, answer="The tower is tall [S0, S1].")
    assert found.outcome is Outcome.GROUNDED
    assert found.claims[0].citations == ("S0", "S1")
    encode = reader_ids(lookup)
    assert graph.sentences[0].ids == encode("The tower is tall .")


def test_a_claim_longer_than_the_model_reads_at_a_time_is_read_in_parts(
    lookup: Detector, graph: LookupGraph
) -> None:
    answer = "Numbers " + " ".join("1a2" for _ in range(140)) + " violin."
    assert len(answer) <= 600
    found = lookup.detect(sources=["Numbers 1a2."], answer=answer)
    (claim,) = found.claims
    encode = reader_ids(lookup)
    assert [len(s.ids) for s in sorted(graph.sentences, key=lambda s: -len(s.ids))] == [
        PASSAGE_PIECES,
        len(encode(answer)) - PASSAGE_PIECES,
    ]
    assert words(found) == ["violin"]
    assert (claim.text, claim.reason) == (answer, None)
    assert found.coverage.answer == 1.0


def test_a_long_question_is_read_at_both_ends_and_said_to_be_shortened(
    lookup: Detector, graph: LookupGraph
) -> None:
    question = "first " + "many words here " * 300 + "last"
    found = lookup.detect(sources=FACTS, answer="The tower is tall.", question=question)
    asked = [text.ids for text in graph.sentences[0].past if text.role is TextRole.QUESTION]
    encode = reader_ids(lookup)
    assert [len(ids) for ids in asked] == [PASSAGE_PIECES, PASSAGE_PIECES]
    assert asked[0][:1] + asked[1][-1:] == encode("first last")
    assert found.coverage.reasons == {Reason.QUESTION_SHORTENED: 1}


@pytest.mark.parametrize("n_words", [PASSAGE_PIECES, PASSAGE_PIECES + 1, 2 * PASSAGE_PIECES])
def test_a_question_that_fits_is_read_in_full(
    lookup: Detector, graph: LookupGraph, n_words: int
) -> None:
    found = lookup.detect(
        sources=FACTS, answer="The tower is tall.", question=" ".join(["why"] * n_words)
    )
    asked = [text.ids for text in graph.sentences[0].past if text.role is TextRole.QUESTION]
    assert sum(map(len, asked)) == n_words
    assert found.coverage.reasons == {}


def test_claims_in_another_script_are_not_read_and_lower_the_coverage(
    lookup: Detector, graph: LookupGraph
) -> None:
    found = lookup.detect(
        sources=FACTS, answer="The tower is tall.\n北京是中国的首都。\nThe bridge is long."
    )
    assert [claim.label for claim in found.claims] == [
        Label.SUPPORTED,
        Label.UNCHECKED,
        Label.SUPPORTED,
    ]
    assert found.claims[1].reason is Reason.LANGUAGE
    assert found.claims[1].probability is None
    assert found.outcome is Outcome.PARTIAL
    assert found.coverage.answer == pytest.approx(31 / 40)
    assert len(graph.sentences) == 2


# How much is read.


@pytest.mark.usefixtures("everything_is_read")
def test_sources_that_come_again_are_not_read_again(lookup: Detector, graph: LookupGraph) -> None:
    lookup.detect(sources=FACTS, answer="The tower is tall.")
    n_texts = len(graph.texts)
    assert n_texts == 2
    lookup.detect(sources=[*reversed(FACTS), FACTS[0]], answer="The bridge is tall.")
    assert len(graph.texts) == n_texts
    assert lookup.work["texts_read"] == n_texts
    assert lookup.cache is not None
    assert lookup.cache.misses == n_texts


@pytest.mark.usefixtures("everything_is_read")
def test_what_was_read_for_a_tenant_is_read_anew_for_another(
    lookup: Detector, graph: LookupGraph
) -> None:
    for tenant in ("a", "b", "a"):
        lookup.detect(sources=FACTS, answer="The tower is tall.", tenant=tenant)
    assert len(graph.texts) == 4
    judge = lookup.backend
    assert isinstance(judge, Reader)
    assert (judge.shared.sources.stats.misses, judge.shared.sources.stats.hits) == (4, 2)


def test_the_same_text_as_source_and_as_question_is_read_as_each(
    lookup: Detector, graph: LookupGraph
) -> None:
    text = "The tower is tall."
    lookup.detect(sources=[text], question=text, answer="So it is. Very.")
    ids = reader_ids(lookup)(text)
    assert {text.role for text in graph.texts if text.ids == ids} == {
        TextRole.SOURCE,
        TextRole.QUESTION,
    }


def test_only_passages_that_are_selected_are_read(lookup: Detector, graph: LookupGraph) -> None:
    lookup.detect(sources=[*FACTS, padding(1, 600)], answer="The tower is tall.")
    assert len(graph.texts) < 12
    assert sum(len(text.ids) for text in graph.texts) <= SELECTED_PIECES


def test_a_claim_costs_the_same_among_4_thousand_and_100_thousand_word_pieces(
    reader: Reader,
) -> None:
    costs = []
    for n_sentences in (260, 6500):
        graph = LookupGraph()
        found = looking_up(reader, graph).detect(
            sources=[padding(2, n_sentences)], answer="Some copper horse violin."
        )
        assert found.coverage.indexed == 1.0
        costs.append([sentence.n_past for sentence in graph.sentences])
    small, large = costs
    assert len(small) == len(large) == 2  # it is marked, so it is read twice
    for few, many in zip(small, large, strict=True):
        assert SELECTED_PIECES - 2 * PASSAGE_PIECES < few <= SELECTED_PIECES
        assert SELECTED_PIECES - 2 * PASSAGE_PIECES < many <= SELECTED_PIECES


def test_a_supported_claim_is_read_once(lookup: Detector, graph: LookupGraph) -> None:
    lookup.detect(sources=[*FACTS, padding(3, 200)], answer="The tower is tall.")
    assert len(graph.sentences) == 1
    assert "second_looks" not in lookup.work


@pytest.mark.usefixtures("everything_is_read")
def test_a_claim_that_would_be_marked_is_read_again_with_other_evidence(
    lookup: Detector, graph: LookupGraph
) -> None:
    found = lookup.detect(sources=[*FACTS, padding(3, 200)], answer="The tower is red.")
    assert len(graph.sentences) == 2
    assert lookup.work["second_looks"] == 1
    assert words(found) == ["red"]
    first, second = (set(sentence.past) for sentence in graph.sentences)
    assert len(first & second) == 1  # the best passage


def test_a_claim_that_has_seen_everything_is_not_read_again(
    lookup: Detector, graph: LookupGraph
) -> None:
    lookup.detect(sources=FACTS, answer="The tower is red.")
    assert len(graph.sentences) == 1


@pytest.mark.usefixtures("everything_is_read")
def test_evidence_found_at_the_second_look_supports(reader: Reader) -> None:
    class Forgetful(LookupGraph):
        """Does not recognise anything at the first look, and everything at the second."""

        def __init__(self) -> None:
            super().__init__(logits=self.change)

        def change(self, found: Logits) -> Logits:
            sure = np.array([1, -1, -1], np.float32)
            return np.full_like(found, 1) * sure * (1 if len(self.sentences) > 1 else -1)

    graph = Forgetful()
    found = looking_up(reader, graph).detect(
        sources=[*FACTS, padding(3, 200)], answer="The tower is tall."
    )
    assert len(graph.sentences) == 2
    assert found.outcome is Outcome.GROUNDED


def test_the_question_chooses_the_evidence_of_an_answer_that_says_only_yes(
    lookup: Detector,
) -> None:
    found = lookup.detect(
        sources=["HR-12 Equipment. Laptops are provided. Monitors are not provided."],
        question="Are monitors provided?",
        answer="Yes.",
    )
    assert found.claims[0].evidence[0].text == "Monitors are not provided."


def test_the_evidence_of_a_claim_is_among_what_it_was_read_with(lookup: Detector) -> None:
    found = lookup.detect(sources=[padding(4, 100), *FACTS], answer="The bridge is long.")
    (claim,) = found.claims
    assert claim.evidence[0].text == "The bridge is long."
    assert claim.evidence[0].source_id == "S2"
    coverage = found.coverage
    assert 0 < coverage.attended_chars < coverage.indexed_chars == coverage.offered_chars


# Reading ahead.


def drain(detector: Detector) -> None:
    """Wait until nothing is being read in the background."""
    assert isinstance(detector.backend, Reader)
    detector.backend.shared.turns._background.shutdown()


def test_a_stream_reads_the_likeliest_passages_ahead(lookup: Detector, graph: LookupGraph) -> None:
    with lookup.stream(sources=FACTS, question="How tall is the tower?"):
        drain(lookup)
    assert {text.role for text in graph.texts} <= {TextRole.SOURCE}


def test_reading_ahead_is_bounded(reader: Reader, graph: LookupGraph) -> None:
    detector = looking_up(reader, graph, cache_bytes=100_000_000_000)
    stream = detector.stream(sources=[padding(5, 1500)], question="Which violin?")
    drain(detector)
    stream.close()
    assert len(graph.texts) == PREFETCHED_PASSAGES


def test_reading_ahead_never_throws_out_what_it_has_read(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph, cache_bytes=20_000_000)  # of four passages
    detector.stream(sources=[padding(5, 1500)], question="Which violin?")
    drain(detector)
    assert 0 < len(graph.texts) <= 4
    assert detector.cache is not None
    assert detector.cache.evictions == 0


def test_a_closed_stream_reads_no_further(reader: Reader) -> None:
    begun = Event()

    class Slow(LookupGraph):
        def read_source(self, ids: Sequence[int] | NDArray[np.int32], role: TextRole) -> KeysValues:
            begun.set()
            return super().read_source(ids, role)

    graph = Slow()
    graph.go_on.clear()
    detector = looking_up(reader, graph, threads=1)
    stream = detector.stream(sources=[padding(5, 1500)], question="Which violin?")
    assert begun.wait(10)
    stream.close()
    graph.go_on.set()
    drain(detector)
    assert len(graph.texts) == 1


def test_reading_ahead_saves_the_claim_from_reading(lookup: Detector, graph: LookupGraph) -> None:
    stream = lookup.stream(sources=FACTS, question="How tall is the tower?")
    drain(lookup)
    assert len(graph.texts) == 2
    stream.feed("The tower is tall.")
    assert stream.finish().outcome is Outcome.GROUNDED
    assert [text.role for text in graph.texts] == [
        TextRole.SOURCE,
        TextRole.SOURCE,
        TextRole.QUESTION,
    ]


# Failures.

FOUR = "The tower is tall. The violin is tall. The bridge is long. The tower is long."


def test_a_claim_that_fails_is_unchecked_and_the_answer_unavailable(reader: Reader) -> None:
    graph = LookupGraph(fails_on=id_of(reader, "violin"))
    found = looking_up(reader, graph).detect(sources=FACTS, answer=FOUR)
    labels = [claim.label for claim in found.claims]
    # The two claims after it recall it, and what it says cannot be read either.
    assert labels == [Label.SUPPORTED, Label.UNCHECKED, Label.UNCHECKED, Label.UNCHECKED]
    assert {claim.reason for claim in found.claims[1:]} == {Reason.DETECTOR_FAILED}
    assert found.outcome is Outcome.UNAVAILABLE
    assert found.coverage.reasons == {Reason.DETECTOR_FAILED: 3}
    assert found.coverage.answer < 1


def test_what_was_found_beside_a_failure_still_counts(reader: Reader) -> None:
    graph = LookupGraph(fails_on=id_of(reader, "violin"))
    found = looking_up(reader, graph).detect(
        sources=FACTS, answer="The tower is red. The violin is tall."
    )
    assert found.outcome is Outcome.HALLUCINATED
    assert words(found) == ["red"]
    assert found.claims[1].reason is Reason.DETECTOR_FAILED


@pytest.mark.usefixtures("everything_is_read")
def test_a_source_that_cannot_be_read_fails_the_claims_that_need_it(reader: Reader) -> None:
    graph = LookupGraph(fails_on=id_of(reader, "bridge"))
    detector = looking_up(reader, graph)
    found = detector.detect(sources=FACTS, answer="The tower is tall.")
    assert found.outcome is Outcome.UNAVAILABLE
    graph.fails_on = -1  # a failure is not remembered
    assert detector.detect(sources=FACTS, answer="The tower is tall.").outcome is Outcome.GROUNDED


def test_a_stream_fails_as_the_text_at_rest_does(reader: Reader) -> None:
    graph = LookupGraph(fails_on=id_of(reader, "violin"))
    detector = looking_up(reader, graph)
    stream = detector.stream(sources=FACTS)
    for letter in FOUR:
        stream.feed(letter)
    assert stream.finish() == detector.detect(sources=FACTS, answer=FOUR)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_output_that_is_no_number_supports_nothing(
    reader: Reader, value: float, column: int
) -> None:
    def spoil(found: Logits) -> Logits:
        found = found.copy()
        found[-1, column] = value
        return found

    detector = looking_up(reader, LookupGraph(logits=spoil))
    found = detector.detect(sources=FACTS, answer="The tower is tall.")
    assert found.outcome is Outcome.UNAVAILABLE
    assert found.claims[0].reason is Reason.DETECTOR_FAILED
    assert found.spans == ()


@pytest.mark.usefixtures("everything_is_read")
def test_a_second_look_that_fails_leaves_no_verdict(reader: Reader) -> None:
    graph = LookupGraph()
    graph.logits = lambda found: found if len(graph.sentences) == 1 else found * np.float32("nan")
    found = looking_up(reader, graph).detect(
        sources=[*FACTS, padding(3, 200)], answer="The tower is red."
    )
    assert len(graph.sentences) == 2
    assert found.outcome is Outcome.UNAVAILABLE


# What a folder was trained on.


@pytest.mark.parametrize("rules", [FEATURE_RULES + 1, FEATURE_RULES - 1, None])
def test_weights_trained_on_other_match_features_are_refused(
    reader: Reader, model_folder: Path, rules: int | None
) -> None:
    manifest = Manifest.read(model_folder)
    other = replace(manifest, raw={**manifest.raw, "feature_rules": rules})
    with pytest.raises(ModelError) as raised:
        load(other, reader)
    message = str(raised.value)
    assert (
        f"The reader in {model_folder} was trained on match features of rules {rules};" in message
    )
    assert f"this version computes those of rules {FEATURE_RULES}." in message
    assert "groundwire train reader" in message


def test_the_calibration_of_answers_is_that_of_the_manifest(
    reader: Reader, model_folder: Path
) -> None:
    manifest = Manifest.read(model_folder)
    for fitted, expected in (
        ({"scale": 1.5, "offset": -0.5}, AnswerCalibration(1.5, -0.5)),
        (None, None),
    ):
        raw = {**manifest.raw, "answer_calibration": fitted}
        assert load(replace(manifest, raw=raw), reader).answers == expected


@pytest.mark.parametrize(
    ("key", "attribute"), [("sentence_calibration", "sentences"), ("lines_calibration", "lines")]
)
def test_the_calibrations_of_claims_are_those_of_the_manifest(
    reader: Reader, model_folder: Path, key: str, attribute: str
) -> None:
    manifest = Manifest.read(model_folder)
    numbers = {"scale": 0.5, "unsupported": -1.0, "contradicted": 2.0}
    raw = {**manifest.raw, key: numbers}
    assert getattr(load(replace(manifest, raw=raw), reader), attribute) == SentenceCalibration(
        **numbers
    )
    missing = {name: value for name, value in manifest.raw.items() if name != key}
    found = getattr(load(replace(manifest, raw=missing), reader), attribute)
    assert found == SentenceCalibration()


# Claims as a whole.


def supports_less_the_more_is_unknown(n_doubtful: int) -> tuple[float, float, float]:
    return (2.0 - n_doubtful, 0.0, 0.0)


def test_a_claim_carries_what_the_reader_says_of_it_as_a_whole(reader: Reader) -> None:
    detector = looking_up(reader, LookupGraph(whole=supports_less_the_more_is_unknown))
    sources = ["The tower is tall."]
    right, wrong = detector.detect(
        sources=sources, answer="The tower is tall. The tower is red."
    ).claims
    assert right.entailment is not None
    assert wrong.entailment is not None
    assert right.entailment.entailment > wrong.entailment.entailment
    unread = detector.detect(sources=sources, answer="Башня высокая.").claims[0]
    assert unread.entailment is None


def test_a_stream_says_the_same_of_whole_claims(detector: Detector) -> None:
    given = {"sources": ["The tower is 330 m tall. It opened in 1889."], "question": "How tall?"}
    answer = "The tower is 330 m tall. It opened in 1950."
    stream = detector.stream(**given)  # type: ignore[arg-type]
    for character in answer:
        stream.feed(character)
    whole = detector.detect(answer=answer, **given)  # type: ignore[arg-type]
    assert stream.finish() == whole
    assert all(claim.entailment is not None for claim in whole.claims)


def test_a_whole_that_is_no_number_is_a_failure(reader: Reader) -> None:
    detector = looking_up(reader, LookupGraph(whole=lambda _: (float("nan"), 0.0, 0.0)))
    found = detector.detect(sources=["The tower is tall."], answer="The tower is tall.")
    assert found.outcome is Outcome.UNAVAILABLE


def test_a_claim_and_some_lines_are_read_alone(reader: Reader) -> None:
    graph = LookupGraph(whole=supports_less_the_more_is_unknown)
    judge = looking_up(reader, graph).backend
    assert isinstance(judge, Reader)
    lines = [
        EvidenceRef(source_id="S0", start=0, end=len(text), text=text)
        for text in ("The tower is tall.", "The bridge is long.")
    ]
    both = judge.entailment("The tower is tall. The bridge is long. [1]", lines)
    one = judge.entailment("The tower is tall. The bridge is long. [1]", lines[:1])
    assert both.entailment > one.entailment
    assert [sentence.roles() for sentence in graph.sentences] == [
        [TextRole.SOURCE] * 2,
        [TextRole.SOURCE],
    ]
    for claim, given in (
        ("The tower is tall.", []),
        ("Башня высокая.", lines),
        (" ", lines),
        ("", lines),
    ):
        with pytest.raises(UnreadableError, match="that the model can read"):
            judge.entailment(claim, given)


def load(manifest: Manifest, like: Reader) -> Reader:
    shared = SharedResources(1, cache=like.shared.cache, sources=like.shared.sources)
    return Reader.load(manifest, shared)


# Numbers.


def test_threads_are_as_asked_or_one_for_each_processor() -> None:
    assert n_threads(3) == 3
    with pytest.raises(SettingError, match="threads"):
        n_threads(0)
    assert n_threads(None) >= 1


class BrokenCross:
    """A cross-encoder that fails."""

    def read(self, *_: object) -> NoReturn:
        raise RuntimeError("secret text")


def test_a_text_that_cannot_be_read_without_evidence_stays_a_claim(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(reader, cross=cast("CrossEncoder", BrokenCross()), knows_remarks=True)
    assert broken.claims_nothing("Good luck with your project!") is False
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text
