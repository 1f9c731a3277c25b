"""What is known of an answer before it ends."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Gate, Outcome
from groundwire.detection.values import Claim, Entailment, EvidenceRef, Reason
from groundwire.detector import Detector
from groundwire.explain import Explainer
from groundwire.pipeline import Flow, Pipeline, Review
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Action, Policy
from groundwire.text.segment import Segment, segment
from tests.pipeline.chats import (
    EXPLAINER,
    FACTS,
    POEM,
    QUESTION,
    RIGHT,
    WRONG,
    WatchedJudge,
    asked,
    contradicts,
    judged,
)

CODE = "```python\nprint(42)\n```\n"
#: What answers are made of: claims, right and wrong; code, marks and blanks; odd ends of sentences.
BLOCKS = [
    RIGHT,
    WRONG,
    "It weighs 500 tonnes.",
    "It is Dr. No.",
    "Is it? (Yes!) [S1]",
    "\u0415\u0439\u0444\u0435\u043b\u0435\u0432\u0430.",
    CODE,
    "- ",
    "\n\n",
    "# ",
    "!!!",
    "\U0001f44d",
    "| a | b |\n|---|---|\n| 1950 | 2 |\n",
    "`x. y",
    "e.g.",
    "1. ",
]
POLICIES = [
    Policy(action=Action.HEADER),
    Policy(action=Action.BLOCK),
    Policy(action=Action.BLOCK, min_severity=3),
    Policy(action=Action.BLOCK, partial_action=Action.BLOCK, unverified_action=Action.BLOCK),
    Policy(action=Action.LOG, partial_action=Action.BLOCK),
]
texts = st.lists(st.sampled_from(BLOCKS), max_size=8).map(" ".join)
cuts = st.lists(st.integers(0, 10_000), max_size=8)
policies = st.sampled_from(POLICIES)
KEPT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def piped(
    judge: WatchedJudge | None = None,
    *,
    min_pieces: int = 1,
    policy: Policy = POLICIES[1],
    **stages: Any,  # noqa: ANN401
) -> Pipeline:
    return Pipeline(
        Detector(judge or judged(), min_pieces=min_pieces, threads=1), policy=policy, **stages
    )


def fed(flow: Flow, text: str, cuts: list[int]) -> Iterator[Review]:
    """Feed a text in pieces; the review after each."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        flow.feed(text[start:end])
        yield flow.review()


def places(claims: Iterable[Claim | Segment]) -> list[tuple[int, int]]:
    return [(claim.start, claim.end) for claim in claims]


@KEPT
@given(texts, cuts, policies, st.sampled_from([1, 2, 4]))
def test_reviews_change_nothing(
    text: str, cuts: list[int], policy: Policy, min_pieces: int
) -> None:
    pipeline = piped(policy=policy, explainer=EXPLAINER, min_pieces=min_pieces)
    context = pipeline.open(asked(QUESTION, FACTS))
    with pipeline.stream(context) as flow:
        list(fed(flow, text, cuts))
        assert flow.finish() == pipeline.check(context, text)


@KEPT
@given(texts, cuts, policies)
def test_a_review_says_what_a_check_of_the_judged_text_says(
    text: str, cuts: list[int], policy: Policy
) -> None:
    pipeline = piped(policy=policy, explainer=EXPLAINER)
    context = pipeline.open(asked(QUESTION, FACTS))
    with pipeline.stream(context) as flow:
        for review in fed(flow, text, cuts):
            judged_text = text[: review.judged_to]
            assert review.checked.answer.text in (judged_text, "")
            detection = review.checked.detection
            # Where text ends, an abbreviation may end a claim that it does not end in its midst.
            if detection is not None and places(detection.claims) == places(segment(judged_text)):
                assert review.checked == pipeline.check(context, judged_text)
            if detection is None:
                assert (review.checked.outcome, review.checked.reason) == (
                    Outcome.SKIPPED,
                    "empty",
                )


