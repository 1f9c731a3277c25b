"""A sentence as clauses: what each negates, whether it holds, what speaks against it."""

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules.clauses import Clause, clauses_of, stem_of
from groundwire.text.vocabulary import opposites_of


def clauses(text: str) -> list[Clause]:
    return list(clauses_of(ComparedText(text)))


def clause(text: str) -> Clause:
    (found,) = clauses(text)
    return found


def words(text: str) -> list[str]:
    return [" ".join(word.text for word in each.all_words) for each in clauses(text)]


def test_a_sentence_is_cut_where_another_statement_begins() -> None:
    assert words("The pool is open, but the sauna is shut because pipes broke.") == [
        "The pool is open",
        "but the sauna is shut",
        "because pipes broke",
    ]
    assert words("It costs 1,200.50 euros.") == ["It costs 1 200 50 euros"]
    assert words("It is, and they are; so") == []  # nothing is said


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("The pool is not heated in winter", {"heate", "winte"}),
        ("No towels are given", {"towel", "given"}),
        ("It is false that towels are given", {"towel", "given"}),
        ("Not only towels are given", set()),
        ("It takes no longer than a year", set()),
        ("A no-brainer", set()),
    ],
)
def test_a_not_is_about_what_follows_and_some_say_no_not(text: str, negated: set[str]) -> None:
    assert clause(text).negated >= negated
    assert bool(clause(text).negations) is bool(negated)


@pytest.mark.parametrize(
    "text",
    [
        "The pool would be heated",
        "The pool lacks heat",
        "The pool is unheated",
        "The pool is heated until noon",
    ],
)
def test_what_holds_under_a_condition_or_denies_in_other_words_is_open(text: str) -> None:
    assert clause(text).is_open
    assert not clause("The pool is heated").is_open


def test_a_condition_that_follows_opens_what_stands_before_it() -> None:
    assert next(each.is_open for each in clauses("Add salt if you like pepper"))


def test_a_list_of_what_there_is_not_states_nothing() -> None:
    assert not clause("No towels").is_stated
    assert clause("No towels are given").is_stated
    assert clause("Towels cost extra").is_stated


def test_a_name_or_a_beginning_states_nothing() -> None:
    assert not clause("Aaron Hernandez").is_stated
    assert not clause("Using a large spoon").is_stated
    assert clause("Smoking is allowed").is_stated


def test_a_not_at_the_end_denies_what_stands_before_it() -> None:
    assert [each.is_elliptical for each in clauses("Some rooms have it; most rooms do not.")] == [
        False,
        True,
    ]


def test_two_clauses_are_alike_by_what_they_have_in_common() -> None:
    assert clause("The pool is heated").likeness(clause("The pool is heated")) == 1
    assert clause("The pool is heated").likeness(clause("The pool is wide")) == pytest.approx(1 / 3)
    # One word in common with a key says nothing.
    assert clause("The pool is heated").likeness(clause("pool")) == 0


def test_a_clause_speaks_against_another_by_a_not_or_an_opposite_and_not_by_both() -> None:
    def against(one: str, other: str) -> list[str]:
        return [word.text for word in clause(one).against(clause(other))]

    assert against("Sales did not rise", "Sales rose") == ["not", "rise"]
    assert against("The pool is open", "The pool is closed") == ["open"]
    assert against("The pool is not open", "The pool is closed") == []
    assert against("The pool is open", "The pool is open") == []
    assert against("All rooms are wide", "Some rooms are wide") == ["All"]
    assert against("Some rooms are wide", "All rooms are wide") == []


def test_an_irregular_past_has_the_stem_of_its_base() -> None:
    ran, run = ComparedText("ran run").words
    assert stem_of(ran) == stem_of(run) == "run"


def test_opposites_go_both_ways() -> None:
    assert opposites_of([("open", "shut"), ("open", "closed")]) == {
        "open": {"shut", "closed"},
        "shut": {"open"},
        "closed": {"open"},
    }
