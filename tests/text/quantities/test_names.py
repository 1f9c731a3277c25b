"""Digits that name something, and idioms, count nothing."""

import pytest

from tests.text.quantities.stated import found, values


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
    ],
)
def test_digits_that_name_something_are_no_quantities(text: str) -> None:
    assert found(text) == []


def test_a_number_after_a_verb_that_looks_like_a_label_is_a_quantity() -> None:
    assert values("The report documents 1500 deaths.") == [1500.0]
    assert values("The report documents 1,500 deaths.") == [1500.0]


def test_list_markers_and_citations_are_no_quantities() -> None:
    assert values("1. Ten [1]\n2) 20 [2, 3]\n  3. 30") == [10.0, 20.0, 30.0]


def test_a_bracketed_number_of_json_data_is_a_quantity() -> None:
    assert values('{"stars": [4], "price":[5]}') == [4.0, 5.0]


def test_the_scale_of_a_rating_is_no_quantity() -> None:
    assert values("4.5 out of 5 stars, 3 stars out of five, 4/5") == [4.5, 3.0, 4.0]
