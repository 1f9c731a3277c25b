"""All rules together: what comes of what they find, and what holds for any text."""

import re
import sys
import time
from collections.abc import Callable
from random import Random
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules import MAX_LINES, Basis, Conflict, ConflictKind, RuleFindings, find
from groundwire.detection.rules.find import PROBABILITY, RULES
from groundwire.detection.values import Label
from groundwire.text.quantities import QuantityIndex
from tests.detection.rules.against import (
    basis_of,
    basis_of_lines,
    best_lines,
    findings,
)
from tests.tiers import costly

WORDS = [
    "The", "tower", "was", "built", "in", "1950", "1887-1889", "330 m", "500 meters", "is", "not",
    "all", "some", "most", "rose", "fell", "Paris", "Lyon", "Gustave Eiffel", "defeated", "and",
    "or", ",", "the second longest", "the longest", "one of the", "increased", "20%", "$24", "$48",
    ". ", "; ", ": ", "\n", "|", "about", "no later than", "9:30", "May", "Monday", "if", "unless",
    "\x1b[2J", "\u202e", "\ud800", "e\u0301", "北京", "🙂", "isn't", '"', "x: false", "½", "²",
    "x" * 80,
]  # fmt: skip
PROSE = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
#: Words without what makes a line more than one, or a table of it.
PLAIN = [word for word in WORDS if not re.search(r"[.;:|\n]", word)]
SENTENCES = st.lists(st.sampled_from(PLAIN), min_size=1, max_size=16).map(" ".join)
TEXTS = st.one_of(PROSE, st.text(max_size=80))
DATA = st.dictionaries(TEXTS, st.one_of(st.booleans(), st.integers(), TEXTS), max_size=4).map(str)
TABLES = st.lists(st.lists(SENTENCES, min_size=2, max_size=2), max_size=4).map(
    lambda rows: "| Name | Price |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)
)
SOURCES = st.lists(st.one_of(TEXTS, DATA, TABLES), max_size=3)
NOTHING = "The pool is wide."


def test_a_claim_that_agrees_has_no_findings() -> None:
    assert findings("The pool is cold.", NOTHING) == RuleFindings()
    assert findings("", NOTHING) == findings("The pool is wide.") == RuleFindings()


def test_a_claim_that_is_a_line_is_settled_as_a_whole() -> None:
    assert findings(NOTHING, NOTHING) == RuleFindings(settled=((0, len(NOTHING)),), is_line=True)


def test_a_conflict_is_a_contradiction_unless_the_evidence_merely_lacks_an_address() -> None:
    (wrong,) = findings("The bridge is 42 miles long.", "The bridge is 42 km long.").conflicts
    assert wrong == Conflict(14, 22, ConflictKind.UNIT, Label.CONTRADICTED, PROBABILITY, 0.0)
    (lacked,) = findings("Write to pay@a.example.", "Write to hr@a.example.").conflicts
    assert (lacked.kind, lacked.label) == (ConflictKind.REFERENCE, Label.UNSUPPORTED)


def test_what_only_stands_nowhere_needs_the_doubt_of_the_model() -> None:
    (number,) = findings("The choir has 48 members.", "The choir has 84 members.").conflicts
    assert (number.kind, number.floor > 0) == (ConflictKind.NUMBER, True)
    (turned,) = findings("The pool is not heated.", "The pool is heated.").conflicts
    assert (turned.kind, turned.floor) == (ConflictKind.NEGATION, 0)


def test_conflicts_are_in_reading_order() -> None:
    found = findings(
        "The bridge is 42 miles long and has 48 lamps.",
        "The bridge is 42 km long and has 84 lamps.",
    ).conflicts
    assert [each.kind for each in found] == [ConflictKind.UNIT, ConflictKind.NUMBER]


def test_findings_move_to_where_the_claim_stands() -> None:
    conflict = Conflict(1, 3, ConflictKind.UNIT, Label.CONTRADICTED, 0.6)
    places = [0, 2, 5, 6]
    moved = RuleFindings((conflict,), ((0, 2),)).moved(places)
    assert [(each.start, each.end) for each in moved.conflicts] == [(2, 6)]
    assert moved.settled == ((0, 3),)


# Whatever the text.


@settings(derandomize=True)
@given(TEXTS, SOURCES)
def test_whatever_the_text_findings_lie_in_the_claim(claim: str, sources: list[str]) -> None:
    basis = basis_of(*sources)
    for lines in (best_lines(claim, basis), list(basis.readings[:MAX_LINES])):
        found = find(claim, lines, basis)
        places = [(each.start, each.end) for each in found.conflicts]
        assert places == sorted(places)
        for start, end in (*places, *found.settled):
            assert 0 <= start < end <= len(claim)
            assert claim[start:end].strip()
        assert not any(a < d and c < b for a, b in places for c, d in found.settled)


@settings(costly(0.8), derandomize=True)
@given(TEXTS, SOURCES, st.randoms(use_true_random=False))
def test_the_order_of_all_lines_does_not_matter(
    claim: str, sources: list[str], random: Random
) -> None:
    basis = basis_of(*sources)
    lines = best_lines(claim, basis)
    readings = list(basis.readings)
    random.shuffle(readings)
    assert find(claim, lines, basis_of_lines(readings)) == find(claim, lines, basis)


