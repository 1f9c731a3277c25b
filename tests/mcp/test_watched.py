"""A watched verifier answers as the one behind it, says how far it is, and can be stopped."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire.mcp.tool import Watch
from groundwire.mcp.watched import PART, ReportingVerifier
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


def test_answers_are_those_of_the_verifier_in_the_order_of_the_questions() -> None:
    questions = asked(*map(str, range(PART + 3)), "0")
    watched = ReportingVerifier(by_length(), Watch())
    assert watched.judge(questions) == by_length().judge(questions)
    assert (watched.name, watched.model) == ("scripted", "script")


def test_a_verifier_that_groups_gets_several_questions_together() -> None:
    verifier = Parts()
    ReportingVerifier(verifier, Watch()).judge(asked(*map(str, range(20))))
    assert verifier.sizes == [16, 4]


def test_progress_counts_the_readings_of_all_parts() -> None:
    told: list[tuple[int, int | None, str]] = []
    watched = ReportingVerifier(by_length(), Watch(tell=lambda *progress: told.append(progress)))
    watched.judge(asked(*map(str, range(20))))
    watched.judge(asked("a"))
    assert [done for done, _, _ in told] == [16, 20, 21]
    assert told[-1] == (21, None, "21 readings")


def test_what_nobody_waits_for_is_not_read_and_counts_as_failed() -> None:
    verifier = by_length()
    watch = Watch(is_over=lambda: bool(verifier.asked))
    first, *_, last = ReportingVerifier(verifier, watch).judge(asked(*map(str, range(20))))
    assert len(verifier.asked) == PART
    assert not isinstance(first, VerifierFailure)
    assert isinstance(last, VerifierFailure)
    assert "cancelled" in last.error


def test_a_verifier_that_raises_is_a_failure_of_its_questions() -> None:
    def fails(*_: object) -> tuple[float, float, float]:
        raise RuntimeError("SECRET CLAIM")

    (judged,) = ReportingVerifier(ScriptedVerifier(fails), Watch()).judge(asked("a"))
    assert isinstance(judged, VerifierFailure)
    assert judged.error == "The verifier failed: RuntimeError."
