"""The similarity detector: what it compares, what it says, and what it does not depend on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire import Detection, Detector, Label, Outcome, Reason
from groundwire.detection.values import Score
from groundwire.engine.embedder import HashEmbedder
from groundwire.engine.similarity_detector import WHOLE_LINES, SimilarityBackend
from groundwire.errors import SettingError, UnknownModelError

TOWER = "The Eiffel Tower stands in Paris and is 330 metres tall."
BREAD = "Bread is made of flour, water and salt."
LONG = f"{BREAD} The harbour is quiet in winter. Ships come in May. {TOWER}"
INVENTED = "Nobody knows where the old captain lived."


@pytest.fixture(scope="module")
def hashed() -> Iterator[Detector]:
    with Detector.load("similarity:hash", threads=1) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def neural() -> Iterator[Detector]:
    with Detector.load("similarity", threads=1) as loaded:
        yield loaded


def similarities(detection: Detection) -> list[float | None]:
    return [claim.similarity for claim in detection.claims]


# What it is called.


def test_its_threshold_is_a_similarity_in_a_namespace_of_its_own(
    hashed: Detector, neural: Detector
) -> None:
    assert (hashed.info.name, hashed.info.threshold) == ("similarity:hash", 0.7)
    assert neural.info.name == "similarity"
    assert hashed.info.score is neural.info.score is Score.SIMILARITY
    assert set(neural.backend.operating_points) == {"balanced", "recall"}
    with pytest.raises(SettingError, match="one of balanced, or a threshold in"):
        hashed.detect(sources=[TOWER], answer=TOWER, operating_point="recall")


def test_evidence_may_come_from_a_source_whose_passages_are_those_of_another(
    neural: Detector,
) -> None:
    fact = "Tickets to the second floor cost 20 euros for every adult visitor."
    first = f"The tower in Paris is 330 metres tall and painted brown. {fact}"
    second = f"{first}\n\nЭта башня находится в городе Париже и очень высокая."
    found = neural.detect(sources=[first, second], answer=fact)
    assert [claim.similarity for claim in found.claims] == [pytest.approx(1, abs=1e-3)]


def test_similarity_is_the_neural_one() -> None:
    with Detector.load("similarity:neural", threads=1) as loaded:
        assert loaded.info.name == "similarity"


def test_there_is_no_other_embedder() -> None:
    with pytest.raises(UnknownModelError, match="reader-base, similarity, similarity:hash"):
        Detector.load("similarity:other")


def test_a_similarity_is_no_probability_to_filter_by() -> None:
    with pytest.raises(SettingError, match=r"min_probability = 0\.5 .* 0 with similarity:hash"):
        Detector.load("similarity:hash", min_probability=0.5)


@pytest.mark.parametrize("setting", [{"revision": "0" * 40}, {"max_length": 100}])
def test_settings_of_checkpoints_are_refused(setting: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        Detector.load("similarity", **setting)  # type: ignore[arg-type]


# What it says.


def test_a_claim_below_the_threshold_is_marked_as_a_whole(neural: Detector) -> None:
    detection = neural.detect(sources=[TOWER, BREAD], answer=f"{TOWER} {INVENTED}")
    first, second = detection.claims
    assert (first.label, first.similarity, first.spans) == (Label.SUPPORTED, 1.0, ())
    (span,) = second.spans
    assert (span.start, span.end, span.text) == (second.start, second.end, INVENTED)
    assert (span.label, span.severity, span.probability) == (Label.UNSUPPORTED, 2, None)
    assert span.similarity == second.similarity
    assert span.similarity is not None
    assert span.similarity < neural.info.threshold
    assert detection.outcome is Outcome.HALLUCINATED
    assert detection.probability is None


def test_a_claim_at_the_threshold_is_grounded(hashed: Detector) -> None:
    answer = "The Eiffel Tower stands in Paris, in France."
    found = hashed.detect(sources=[TOWER], answer=answer)
    (exact,) = similarities(found)
    assert exact is not None
    assert 0.5 < exact < 1
    at = hashed.detect(sources=[TOWER], answer=answer, operating_point=exact)
    assert at.outcome is Outcome.GROUNDED
    above = hashed.detect(sources=[TOWER], answer=answer, operating_point=exact + 1e-6)
    assert above.outcome is Outcome.HALLUCINATED


def test_overall_similarity_is_the_mean_over_claims(hashed: Detector) -> None:
    detection = hashed.detect(sources=[TOWER], answer=f"{TOWER} {INVENTED} Yes.")
    first, second, short = similarities(detection)
    assert first == 1
    assert second is not None
    assert short is None
    assert detection.similarity == pytest.approx((1 + second) / 2, abs=1e-6)


def test_a_short_claim_is_unchecked_and_no_pass(hashed: Detector) -> None:
    detection = hashed.detect(sources=[TOWER], answer=f"{TOWER} It is tall.")
    _, short = detection.claims
    assert (short.label, short.reason) == (Label.UNCHECKED, Reason.TOO_SHORT)
    assert (short.similarity, short.probability, short.spans) == (None, None, ())
    assert detection.outcome is Outcome.PARTIAL
    assert dict(detection.coverage.reasons) == {Reason.TOO_SHORT: 1}


def test_an_answer_of_short_claims_is_partial(hashed: Detector) -> None:
    detection = hashed.detect(sources=[TOWER], answer="Yes. It is.")
    assert detection.outcome is Outcome.PARTIAL
    assert detection.similarity is None
    assert detection.coverage.answer == 0


def test_without_sources_the_answer_is_unverified(hashed: Detector) -> None:
    assert hashed.detect(sources=[], answer=TOWER).outcome is Outcome.UNVERIFIED
    assert hashed.detect(sources=["  "], answer=TOWER).outcome is Outcome.UNVERIFIED


def test_citations_are_counted_as_words_and_not_compared(hashed: Detector) -> None:
    plain, cited = (
        hashed.detect(sources=[TOWER], answer=answer, operating_point=0.2)
        for answer in ("The Eiffel Tower stands tall.", "The Eiffel Tower stands tall [S0].")
    )
    assert similarities(plain) == similarities(cited)
    assert cited.claims[0].citations == ("S0",)
    assert hashed.detect(sources=[TOWER], answer="The tower is tall [1].").claims[0].reason is None


def test_a_script_the_encoder_cannot_read_is_not_compared(
    neural: Detector, hashed: Detector
) -> None:
    answer = "Эта башня стоит в городе Париже."
    assert neural.detect(sources=[TOWER], answer=answer).claims[0].reason is Reason.LANGUAGE
    assert hashed.detect(sources=[answer], answer=answer).outcome is Outcome.GROUNDED


def test_filters_of_words_hold(hashed: Detector) -> None:
    with Detector(hashed.backend, min_words=8) as strict:
        assert strict.detect(sources=[TOWER], answer=INVENTED).spans == ()


# What a claim is compared with.


def test_a_short_source_is_compared_whole(hashed: Detector) -> None:
    source = f"  {BREAD} {TOWER}\n"
    detection = hashed.detect(sources=[source], answer=TOWER)
    one, other = HashEmbedder().embed([source, TOWER]).astype(np.float64)
    assert similarities(detection) == [pytest.approx(float(one @ other), abs=1e-6)]
    (place,) = detection.claims[0].evidence
    assert source[place.start : place.end] == place.text == source.strip()


def test_a_long_source_is_compared_line_by_line(hashed: Detector) -> None:
    assert WHOLE_LINES == 3
    detection = hashed.detect(sources=[LONG], answer=TOWER)
    assert similarities(detection) == [1.0]
    (place,) = detection.claims[0].evidence
    assert (place.start, place.text) == (LONG.index(TOWER), TOWER)


def test_the_nearest_source_is_quoted(hashed: Detector) -> None:
    detection = hashed.detect(sources=[BREAD, TOWER], answer=TOWER)
    assert [place.source_id for place in detection.claims[0].evidence] == ["S1"]


def test_all_evidence_is_attended_to(hashed: Detector) -> None:
    assert hashed.detect(sources=[LONG, BREAD], answer=TOWER).coverage.attended == 1


# What it does not depend on.

sentences = st.lists(
    st.sampled_from([TOWER, BREAD, LONG, INVENTED, "Ships come in May.", "x y z " * 90]),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25)
@given(sentences, st.randoms(use_true_random=False))
def test_order_and_repetition_of_sources_change_nothing(
    hashed: Detector, sources: list[str], random: Random
) -> None:
    answer = f"{TOWER} Ships come in the month of May."
    shuffled = [*sources, sources[0]]
    random.shuffle(shuffled)
    one, other = (hashed.detect(sources=s, answer=answer) for s in (sources, shuffled))
    assert similarities(one) == similarities(other)
    assert (one.outcome, one.coverage) == (other.outcome, other.coverage)


@settings(max_examples=25)
@given(sentences, sentences)
def test_another_source_never_lowers_a_similarity(
    hashed: Detector, sources: list[str], more: list[str]
) -> None:
    answer = f"{TOWER} Ships come in the month of May."
    before = similarities(hashed.detect(sources=sources, answer=answer))
    after = similarities(hashed.detect(sources=[*sources, *more], answer=answer))
    for low, high in zip(before, after, strict=True):
        assert low is not None
        assert high is not None
        assert -1 <= low <= high <= 1


def test_a_stream_is_its_text_at_rest_claim_by_claim(neural: Detector) -> None:
    answer = f"{TOWER} Yes. {INVENTED}"
    with neural.stream(sources=[LONG, BREAD]) as stream:
        claims = [claim for char in answer for claim in stream.feed(char)]
        assert len(claims) == 2
        assert stream.finish() == neural.detect(sources=[LONG, BREAD], answer=answer)


def test_sources_are_embedded_once_and_never_for_another_tenant(hashed: Detector) -> None:
    def embedded() -> int:
        return hashed.work.get("texts_embedded", 0)

    source = "Each of these words is new here."
    before = embedded()
    for _ in range(2):
        hashed.detect(sources=[source], answer=TOWER)
    assert embedded() == before + 1
    hashed.detect(sources=[source], answer=TOWER, tenant="other")
    assert embedded() == before + 2
    assert hashed.cache is not None
    assert hashed.cache.hits > 0


MANY = " ".join(f"Ship number {n} left the harbour in the year {1800 + n}." for n in range(12))


@pytest.mark.parametrize("cache_mb", [128, 0])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_each_line_is_embedded_once_by_however_many_threads(threads: int, cache_mb: int) -> None:
    with Detector.load("similarity", threads=threads, cache_mb=cache_mb) as loaded:
        answer = f"{TOWER} {INVENTED}"
        # The second source is another text with the same lines.
        loaded.detect(sources=[MANY, f" {MANY} ", TOWER], answer=answer)
        assert loaded.work == {"texts_embedded": 12 + 1, "claims_compared": 2}


def test_threads_change_no_bit(neural: Detector) -> None:
    answer = f"{TOWER} {INVENTED} The ship left the harbour in the year 1805."
    with Detector.load("similarity", threads=4) as loaded:
        for sources in ([MANY, BREAD], [BREAD, MANY, LONG]):
            one, other = (d.detect(sources=sources, answer=answer) for d in (neural, loaded))
            assert similarities(one) == similarities(other)
            assert one.claims == other.claims


def test_a_stream_reads_ahead_what_it_needs_and_nothing_twice() -> None:
    with Detector.load("similarity", threads=2) as loaded:
        with loaded.stream(sources=[MANY]) as stream:
            stream.feed(f"{TOWER} {INVENTED}")
            stream.finish()
        assert loaded.work["texts_embedded"] == 12


def test_without_a_cache_nothing_is_read_ahead() -> None:
    with Detector.load("similarity", threads=2, cache_mb=0) as loaded:
        with loaded.stream(sources=[MANY]) as stream:
            stream.feed(f"{TOWER} {INVENTED}")
            stream.finish()
        assert loaded.work["texts_embedded"] == 12


def test_without_vectors_of_the_sources_the_answer_is_unavailable(hashed: Detector) -> None:
    assert isinstance(hashed.backend, SimilarityBackend)
    detector = Detector(replace(hashed.backend, embedder=Broken()))
    assert detector.detect(sources=["It FAILS."], answer=TOWER).outcome is Outcome.UNAVAILABLE


def test_without_a_cache_results_are_the_same(hashed: Detector) -> None:
    with Detector.load("similarity:hash", threads=1, cache_mb=0) as bare:
        assert bare.detect(sources=[LONG], answer=TOWER) == hashed.detect(
            sources=[LONG], answer=TOWER
        )


# When it fails.


class Broken(HashEmbedder):
    """Fails on a claim that says so, and gives no number for another."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("FAILS" in text for text in texts):
            raise RuntimeError
        rows = super().embed(texts)
        rows[["NUMBER" in text for text in texts]] = np.nan
        return rows


@pytest.mark.parametrize("word", ["FAILS", "NUMBER"])
def test_a_claim_that_fails_is_unavailable_and_no_pass(
    hashed: Detector, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    assert isinstance(hashed.backend, SimilarityBackend)
    detector = Detector(replace(hashed.backend, embedder=Broken()))
    detection = detector.detect(sources=[TOWER], answer=f"{TOWER} This secret sentence {word} now.")
    assert [claim.reason for claim in detection.claims] == [None, Reason.DETECTOR_FAILED]
    assert detection.outcome is Outcome.UNAVAILABLE
    assert "secret" not in caplog.text
    assert "could not be compared" in caplog.text