@KEPT
@given(texts, cuts, policies, st.sampled_from([1, 2, 4]), st.booleans())
def test_what_was_found_stays_found_and_what_is_clear_stays_clear(
    text: str, cuts: list[int], policy: Policy, min_pieces: int, has_evidence: bool
) -> None:
    pipeline = piped(policy=policy, explainer=EXPLAINER, min_pieces=min_pieces)
    context = pipeline.open(asked(QUESTION, *([FACTS] if has_evidence else [])))
    with pipeline.stream(context) as flow:
        reviews = list(fed(flow, text, cuts))
        final = flow.finish()
    marks = {(s.start, s.end) for s in final.detection.spans} if final.detection else set()
    claims = places(final.detection.claims) if final.detection else []
    for review in reviews:
        assert 0 <= review.clear_to <= review.judged_to <= len(text)
        detection = review.checked.detection
        if detection is not None:
            assert marks >= {(s.start, s.end) for s in detection.spans}
            assert places(detection.claims) == [p for p in claims if p[1] <= review.judged_to]
    for earlier, later in pairwise(reviews):
        assert earlier.judged_to <= later.judged_to
        assert earlier.clear_to <= later.clear_to
    # What has been shown is nothing that the policy, asked of it alone, would have withheld.
    for review in reviews:
        shown = text[: review.clear_to]
        # The mark of a list without its item holds no claim, so alone it is partial.
        if places(segment(shown)):
            assert pipeline.check(context, shown).action is not Action.BLOCK


def test_what_is_judged_is_known_before_the_end() -> None:
    pipeline = piped()
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed(RIGHT)
        assert flow.review().judged_to == 0  # a citation may follow
        flow.feed(f"\n{CODE}")
        earlier = flow.review()
        assert earlier.clear_to == earlier.judged_to == len(f"{RIGHT}\n```python\nprint(42)")
        flow.feed(f"\n{WRONG} It")
        review = flow.review()
        assert review.checked.outcome is Outcome.HALLUCINATED
        assert review.checked.action is Action.BLOCK
        assert review.judged_to == len(f"{RIGHT}\n{CODE}\n{WRONG}")
        assert review.clear_to == earlier.clear_to  # nothing more is cleared of what is withheld
        final = flow.finish()
        assert flow.review().checked is final


def test_nothing_is_known_before_the_first_claim() -> None:
    pipeline = piped()
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        for delta in ("", " \n", "\U0001f44d - ", "[S1]\n\n", "The Eiffel Tower was"):
            flow.feed(delta)
            review = flow.review()
            assert (review.judged_to, review.clear_to) == (0, 0)
            assert (review.checked.outcome, review.checked.reason) == (Outcome.SKIPPED, "empty")
            assert review.checked.action is Action.NONE


def test_a_finding_that_may_be_taken_back_is_not_clear() -> None:
    pipeline = piped(min_pieces=4)
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed(f"{RIGHT} {WRONG} {RIGHT} It")
        review = flow.review()
        assert review.checked.outcome is Outcome.GROUNDED
        assert review.clear_to == len(f"{RIGHT} ")
        assert review.judged_to == len(f"{RIGHT} {WRONG} {RIGHT}")
        flow.feed(f" weighs 500 tonnes. {RIGHT} It")
        review = flow.review()
        assert review.checked.action is Action.BLOCK
        assert review.clear_to == len(f"{RIGHT} ")


def test_a_finding_that_the_policy_lets_pass_is_clear() -> None:
    pipeline = piped(policy=Policy(action=Action.HEADER))
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed(f"{WRONG} It")
        review = flow.review()
        assert review.checked.action is Action.HEADER
        assert review.clear_to == review.judged_to == len(f"{WRONG}")


def test_where_nothing_is_due_everything_is_clear(gate: Gate) -> None:
    pipeline = piped(gate=gate)
    with pipeline.stream(pipeline.open(asked(POEM))) as flow:
        assert flow.review().checked.reason == "not_factual"
        flow.feed("Leaves fall")
        review = flow.review()
        assert (review.judged_to, review.clear_to) == (11, 11)
        assert review.checked.outcome is Outcome.SKIPPED
        flow.feed(".")
        assert flow.finish() == flow.review().checked
        assert flow.review().clear_to == 12


@pytest.mark.parametrize("fails_at", ["open", "read"])
def test_where_the_check_fails_nothing_is_judged(fails_at: str) -> None:
    pipeline = Pipeline(Detector(judged(fails_at=fails_at), threads=1), policy=POLICIES[1])
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed(f"{RIGHT} {WRONG}")
        review = flow.review()
        assert review.checked.outcome is Outcome.UNAVAILABLE
        assert review.checked.action is Action.BLOCK
        assert review.clear_to == 0
        assert flow.finish().outcome is Outcome.UNAVAILABLE


