"""Numbers, times and dates: what is found in a text, and what counts as the same."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.quantities import Kind, Match, Quantity, QuantityIndex, quantities


def found(text: str) -> list[tuple[str, object, str | None]]:
    """What stands there, its value and its unit."""
    return [(text[q.start : q.end], q.value, q.unit) for q in quantities(text)]


def values(text: str) -> list[object]:
    return [q.value for q in quantities(text)]


def matches(evidence: str, answer: str) -> list[Match]:
    index = QuantityIndex.of(quantities(evidence))
    return [index.match(quantity) for quantity in quantities(answer)]


# -- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1234", "1,234", "1\u00a0234", "1\u202f234", "1234.0", "1.234k"])
def test_a_number_may_be_grouped_in_several_ways(text: str) -> None:
    assert values(text) == [1234.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.5", 3.5),
        (".5", 0.5),
        ("-5", -5.0),
        ("−7.5", -7.5),
        ("1e6", 1e6),
        ("1/2", 0.5),
        ("1 1/2", 1.5),
        ("2½", 2.5),
        ("4th", 4.0),
        ("1990s", 1990.0),
        ("1.2 million", 1.2e6),
        ("1.2M", 1.2e6),
        ("4K", 4000.0),
        ("5bn", 5e9),
        ("three hundred thousand", 300_000.0),
        ("two hundred and five", 205.0),
        ("twenty-five", 25.0),
        ("a dozen", 12.0),
        ("two-thirds", 2 / 3),
    ],
)
def test_a_number_is_read_as_its_value(text: str, value: float) -> None:
    assert values(text) == [value]


def test_a_hyphen_after_a_word_or_a_number_is_no_minus() -> None:
    assert values("pre-1990, 10-12, top-5") == [1990.0, 10.0, 12.0, 5.0]


@pytest.mark.parametrize("text", ["one of them", "No one came", "one day", "first and second"])
def test_one_alone_and_ordinal_words_are_no_quantities(text: str) -> None:
    assert found(text) == []


def test_one_with_a_unit_or_a_star_is_a_quantity() -> None:
    assert found("one hour, one star") == [("one hour", 3600.0, "s"), ("one", 1.0, None)]


@pytest.mark.parametrize(
    "text",
    [
        "v2.3.1",
        "1.2.3",
        "192.168.0.1",
        "ISBN 978-3-16-148410-0",
        "978-3-16-148410-0",
        "(805) 963-1234",
        "805-963-1234",
        "+1 805 963 1234",
        "555-1234",
        "AB-1234",
        "COVID-19",
        "S0",
        "MP3",
        "5ab",
        "4x4",
        "a_1",
        "https://example.org/2015/03/31?page=4",
        "passage 2",
        "Sources 1 and 3",
        "step 4",
        "24/7",
        "seven days a week",
        "&#160;",
    ],
)
def test_digits_that_name_something_are_no_quantities(text: str) -> None:
    assert found(text) == []


def test_list_markers_and_citations_are_no_quantities() -> None:
    assert values("1. Ten [1]\n2) 20 [2, 3]\n  3. 30") == [10.0, 20.0, 30.0]


def test_a_bracketed_number_of_json_data_is_a_quantity() -> None:
    assert values('{"stars": [4], "price":[5]}') == [4.0, 5.0]


def test_the_scale_of_a_rating_is_no_quantity() -> None:
    assert values("4.5 out of 5 stars, 3 stars out of five, 4/5") == [4.5, 3.0, 4.0]


def test_more_than_thirty_digits_are_no_quantity() -> None:
    assert found("9" * 30) != []
    assert found("9" * 31) == []


# -- units ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["$5", "US$5", "5 dollars", "USD 5", "5 USD", "$5.00", "500 cents", "5 US dollars"]
)
def test_a_currency_may_stand_before_or_after(text: str) -> None:
    assert found(text) == [(text, 5.0, "usd")]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5%", 5.0, "%"),
        ("5 per cent", 5.0, "%"),
        ("$1.2 million", 1.2e6, "usd"),
        ("£5m", 5e6, "gbp"),
        ("5 million pounds", 5e6, "gbp"),
        ("0.33 km", 330.0, "m"),
        ("330-metre", 330.0, "m"),
        ("5kg", 5.0, "kg"),
        ("4 h 23", 15780.0, "s"),
        ("1 hour and 20 minutes", 4800.0, "s"),
        ("5'8\"", 1.7272, "m"),
        ("5 feet 8 inches", 1.7272, "m"),
        ("3 m²", 3.0, "m2"),
        ("2 square kilometres", 2e6, "m2"),
        ("1 litre", 1.0, "l"),
        ("36 km/h", 10.0, "m/s"),
        ("32 °F", 0.0, "°C"),
        ("2 GB", 2e9, "B"),
        ("1 kWh", 3.6e6, "J"),
        ("1.5 MW", 1.5e6, "W"),
    ],
)
def test_an_amount_is_converted_to_its_base_unit(text: str, value: float, unit: str) -> None:
    [quantity] = quantities(text)
    assert (quantity.start, quantity.end, quantity.unit) == (0, len(text), unit)
    assert quantity.value == pytest.approx(value)


def test_words_that_only_look_like_units_are_none() -> None:
    assert found("5 in the morning, 1736 C Street") == [("5", 5.0, None), ("1736", 1736.0, None)]


def test_an_age_is_a_bare_number() -> None:
    assert found("15-year-old, 15 years old, aged 15") == [
        ("15-year-old", 15.0, None),
        ("15 years old", 15.0, None),
        ("15", 15.0, None),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1887-1889", [(1887.0, None), (1889.0, None)]),
        ("10-12 km", [(10_000.0, "m"), (12_000.0, "m")]),
        ("10 to 12 percent", [(10.0, "%"), (12.0, "%")]),
        ("between 2 and 3 million", [(2e6, None), (3e6, None)]),
        ("$5-10 million", [(5e6, "usd"), (1e7, "usd")]),
        ("$10-15", [(10.0, "usd"), (15.0, "usd")]),
    ],
)
def test_the_ends_of_a_range_share_unit_and_magnitude(
    text: str, expected: list[tuple[float, str | None]]
) -> None:
    assert [(q.value, q.unit) for q in quantities(text)] == expected


# -- times and dates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("16:30", 16.5),
        ("4:30 PM", 16.5),
        ("4:30 p.m.", 16.5),
        ("9 PM", 21.0),
        ("9pm", 21.0),
        ("21:0", 21.0),
        ("12 AM", 0.0),
        ("12:15 PM", 12.25),
        ("noon", 12.0),
        ("midnight", 0.0),
        ("0:0", 0.0),
        ("24:00", 0.0),
        ("nine o'clock", 9.0),
    ],
)
def test_a_time_is_its_minute_of_the_day(text: str, hours: float) -> None:
    [quantity] = quantities(text)
    assert (quantity.kind, quantity.value, quantity.end) == (Kind.TIME, hours * 60, len(text))


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("16:30-21:0", [16.5, 21]),
        ("9-11 PM", [21, 23]),
        ("from 9 to 5 PM", [9, 17]),
        ("11:30-2 PM", [11.5, 14]),
        ("9 PM - 12 AM", [21, 0]),
    ],
)
def test_the_ends_of_opening_hours_are_two_times(text: str, hours: list[float]) -> None:
    assert values(text) == [hour * 60 for hour in hours]


@pytest.mark.parametrize(
    "text",
    [
        "March 31, 1945",
        "March 31st, 1945",
        "31 March 1945",
        "31st of March 1945",
        "Mar. 31, 1945",
        "1945-03-31",
        "03/31/1945",
        "31.03.1945",
        "1945, March 31",
        "31 march 1945",
    ],
)
def test_a_date_may_be_written_in_many_ways(text: str) -> None:
    assert [(q.kind, q.value, q.end) for q in quantities(text)] == [
        (Kind.DATE, (1945, 3, 31), len(text))
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Mar. 31", (None, 3, 31)),
        ("March 1945", (1945, 3, None)),
        ("July 20", (None, 7, 20)),
        ("July 2020", (2020, 7, None)),
        ("4th of July", (None, 7, 4)),
    ],
)
def test_what_a_date_does_not_state_is_none(text: str, value: object) -> None:
    assert values(text) == [value]


def test_a_date_and_a_time_together_are_two_quantities() -> None:
    assert values("2022-07-25 05:07") == values("2022-07-25T05:07Z") == [(2022, 7, 25), 307.0]


def test_the_days_of_a_range_share_the_month() -> None:
    expected = [(2015, 3, 29), (2015, 3, 31)]
    assert values("29-31 March 2015") == values("March 29-31, 2015") == expected


def test_may_is_a_month_only_where_a_date_stands() -> None:
    assert values("May 5") == [(None, 5, 5)]
    assert values("8 may be enough") == [8.0]


# -- comparing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("1,234 people", "1234 people"),
        ("two dozen", "24"),
        ("$1.2 million", "1,200,000 dollars"),
        ("330 m", "0.33 km"),
        ("2 hours", "120 minutes"),
        ("5 kg", "5000 g"),
        ("1 mile", "1.61 km"),
        ("100 °F", "38 °C"),
        ("165 degrees", "165°F"),
        ("12 months", "1 year"),
        ("March 31, 1945", "1945"),
        ("March 31, 1945", "31st"),
        ("the 1990s", "1990"),
        ("sleep: 4:23", "4 h 23"),
    ],
)
def test_the_same_amount_in_other_words_is_equal(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.EQUAL]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("5 kg", "5 km"),
        ("5", "5 kg"),
        ("5 kg", "5"),
        ("$5", "€5"),
        ("20 °C", "20 °F"),
        ("9:0", "9"),
    ],
)
def test_the_same_number_with_another_unit_is_told_apart(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.UNIT_DIFFERS]


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("5", "6"),
        ("5", "-5"),
        ("1.60 km", "1.61 km"),  # the same unit: nothing was converted, so nothing was rounded
        ("1 mile", "1.63 km"),
        ("March 31, 1945", "1946"),
        ("", "7"),
    ],
)
def test_another_number_is_absent(evidence: str, answer: str) -> None:
    assert matches(evidence, answer) == [Match.ABSENT]


def test_times_are_compared_as_minutes() -> None:
    assert matches("16:30-21:0", "4:30 PM to 10 PM") == [Match.TIME_EQUAL, Match.TIME_ABSENT]
    assert matches("2022-07-25 05:07:26", "5:07 AM") == [Match.TIME_EQUAL]


@pytest.mark.parametrize(
    ("evidence", "answer", "expected"),
    [
        ("March 31, 1945", "31 March", Match.DATE_EQUAL),
        ("March 31, 1945", "March 1945", Match.DATE_EQUAL),
        ("March 31, 1945", "April 1, 1945", Match.DATE_PARTLY),
        ("March 31", "March 31, 1945", Match.DATE_PARTLY),  # the year is stated nowhere
        ("in 1945", "March 31, 1945", Match.DATE_PARTLY),
        ("May 5 and March 31, 1945", "May 31, 1946", Match.DATE_PARTLY),
        ("March 31, 1945", "May 2, 1946", Match.DATE_ABSENT),
    ],
)
def test_a_date_is_equal_when_every_part_it_states_is(
    evidence: str, answer: str, expected: Match
) -> None:
    assert matches(evidence, answer) == [expected]


def test_the_codes_of_matches_are_fixed() -> None:
    # Weights are trained on them.
    assert {match.name: int(match) for match in Match} == {
        "NONE": 0,
        "EQUAL": 1,
        "UNIT_DIFFERS": 2,
        "ABSENT": 3,
        "TIME_EQUAL": 4,
        "TIME_ABSENT": 5,
        "DATE_EQUAL": 6,
        "DATE_PARTLY": 7,
        "DATE_ABSENT": 8,
    }


# -- properties -------------------------------------------------------------------------------

_PIECES = (
    "1 23 456 2015 0 9 . , - – / : $ € % ° C km million k M March may th am p.m. PM one twenty "
    "hundred and a dozen to ( ) [ ] T Z v ½ 's e5 half thirds ² ٣ ³ of US sq. ft noon Rs. + ' \" "
    "ſix fıve mıllion thİrds K out of 5 years old h min feet"
)
quantity_like = st.lists(
    st.sampled_from([*_PIECES.split(" "), " ", "\n", "\u00a0"]), max_size=20
).flatmap(lambda pieces: st.sampled_from(["", " "]).map(lambda glue: glue.join(pieces)))
texts = st.text() | quantity_like


@given(texts)
@example("ſix fıve mıllion two thİrds mİdnight")
@example("\ud800 5 \udfff")
def test_quantities_lie_in_the_text_in_order_and_apart(text: str) -> None:
    last = 0
    for quantity in quantities(text):
        assert last <= quantity.start < quantity.end <= len(text)
        assert text[quantity.start : quantity.end].strip() == text[quantity.start : quantity.end]
        last = quantity.end


@given(texts)
def test_a_text_agrees_with_itself(text: str) -> None:
    equal = {Match.EQUAL, Match.TIME_EQUAL, Match.DATE_EQUAL}
    assert set(matches(text, text)) <= equal


@given(st.integers(0, 10**12), st.data())
def test_a_number_formatted_in_any_way_matches_itself(number: int, data: st.DataObject) -> None:
    ways = [f"{number}", f"{number:,}", f"{number:,}".replace(",", "\u202f"), f"{number}.0"]
    evidence, answer = data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(ways))
    assert matches(f"There were {evidence} of them.", f"It had {answer}.") == [Match.EQUAL]


@given(st.dates(), st.data())
def test_a_date_formatted_in_any_way_matches_itself(date: object, data: st.DataObject) -> None:
    formats = ["%B %d, %Y", "%d %B %Y", "%d %b %Y", "%b. %d, %Y"]
    if not 1000 <= date.year <= 2999:  # type: ignore[attr-defined]
        return
    evidence, answer = (
        format(date, data.draw(st.sampled_from(formats))).replace("May.", "May") for _ in range(2)
    )
    assert matches(f"on {evidence}", f"since {answer}") == [Match.DATE_EQUAL]


@given(st.lists(texts, max_size=4), texts)
def test_a_joined_index_answers_like_one_built_at_once(passages: list[str], answer: str) -> None:
    joined = QuantityIndex.union(QuantityIndex.of(quantities(passage)) for passage in passages)
    at_once = QuantityIndex.of(found for passage in passages for found in quantities(passage))
    assert len(joined) == len(at_once)
    for quantity in quantities(answer):
        assert joined.match(quantity) == at_once.match(quantity)


def test_a_quantity_can_be_built_by_hand() -> None:
    index = QuantityIndex.of([Quantity(0, 1, Kind.NUMBER, 5.0, None, 5.0)])
    assert index.match(Quantity(7, 8, Kind.NUMBER, 5.0, None, 5.0)) == Match.EQUAL


_HOSTILE = [
    "1", ",", "1,", "1,234,", ",234", "1.1", "1-", "1:", "a1-", "one ", "$", "-", "[1,", " ",
    "March ", "twenty-", "+1", "1/", "(1", "1 1 1 ", "\u00a0111", "A-", "é", "_", "5 sq. sq ",
    "1e", ".1", "5 h ", "1 and ", "passage 1, ", "a hundred and ", "5'", "\n- ",
]  # fmt: skip


@pytest.mark.parametrize("piece", _HOSTILE)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.perf_counter()
        quantities(text)
        return time.perf_counter() - start

    # 32 times the text may take 200 times as long on a busy machine; quadratic would be 1,024.
    small = min(seconds(1_000) for _ in range(5))
    assert min(seconds(32_000) for _ in range(2)) <= 200 * small + 0.05