@settings(derandomize=True)
@given(SENTENCES, st.lists(SENTENCES, max_size=3))
def test_no_rule_finds_a_sentence_wrong_that_is_a_line(claim: str, others: list[str]) -> None:
    basis = basis_of_lines([*others, claim])
    lines = tuple(map(basis.text, best_lines(claim, basis)))
    assert [found for rule in RULES for found in rule(ComparedText(claim), lines, basis)] == []


@settings(costly(0.5), derandomize=True)
@given(TEXTS, SOURCES)
def test_a_line_of_any_kind_is_in_no_conflict(text: str, sources: list[str]) -> None:
    basis = basis_of(text, *sources)
    for claim in basis.readings:
        found = find(claim, best_lines(claim, basis), basis)
        assert found == RuleFindings(settled=((0, len(claim)),), is_line=True)


# Hostile texts: twice as much takes twice the work. Calls are counted; a single one, of a pattern,
# is bounded by processor time, far above what it takes.

BOUND_S = 20


def work(claim: str, basis: Basis, lines: list[str]) -> int:
    """How many calls of functions it takes to hold a claim against lines."""
    count = 0

    def calls(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    fresh = Basis(basis.readings, basis.stated)
    before = sys.getprofile()
    sys.setprofile(calls)
    try:
        find(claim, lines, fresh)
    finally:
        sys.setprofile(before)
    return count


LINE = "The river is 42 km long, and Abc was defeated by Xyz; it rose in March, not in May."
HOSTILE: dict[str, Callable[[int], str]] = {
    "commas": lambda n: "," * n,
    "lists": lambda n: ("a, b and " * n)[:n],
    "list without an end": lambda n: ("a, " * n)[:n],
    "items": lambda n: (("x" * 60 + ", ") * n)[:n],
    "capitals": lambda n: ("Abc " * n)[:n],
    "names": lambda n: ("Alpha, Beta and Gamma " * n)[:n],
    "digits": lambda n: "1" * n,
    "numbers": lambda n: " ".join(f"{i}" for i in range(1000, 1000 + n // 5)),
    "prices": lambda n: ("$3 " * n)[:n],
    "about": lambda n: ("about 20,000 " * n)[:n],
    "negations": lambda n: ("it did not run. " * n)[:n],
    "superlatives": lambda n: ("most " * n)[:n],
    "ranks": lambda n: ("the second longest " * n)[:n],
    "acts": lambda n: ("Abc defeated Xyz " * n)[:n],
    "days": lambda n: ("Monday " * n)[:n],
    "brackets": lambda n: "(" * n,
    "cells": lambda n: ("a: b; " * n)[:n],
    "spaces": lambda n: " " * n,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_claim_takes_work_that_grows_no_faster_than_it(kind: str) -> None:
    def of(n: int) -> int:
        claim = HOSTILE[kind](n)
        line = f"{claim} so"  # nearly the same, for a claim that is a line is not looked at
        alone, alike = basis_of_lines([LINE]), basis_of_lines([line])
        return work(claim, alone, [LINE]) + work(claim, alike, [line]) + work(LINE, alike, [line])

    began = time.process_time()
    assert of(10_000) <= 2.5 * of(5_000) + 1_000
    assert time.process_time() - began < BOUND_S


TABLES_AND_FIELDS: dict[str, Callable[[int], list[str]]] = {
    "rows": lambda n: [f"Item: thing {i}; Price: ${i}; Colour: red{i}" for i in range(n)],
    "wide rows": lambda n: [
        f"Item: thing {row}; " + "; ".join(f"c{i}: {i}x{row}" for i in range(n)) for row in range(3)
    ],
    "fields": lambda n: [f"x{i}: false" for i in range(n)],
    "fields of one name": lambda n: [f"at {i} x: false" for i in range(n)],
}


@pytest.mark.parametrize("kind", TABLES_AND_FIELDS)
@pytest.mark.parametrize(
    "claim",
    ["The price of thing 7 is $9, its colour red8, c5 4x2.", "It has x7 and x.", "x " * 2_000],
)
def test_large_evidence_takes_work_that_grows_no_faster_than_it(kind: str, claim: str) -> None:
    def of(n: int) -> int:
        readings = TABLES_AND_FIELDS[kind](n)
        return work(claim, Basis(readings, QuantityIndex.of([])), readings[:MAX_LINES])

    assert of(5_000) <= 2.5 * of(2_500) + 1_000


def test_a_label_of_the_evidence_in_brackets_follows_from_it() -> None:
    source = "FIN-08 Travel. First class is allowed for trips longer than four hours."
    claim = "You may travel first class on trips of five hours [{}]."
    for label, is_settled in (("FIN-08", True), ("FIN-09", False)):
        text = claim.format(label)
        settled = [text[start:end] for start, end in findings(text, source).settled]
        assert (label in settled) is is_settled