def test_an_answer_that_was_given_up_is_unavailable_and_no_failure_for_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pipeline = piped()
    flow = pipeline.stream(pipeline.open(asked(QUESTION, FACTS)))
    flow.feed(f"{RIGHT} It")
    flow.close()
    review = flow.review()
    assert flow.feed(WRONG) == []
    assert (review.checked.outcome, review.checked.reason) == (
        Outcome.UNAVAILABLE,
        "DetectionError",
    )
    assert (review.judged_to, review.clear_to) == (0, 0)
    assert flow.finish().outcome is Outcome.UNAVAILABLE
    assert caplog.messages == []


def test_an_aside_in_text_that_is_not_judged_yet_is_none() -> None:
    detector = Detector(judged(), threads=1)
    flow = Pipeline(detector).stream(Pipeline(detector).open(asked(QUESTION, FACTS)))
    assert flow._stream is not None
    flow._stream._session.is_incremental = False
    flow.feed(f"Hello! {RIGHT} {RIGHT} It")
    assert flow._stream.snapshot().detection.asides == ()
    whole = flow.finish().detection
    assert whole is not None
    assert [each.text for each in whole.asides] == ["Hello!"]


def test_a_detector_that_reads_answers_whole_judges_at_the_end() -> None:
    detector = Detector(judged(), threads=1)
    pipeline = Pipeline(detector, policy=POLICIES[1])
    flow = pipeline.stream(pipeline.open(asked(QUESTION, FACTS)))
    assert flow._stream is not None
    flow._stream._session.is_incremental = False
    flow.feed(f"{RIGHT} {RIGHT} It")
    review = flow.review()
    assert (review.judged_to, review.clear_to, review.checked.reason) == (0, 0, "empty")
    flow.finish()
    assert flow.review().judged_to == len(f"{RIGHT} {RIGHT} It")


# Explanations.


def test_a_finding_is_explained_once_while_the_answer_is_reviewed() -> None:
    asked_of: list[str] = []

    def judge(claim: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
        asked_of.append(claim)
        return contradicts(claim, evidence)

    pipeline = piped(policy=Policy(action=Action.LOG), explainer=Explainer(judge))
    claims = [f"{WRONG} It", " weighs 500 tonnes. It", " is 500 meters tall. Yes"]
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        for n, delta in enumerate(claims, 1):
            flow.feed(delta)
            for _ in range(3):
                assert flow.review().checked.detection is not None
            assert len(asked_of) == n
        assert len(flow.review().checked.explanations) == 4
        assert flow.review().checked.explanations == flow.finish().explanations


def test_what_the_explainer_acquits_is_clear() -> None:
    explainer = Explainer(lambda *_: Entailment(entailment=0.98, neutral=0.01, contradiction=0.01))
    pipeline = piped(judged(stands=0.9), explainer=explainer)
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed("It stands in Paris. It")
        review = flow.review()
        assert (review.checked.outcome, review.clear_to) == (Outcome.GROUNDED, 19)
        assert [each.start for each in review.checked.dropped] == [3]
        assert flow.finish().outcome is Outcome.GROUNDED


# Given up, and read in part.


def test_a_check_that_is_given_up_is_one_that_failed(gate: Gate) -> None:
    pipeline = piped(gate=gate)
    context = pipeline.open(asked(QUESTION, FACTS))
    checked = pipeline.unavailable(context, RIGHT, "TimeoutError")
    assert (checked.outcome, checked.reason) == (Outcome.UNAVAILABLE, "TimeoutError")
    assert (checked.action, checked.ruling.is_failure) == (Action.BLOCK, True)
    assert (checked.answer.text, checked.context) == (RIGHT, context)
    poem = pipeline.unavailable(pipeline.open(asked(POEM)), "Leaves.", "TimeoutError")
    assert (poem.outcome, poem.action) == (Outcome.SKIPPED, Action.NONE)


@pytest.mark.parametrize(
    ("text", "outcome"), [(RIGHT, Outcome.PARTIAL), (WRONG, Outcome.HALLUCINATED)]
)
def test_an_answer_of_which_only_the_beginning_is_readable_is_never_grounded(
    text: str, outcome: Outcome
) -> None:
    pipeline = piped()
    with pipeline.stream(pipeline.open(asked(QUESTION, FACTS))) as flow:
        flow.feed(text)
        checked = flow.finish(Answer(index=0, kind=AnswerKind.TEXT, text=text, n_skipped=1))
    assert checked.outcome is outcome
    assert checked.detection is not None
    assert checked.detection.coverage.reasons[Reason.UNREAD_ANSWER] == 1
