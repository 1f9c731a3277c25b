"""Limits on sources: what is dropped is dropped as documented, and is seen."""

from dataclasses import replace

import pytest

from groundwire.detection.source_limits import (
    MAX_SOURCE_CHARS,
    MAX_SOURCES,
    Limited,
    account_for,
    limit_by,
)
from groundwire.detection.values import Coverage, Detection, Outcome, Reason
from tests.fakes import FixedDetector


def test_the_documented_limits_are_50_sources_of_10000_characters() -> None:
    assert (MAX_SOURCES, MAX_SOURCE_CHARS) == (50, 10_000)
    limited = limit_by(["x"] * 51 + ["y" * 10_001], len)
    assert len(limited.kept) == 50
    assert limited.reasons == {Reason.DROPPED_LONG: 1, Reason.DROPPED_OVER_CAP: 1}


def test_of_four_sources_the_first_two_are_kept() -> None:
    limited = limit_by(["a", "b", "c", "d"], len, max_sources=2)
    assert limited.kept == ("a", "b")
    assert (limited.reasons, limited.dropped_chars) == ({Reason.DROPPED_OVER_CAP: 2}, 2)


def test_a_long_source_is_dropped_whole() -> None:
    limited = limit_by(["short", "much longer than that"], len, max_source_chars=10)
    assert limited.kept == ("short",)
    assert (limited.reasons, limited.dropped_chars) == ({Reason.DROPPED_LONG: 1}, 21)


def test_a_source_of_the_exact_length_is_kept() -> None:
    assert limit_by(["x" * 10], len, max_source_chars=10).kept == ("x" * 10,)


def test_length_is_looked_at_before_the_number() -> None:
    limited = limit_by(["long long", "a", "b"], len, max_sources=2, max_source_chars=5)
    assert limited.kept == ("a", "b")


@pytest.mark.parametrize("none", [0, -1])
def test_zero_and_less_mean_no_limit(none: int) -> None:
    texts = ["x" * 20_000] * 60
    assert limit_by(texts, len, max_sources=none, max_source_chars=none).kept == tuple(texts)


def test_what_is_dropped_makes_a_pass_partial() -> None:
    limited = limit_by(["It is tall.", "It is red and blue."], len, max_source_chars=15)
    found = accounted(detection("It is tall.", *limited.kept), limited)
    assert found.outcome is Outcome.PARTIAL
    assert found.coverage.offered_chars == 11 + 19
    assert dict(found.coverage.reasons) == {Reason.DROPPED_LONG: 1}


def test_a_finding_stays_a_finding() -> None:
    limited = limit_by(["It is tall.", "It is wide."], len, max_sources=1)
    found = accounted(detection("It is WRONG.", *limited.kept), limited)
    assert found.outcome is Outcome.HALLUCINATED
    assert found.coverage.reasons[Reason.DROPPED_OVER_CAP] == 1


def test_evidence_that_was_all_dropped_is_not_evidence_that_was_never_there() -> None:
    limited = limit_by(["It is tall."], len, max_source_chars=3)
    assert detection("It is tall.").outcome is Outcome.UNVERIFIED
    assert accounted(detection("It is tall."), limited).outcome is Outcome.PARTIAL


def test_nothing_dropped_changes_nothing() -> None:
    found = detection("It is tall.", "It is tall.")
    assert accounted(found, limit_by(["It is tall."], len)) is found


def test_reasons_add_up() -> None:
    found = detection("It is tall.", "It is tall.")
    coverage = replace(found.coverage, reasons={Reason.DROPPED_LONG: 2})
    assert isinstance(coverage, Coverage)
    limited = limit_by(["12345678901"], len, max_source_chars=1)
    again = accounted(replace(found, coverage=coverage), limited)
    assert again.coverage.reasons[Reason.DROPPED_LONG] == 3


def detection(answer: str, *sources: str) -> Detection:
    return FixedDetector(unsupported=["WRONG"]).detect(sources=sources, answer=answer)


def accounted(found: Detection, limited: Limited[str]) -> Detection:
    return account_for(found, limited.reasons, dropped_chars=limited.dropped_chars)
