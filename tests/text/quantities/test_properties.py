"""What holds for any text, and how long it takes."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.text.quantities import Match, QuantityIndex, quantities
from tests.text.quantities.stated import matches

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


_HOSTILE = [
    "1", ",", "1,", "1,234,", ",234", "1.1", "1-", "1:", "a1-", "one ", "$", "-", "[1,", " ",
    "March ", "twenty-", "+1", "1/", "(1", "1 1 1 ", "\u00a0111", "A-", "é", "_", "5 sq. sq ",
    "1e", ".1", "5 h ", "1 and ", "passage 1, ", "a hundred and ", "5'", "\n- ",
]  # fmt: skip


@pytest.mark.merge  # every piece takes about a second
@pytest.mark.parametrize("piece", _HOSTILE)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        # Of this thread alone: what else the machine does is no part of it.
        start = time.thread_time()
        quantities(text)
        return time.thread_time() - start

    # 32 times the text may take 200 times as long beside others; quadratic would be 1,024.
    small = min(seconds(1_000) for _ in range(5))
    assert min(seconds(32_000) for _ in range(3)) <= 200 * small + 0.05
