"""A watched verifier answers as the one behind it, says how far it is, and can be stopped."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from groundwire.mcp.tool import Watch
from groundwire.mcp.watched import Watched
from groundwire.verify.verifier import ClaimQuestion, EvidenceText, Judged, VerifierFailure
from tests.verify.scripted import ScriptedVerifier, believed, readout

EVIDENCE = (EvidenceText(sid="S0", text="t", shown="t"),)


def asked(*claims: str) -> list[ClaimQuestion]:
    return [ClaimQuestion(claim=claim, evidence=EVIDENCE) for claim in claims]


def by_length() -> ScriptedVerifier:
    return ScriptedVerifier(lambda claim, _: believed(len(claim) / 10))


@dataclass
class Parts:
    """Remembers which questions came together."""

    name: str = "parts"
    model: str = "1"
    sizes: list[int] = field(default_factory=list)

    def judge(self, questions: Sequence[ClaimQuestion]) -> list[Judged]:
        self.sizes.append(len(questions))
        return [readout(0.5) for _ in questions]


@pytest.mark.parametrize(("part", "side_by_side"), [(1, 4), (2, 1), (16, 1)])
def test_answers_are_those_of_the_verifier_in_the_order_of_the_questions(
    part: int, side_by_side: int
) -> None:
    questions = asked("a", "bbb", "cc", "a", "eeeee")
    watched = Watched(by_length(), Watch(), part=part, side_by_side=side_by_side)
    assert watched.judge(questions) == by_length().judge(questions)
    assert (watched.name, watched.model) == ("scripted", "script")


def test_equal_questions_are_asked_once_of_a_verifier_that_is_asked_side_by_side() -> None:
    verifier = by_length()
    Watched(verifier, Watch(), side_by_side=2).judge(asked("a", "b", "a", "a"))
    assert sorted(each.claim for each in verifier.asked) == ["a", "b"]


def test_a_verifier_that_groups_gets_several_questions_together() -> None:
    verifier = Parts()
    Watched(verifier, Watch(), part=16).judge(asked(*map(str, range(20))))
    assert verifier.sizes == [16, 4]


def test_progress_grows_with_every_reading_and_ends_where_it_should() -> None:
    told: list[tuple[int, int, str]] = []
    watch = Watch(tell=lambda *progress: told.append(progress))
    watched = Watched(by_length(), watch, side_by_side=2)
    watched.judge(asked("a", "b", "c"))
    watched.judge(asked("a"))
    assert [done for done, _, _ in told] == [1, 2, 3, 6]
    assert told[-1] == (6, 6, "6 of about 6 readings")


def test_more_readings_than_were_expected_raise_the_total() -> None:
    told: list[tuple[int, int]] = []
    watched = Watched(by_length(), Watch(tell=lambda done, total, _: told.append((done, total))))
    watched.judge(asked("a"))
    watched.judge(asked("a", "b", "c"))
    assert told == [(1, 2), (2, 4), (3, 4), (4, 4)]


def test_what_nobody_waits_for_is_not_read_and_counts_as_failed() -> None:
    verifier = by_length()
    watch = Watch(is_over=lambda: bool(verifier.asked))
    first, *_, last = Watched(verifier, watch).judge(asked("a", "b", "c", "d", "e", "f"))
    assert len(verifier.asked) < 6
    assert not isinstance(first, VerifierFailure)
    assert isinstance(last, VerifierFailure)
    assert "cancelled" in last.error


def test_a_verifier_that_raises_is_a_failure_of_its_questions() -> None:
    def fails(*_: object) -> tuple[float, float, float]:
        raise RuntimeError("SECRET CLAIM")

    (judged,) = Watched(ScriptedVerifier(fails), Watch(), side_by_side=2).judge(asked("a"))
    assert isinstance(judged, VerifierFailure)
    assert judged.error == "The verifier failed: RuntimeError."


def test_readings_run_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=20)

    def meets(*_: object) -> tuple[float, float, float]:
        meeting.wait()
        return believed(0.5)

    judged = Watched(ScriptedVerifier(meets), Watch(), side_by_side=2).judge(asked("a", "b"))
    assert not any(isinstance(each, VerifierFailure) for each in judged)
