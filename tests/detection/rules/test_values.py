"""Numbers, units, days and times that the evidence states otherwise; and what follows."""

import pytest

from groundwire.detection.rules import ConflictKind
from groundwire.detection.rules.values import days, values
from tests.detection.rules.against import settled, told, told_by

NUMBER, UNIT, DATE = ConflictKind.NUMBER, ConflictKind.UNIT, ConflictKind.DATE


@pytest.mark.parametrize(
    ("claim", "source", "kind", "words"),
    [
        ("The lake lies 1,847 m above the sea.", "The lake lies 1,487 m above the sea.", NUMBER,
         "1,847 m"),
        ("The choir has 48 members.", "The choir has 84 members.", NUMBER, "48"),
        ("The bridge is 42 miles long.", "The bridge is 42 km long.", UNIT, "42 miles"),
        ("The library opened on 15 December 1932.", "The library opened on 15 November 1932.", DATE,
         "15 December 1932"),
        ("The train leaves at 9:45.", "The train leaves at 8:45.", DATE, "9:45"),
        ("The office opens at 10 am.", "The office opens at 9.", DATE, "10 am"),
        ("The house has four bedrooms and two baths.",
         "The house has three bedrooms and two baths.", NUMBER, "four"),
        ("The Team plan costs $25 a month.",
         "The Team plan costs $12 a month. The Free plan has 3 projects.", NUMBER, "$25"),
        ("The Team plan costs $25.",
         "The Team plan costs $12 for 1 month. The Free plan has 3 projects.", NUMBER, "$25"),
        ("Since 2 May 1990, the hotel has 1,203 more rooms than the annex.",
         "Since 2 May 1990, the hotel has 1,200 more rooms than the annex.", NUMBER, "1,203"),
    ],
)  # fmt: skip
def test_a_value_in_whose_place_the_evidence_has_another_is_wrong(
    claim: str, source: str, kind: ConflictKind, words: str
) -> None:
    assert told_by(values, claim, source) == [(kind, words)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The bridge is 42 km long.", "The bridge is 42 kilometres long."),
        ("The bridge is 42,000 m long.", "The bridge is 42 km long."),
        ("The bridge is about 40 km long.", "The bridge is 42 km long."),
        ("Rainfall was 10 to 15 mm.", "Rainfall was 10-15 mm."),
        ("The train leaves at 8:45 PM.", "The train leaves at 20:45."),
        ("The office is open from 9 am to 5 pm.", "The office is open from 9 to 5."),
        ("The city has about 8.3 million inhabitants.", "The city has 8,336,817 inhabitants."),
        ("There are three ways to the house: by bus, by tram and on foot.",
         "There are two ways to the house by bus and tram, and one on foot."),
        ("The library opened in 1932.", "The library opened on 15 November 1932."),
        ("The lake lies 1,847 m above the sea.", "Cats are asleep for 16 hours a day."),
        ("The two plants employ 75 people.",
         "The first plant employs 30 people. The second plant employs 45 people."),
        ("30 + 45 = 76", "30 + 45 = 75"),
        ("The pod has failed for 14 minutes.", "STATUS ImagePullBackOff, failed 14m ago"),
        ("The pod failed 14m ago.", "The pod has failed for 14 minutes."),
        ("The loan runs for 12 months.", "The loan runs for 12m."),
        ("Three tickets cost $36.", "A ticket costs $12. Groups of 3 get a guide."),
        ("The ticket costs $9 more.", "The ticket costs $21. The child's ticket costs $12."),
    ],
)  # fmt: skip
def test_a_value_in_other_words_rounded_computed_or_unknown_is_left_alone(
    claim: str, source: str
) -> None:
    assert told_by(values, claim, source) == []


def test_a_value_that_stands_in_another_line_is_left_alone() -> None:
    lines = "The choir has 84 members. Of these 48 are members of the old choir."
    assert told_by(values, "The choir has 48 members.", lines) == []


