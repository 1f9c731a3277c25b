"""Limits on sources: what is dropped is dropped as documented, and is seen."""

from dataclasses import replace

import pytest

from groundwire.detection.source_limits import MAX_SOURCE_CHARS, MAX_SOURCES, limit_by
from groundwire.detection.values import Coverage, Detection, Outcome, Reason
from tests.fakes import FixedDetector


def test_the_documented_limits_are_50_sources_of_10000_characters() -> None:
    assert (MAX_SOURCES, MAX_SOURCE_CHARS) == (50, 10_000)
    limited = limit_by(["x"] * 51 + ["y" * 10_001], len)
    assert (len(limited.kept), limited.n_over_cap, limited.n_long) == (50, 1, 1)


def test_of_four_sources_the_first_two_are_kept() -> None:
    limited = limit_by(["a", "b", "c", "d"], len, max_sources=2)
    assert limited.kept == ("a", "b")
    assert (limited.n_long, limited.n_over_cap, limited.dropped_chars) == (0, 2, 2)


def test_a_long_source_is_dropped_whole() -> None:
    limited = limit_by(["short", "much longer than that"], len, max_source_chars=10)
    assert limited.kept == ("short",)
    assert (limited.n_long, limited.n_over_cap, limited.dropped_chars) == (1, 0, 21)


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
    found = limited.account_for(detection("It is tall.", *limited.kept))
    assert found.outcome is Outcome.PARTIAL
    assert found.coverage.offered_chars == 11 + 19
    assert dict(found.coverage.reasons) == {Reason.DROPPED_LONG: 1}


def test_a_finding_stays_a_finding() -> None:
    limited = limit_by(["It is tall.", "It is wide."], len, max_sources=1)
    found = limited.account_for(detection("It is WRONG.", *limited.kept))
    assert found.outcome is Outcome.HALLUCINATED
    assert found.coverage.reasons[Reason.DROPPED_OVER_CAP] == 1


def test_evidence_that_was_all_dropped_is_not_evidence_that_was_never_there() -> None:
    limited = limit_by(["It is tall."], len, max_source_chars=3)
    assert detection("It is tall.").outcome is Outcome.UNVERIFIED
    assert limited.account_for(detection("It is tall.")).outcome is Outcome.PARTIAL


def test_nothing_dropped_changes_nothing() -> None:
    found = detection("It is tall.", "It is tall.")
    assert limit_by(["It is tall."], len).account_for(found) is found


def test_reasons_add_up() -> None:
    found = detection("It is tall.", "It is tall.")
    coverage = replace(found.coverage, reasons={Reason.DROPPED_LONG: 2})
    assert isinstance(coverage, Coverage)
    limited = limit_by(["12345678901"], len, max_source_chars=1)
    again = limited.account_for(replace(found, coverage=coverage))
    assert again.coverage.reasons[Reason.DROPPED_LONG] == 3


def detection(answer: str, *sources: str) -> Detection:
    return FixedDetector(unsupported=["WRONG"]).detect(sources=sources, answer=answer)
