"""Properties that detections of the embedded model must have for any input."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Detection, Detector, Example, Source
from groundwire.detection.values import Label, Outcome, Reason, decide_outcome
from tests.tiers import costly

SENTENCES = [
    "The Eiffel Tower is 330 metres tall.",
    "The tower was opened on 31 March 1889 by Gustave Eiffel.",
    "It stands on the Champ de Mars in Paris [S0].",
    "Tickets cost 29.40 euros, i.e. more than before.",
    "Doors open at 9:30 a.m. and close at midnight.",
    "Dr. Müller said: “It’s a naïve café.”",
    "- The second floor is at 115 m.",
    "1. First, take the lift;",
    "## Opening hours\n",
    "| Day | Hours |\n|---|---|\n| Monday | 9-18 |\n",
    "```python\nprint('tower')\n```\n",
    "See https://example.com/a?b=1 for more [1, 3-5].",
    "北京是中国的首都。",
    "Москва стоит на реке.",
    "שלום עולם, the tower is מגדל.",
    "e\u0301t\u00e9 \U0001f5fc\U0001f468\u200d\U0001f469\u200d\U0001f467 is fun",
    "NUL\0 and \u2028 separators \u2029 within",
    "𝔘nusual 𝕝etters",
    "No end of sentence here",
    "Yes!",
    '{"name": "Tower", "height": 330}',
    "It was sold in 1925, and again in 1926, to a dealer in scrap metal from the north of town.",
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map(" ".join),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map("\n".join),
    st.text(min_size=1, max_size=80),
)
ANSWERS = TEXTS.filter(lambda text: bool(text.strip()))
QUESTIONS = st.sampled_from([None, "", "How tall is the tower?", "Кто?"])
POINTS = st.sampled_from([1e-6, 0.2, 0.5, 0.8, 1.0])
few = settings(costly(0.2), suppress_health_check=[HealthCheck.too_slow])


def padding(seed: int, n_sentences: int) -> str:
    rng = random.Random(seed)
    words = ["tower", "lift", "Paris", "metal", "floor", "ticket", "garden", "harvest"]
    return " ".join(
        f"The {' '.join(rng.choices(words, k=9))} {rng.randrange(1000, 2100)}."
        for _ in range(n_sentences)
    )


LONG = [padding(seed, 90) for seed in range(3)]  # more text than a claim is read with


@st.composite
def source_lists(draw: st.DrawFn, min_size: int = 1) -> list[Source]:
    """Draw sources with explicit ids, perhaps with more text than a claim is read with."""
    texts = draw(st.lists(st.one_of(TEXTS, st.sampled_from(LONG)), min_size=min_size, max_size=4))
    titles = st.sampled_from([None, "Eiffel Tower"])
    return [Source(text=text, id=f"d{i}", title=draw(titles)) for i, text in enumerate(texts)]


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Cut a text into deltas, letter by letter or at random places."""
    if draw(st.booleans()):
        return list(text)
    places = draw(st.lists(st.integers(0, len(text)), max_size=8))
    bounds = [0, *sorted(places), len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def streamed(detector: Detector, deltas: Sequence[str], **given: object) -> Detection:
    with detector.stream(**given) as stream:  # type: ignore[arg-type]
        claims = [claim for delta in deltas for claim in stream.feed(delta)]
        result = stream.finish()
    assert tuple(claims) == result.claims[: len(claims)]
    return result


def test_these_examples_reach_the_second_look(detector: Detector) -> None:
    before = detector.work.get("second_looks", 0)
    detector.detect(sources=LONG, answer="The zebra is green.", operating_point=1e-6)
    assert detector.work["second_looks"] > before


@few
@given(sources=source_lists(), answer=ANSWERS, question=QUESTIONS, point=POINTS, data=st.data())
def test_order_and_repetition_of_sources_change_nothing(
    detector: Detector,
    sources: list[Source],
    answer: str,
    question: str | None,
    point: float,
    data: st.DataObject,
) -> None:
    again = data.draw(st.lists(st.sampled_from(sources), max_size=3))
    mixed = data.draw(st.permutations([*sources, *again]))
    asked = {"answer": answer, "question": question, "operating_point": point}
    assert detector.detect(sources=sources, **asked) == detector.detect(  # type: ignore[arg-type]
        sources=mixed,
        **asked,  # type: ignore[arg-type]
    )


@few
@given(texts=st.lists(TEXTS, min_size=1, max_size=4), answer=ANSWERS, data=st.data())
def test_the_order_of_unnamed_sources_changes_no_verdict(
    detector: Detector, texts: list[str], answer: str, data: st.DataObject
) -> None:
    one = detector.detect(sources=texts, answer=answer)
    other = detector.detect(sources=data.draw(st.permutations(texts)), answer=answer)
    assert one.outcome is other.outcome
    assert one.coverage == other.coverage
    assert [(claim.text, claim.label, claim.probability) for claim in one.claims] == [
        (claim.text, claim.label, claim.probability) for claim in other.claims
    ]
    assert [(s.start, s.end, s.probability) for s in one.spans] == [
        (s.start, s.end, s.probability) for s in other.spans
    ]


@few
@given(texts=st.lists(TEXTS, min_size=1, max_size=13), answer=ANSWERS)
def test_giving_all_sources_twice_changes_nothing(
    detector: Detector, texts: list[str], answer: str
) -> None:
    assert detector.detect(sources=texts, answer=answer) == detector.detect(
        sources=texts * 2, answer=answer
    )


@few
@given(
    sources=source_lists(min_size=0),
    answer=ANSWERS,
    question=QUESTIONS,
    point=POINTS,
    data=st.data(),
)
def test_a_stream_equals_the_text_at_rest_however_it_is_cut(
    detector: Detector,
    sources: list[Source],
    answer: str,
    question: str | None,
    point: float,
    data: st.DataObject,
) -> None:
    at_rest = detector.detect(
        sources=sources, answer=answer, question=question, operating_point=point
    )
    deltas = data.draw(cuts(answer))
    found = streamed(detector, deltas, sources=sources, question=question, operating_point=point)
    assert found == at_rest


@few
@given(
    requests=st.lists(st.tuples(source_lists(min_size=0), ANSWERS), min_size=1, max_size=6),
    point=POINTS,
)
def test_a_batch_equals_its_answers_one_by_one(
    detector: Detector, requests: list[tuple[list[Source], str]], point: float
) -> None:
    examples = [Example.of(sources=sources, answer=answer) for sources, answer in requests]
    assert list(detector.detect_batch(examples, operating_point=point)) == [
        detector.detect(sources=sources, answer=answer, operating_point=point)
        for sources, answer in requests
    ]


def test_threads_that_share_a_detector_do_not_disturb_each_other(detector: Detector) -> None:
    rng = random.Random(0)
    requests = [
        (rng.sample(LONG + SENTENCES, 4), " ".join(rng.sample(SENTENCES, 4))) for _ in range(6)
    ]

    def detect(request: tuple[list[str], str]) -> Detection:
        return detector.detect(sources=request[0], answer=request[1], tenant="shared")

    alone = [detect(request) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(detect, requests * 3)) == alone * 3


@pytest.fixture(scope="module")
def others() -> list[Detector]:
    """Detectors without a cache, with small caches, and with other numbers of threads."""
    return [
        Detector.load(threads=2, cache_mb=0),
        Detector.load(threads=2, cache_mb=1),
        Detector.load(threads=2, cache_mb=12),
        Detector.load(threads=1),
        Detector.load(threads=3, cache_mb=0),
    ]


@settings(costly(0.1), suppress_health_check=[HealthCheck.too_slow])
@given(sources=source_lists(), answer=ANSWERS, question=QUESTIONS, point=POINTS)
def test_results_depend_neither_on_the_cache_nor_on_the_number_of_threads(
    detector: Detector,
    others: list[Detector],
    sources: list[Source],
    answer: str,
    question: str | None,
    point: float,
) -> None:
    def detect(by: Detector) -> Detection:
        return by.detect(sources=sources, answer=answer, question=question, operating_point=point)

    first = detect(detector)
    assert detect(detector) == first  # now everything is in the cache
    for other in others:
        assert detect(other) == first


def test_a_small_cache_is_within_its_bound_and_throws_out(others: list[Detector]) -> None:
    small = others[2]
    small.detect(sources=LONG, answer=" ".join(SENTENCES), operating_point=1e-6)
    assert small.cache is not None
    assert small.cache.evictions > 0
    assert small.cache.bytes <= small.cache.max_bytes <= 12_000_000


@settings(costly(0.6), suppress_health_check=[HealthCheck.too_slow])
@given(sources=source_lists(min_size=0), answer=ANSWERS, question=QUESTIONS, point=POINTS)
def test_offsets_shares_and_labels_agree_with_each_other(
    detector: Detector, sources: list[Source], answer: str, question: str | None, point: float
) -> None:
    result = detector.detect(
        sources=sources, answer=answer, question=question, operating_point=point
    )
    texts = {source.id: source.text for source in sources}
    end = 0
    for claim in result.claims:
        assert end <= claim.start < claim.end
        end = claim.end
        assert answer[claim.start : claim.end] == claim.text == claim.text.strip()
        assert (claim.label is Label.UNCHECKED) == (claim.reason is not None)
        assert (claim.probability is None) == (claim.reason not in (None, Reason.UNRELATED))
        if claim.probability is not None:
            assert 0 <= claim.probability <= 1
            marked = {span.label for span in claim.spans} or {Label.SUPPORTED}
            assert claim.label in marked or claim.reason is Reason.UNRELATED
        last = claim.start
        for span in claim.spans:
            assert last <= span.start < span.end <= claim.end
            last = span.end
            assert answer[span.start : span.end] == span.text == span.text.strip()
            assert span.probability is not None
            assert point - 1e-6 <= span.probability <= 1
            assert span.label in (Label.UNSUPPORTED, Label.CONTRADICTED)
            assert claim.probability is not None
            assert span.probability <= claim.probability
        for reference in claim.evidence:
            assert texts[reference.source_id][reference.start : reference.end] == reference.text
    assert result.spans == tuple(span for claim in result.claims for span in claim.spans)
    coverage = result.coverage
    assert 0 <= coverage.attended_chars <= coverage.indexed_chars <= coverage.offered_chars
    assert 0 <= coverage.read_chars <= coverage.answer_chars
    for share in (coverage.attended, coverage.indexed, coverage.answer):
        assert 0 <= share <= 1
    assert result.outcome is decide_outcome(result.claims, coverage)
    if result.outcome is Outcome.GROUNDED:
        assert result.claims
        assert all(claim.label is Label.SUPPORTED for claim in result.claims)
        assert coverage.is_complete


@few
@given(sources=source_lists(), answer=ANSWERS, points=st.tuples(POINTS, POINTS))
def test_a_higher_threshold_never_marks_more(
    detector: Detector, sources: list[Source], answer: str, points: tuple[float, float]
) -> None:
    # A second look can remove marks. A claim that is marked at the higher threshold has had its
    # second look at the lower one too.
    low, high = sorted(points)
    more = detector.detect(sources=sources, answer=answer, operating_point=low)
    fewer = detector.detect(sources=sources, answer=answer, operating_point=high)
    assert marked(fewer) <= marked(more)


def marked(detection: Detection) -> set[int]:
    """Return the offsets of all characters in spans, except white space."""
    return {
        i
        for span in detection.spans
        for i in range(span.start, span.end)
        if not detection.answer[i].isspace()
    }