@pytest.mark.parametrize(
    ("claim", "source", "words"),
    [
        ("The shop is closed on Tuesday mornings.", "The shop is closed on Monday mornings.",
         "Tuesday"),
        ("It is closed on Sundays.", "It is closed on Mondays.", "Sundays"),
        ("The fair opens every March.", "The fair opens every April.", "March"),
    ],
)  # fmt: skip
def test_a_day_in_whose_place_a_line_has_another_is_wrong(
    claim: str, source: str, words: str
) -> None:
    assert told_by(days, claim, source) == [(DATE, words)]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The shop is closed on Tuesday.", "The shop is closed on Mon and Tue."),
        ("The shop is closed on Tuesdays.", "The shop is closed on Mon and Tue."),
        (
            "The shop is open on Wednesdays.",
            "The shop is open from Monday to Friday, 9 am to 5 pm.",
        ),
        ("The shop is open on Tuesday.", "The shop is open Mon-Fri, on Sat till noon."),
        ("The shop is closed on Tuesdays.", "The shop is closed on a Tuesday."),
        ("The shop is closed on Monday and Sunday.", "The shop is closed on Sunday and Monday."),
        ("They march on Monday.", "They sing on Monday."),
        ("The shop is closed on Tuesday.", "In Monday's paper was a poem."),
    ],
)
def test_a_day_that_stands_anywhere_or_in_no_ones_place_is_left_alone(
    claim: str, source: str
) -> None:
    assert told(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "words"),
    [
        ("The bridge is about 40 km long.", "The bridge is 42 km long.", "40 km"),
        ("The plants employ 30 and 45 people, 75 in all.",
         "The first plant employs 30 people. The second plant employs 45 people.", "75"),
        ("3 tickets at $24 are $72.", "A ticket is $24. She bought 3 tickets.", "$72"),
        ("Between 1990 and 2005, 15 years passed.",
         "It was built in 1990 and closed in 2005.", "15 years"),
        ("Of 80 seats 20 are taken, which is 25%.", "20 of the 80 seats are taken.", "25%"),
        ("18 in 6,400 guests fell, 2.8 per 1,000.", "18 of 6,400 guests fell.", "2.8"),
        ("The rate was 2.8 falls per 1,000 guests.", "18 of 6,400 guests fell.", "1,000"),
    ],
)  # fmt: skip
def test_a_number_that_follows_is_settled(claim: str, source: str, words: str) -> None:
    assert words in settled(claim, source)
    assert told(claim, source) == []


def test_what_it_is_computed_from_is_settled_with_it() -> None:
    source = "Of the 200 patients in the trial, 50 reported mild headaches."
    assert settled("50 of 200 patients or 25% had headaches.", source) == ["50", "200", "25%"]
    assert settled("50 of 200 patients had colds.", source) == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The bridge is 40 km long.", "The bridge is 42 km long."),  # says not that it is rounded
        ("The bridge is about 50 km long.", "The bridge is 42 km long."),
        ("The plants employ 30 and 45 people, 85 in all.",
         "The first plant employs 30 people. The second plant employs 45 people."),
        ("The bridge is 42 km long and low.", "The bridge is 42 km long."),  # it stands there
        ("The rate was 3.8 falls per 1,000 guests.", "18 of 6,400 guests fell."),
        ("Of 30, 45 and 60-75 people some left.", "There were 30, 45 and 60-70 people."),
    ],
)  # fmt: skip
def test_no_other_number_is_settled(claim: str, source: str) -> None:
    assert settled(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "words"),
    [
        ("You are at the lake at 9:50.", "The bus leaves at 9:10 and takes 40 minutes.", "9:50"),
        ("Leave the room by 10:30.", "Check-out is at 11:00; tidy up 30 minutes before.", "10:30"),
        ("So far 20 days were taken.", "Leave: 9 days in April, 11 days in August.", "20 days"),
    ],
)
def test_a_time_that_is_so_much_later_and_a_sum_are_settled(
    claim: str, source: str, words: str
) -> None:
    assert words in settled(claim, source)
    assert told(claim, source) == []


PRICES = "Express shipping costs €12.90.", "Otherwise the customer pays €3.50."
MORE = tuple(f"Members of club {n} pay €{20 * n} a year." for n in range(3, 17))


@pytest.mark.parametrize("others", [(), ("Standard shipping costs €4.95.",), MORE])
def test_a_sum_of_the_claim_before_follows_whatever_else_the_evidence_says(
    others: tuple[str, ...],
) -> None:
    before = "Express shipping was €12.90 and the return costs €3.50."
    right, wrong = "In total, she pays €16.40.", "In total, she pays €17.40."
    assert settled(right, *PRICES, *others, before=before) == ["€16.40"]
    assert settled(wrong, *PRICES, *others, before=before) == []


def test_a_number_that_the_best_lines_give_is_not_wrong_in_long_evidence() -> None:
    claim = "The customer pays €{} otherwise for express shipping."
    assert told_by(values, claim.format("9.40"), *PRICES) == []  # the difference is €9.40
    assert told_by(values, claim.format("9.40"), *PRICES, *MORE) == []
    assert told_by(values, claim.format("8.40"), *PRICES, *MORE) == [(NUMBER, "€8.40")]
