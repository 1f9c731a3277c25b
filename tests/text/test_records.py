"""Data in a text is recognised, and each of its values found where it was written."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.records import decode, fields_of, words_of_key
from tests.json_values import json_data


def is_json(text: str) -> bool:
    return fields_of(text) is not None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("RestaurantsTakeOut", "Restaurants Take Out"),
        ("review_text", "review text"),
        ("content-type", "content type"),
        ("user.firstName", "user first Name"),
        ("HTTPServer", "HTTP Server"),
        ("WiFi", "WiFi"),
        ("FreeWiFi", "Free WiFi"),
        ("iPhone", "iPhone"),
        ("ByAppointmentOnly", "By Appointment Only"),
        ("2024-03-10", "2024-03-10"),
        ("pm2.5", "pm2.5"),
        ("U.S. population", "U.S. population"),
        ("__", ""),
    ],
)
def test_keys_are_written_as_words(key: str, words: str) -> None:
    assert words_of_key(key) == words


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1} and more',
        '{"a": 1',
        '{"a": 1}}',
        '{"a" 1}',
        '{"a": 1, 2}',
        "[1, two]",
        "[1 2]",
        '["open]',
        "[1)",
        '{"a": 1} {"b": 2}',
        '"text"',
        "(1, 2)",
        "42",
        "",
    ],
)
def test_what_is_not_data_as_a_whole_is_none(text: str) -> None:
    assert not is_json(text)


@pytest.mark.parametrize("text", ["\ufeff [1]", "{'a': (1, 2,),}", "[NaN, -Infinity, .5, 1.]"])
def test_slips_that_programs_make_are_forgiven(text: str) -> None:
    assert is_json(text)


def leaves(data: object) -> list[object]:
    if isinstance(data, dict) and data:
        return [leaf for value in data.values() for leaf in leaves(value)]
    if isinstance(data, list) and data:
        return [leaf for value in data for leaf in leaves(value)]
    return [data]


@given(json_data, st.sampled_from([None, 0, 2]), st.booleans())
def test_every_value_of_json_is_found_at_its_offsets(
    data: object, indent: int | None, is_ascii: bool
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=is_ascii)
    fields = fields_of(text)
    assert fields is not None
    values = [json.loads(text[field.value_start : field.end]) for field in fields]
    assert values == leaves(data)
    for field, value in zip(fields, values, strict=True):
        if isinstance(value, str):
            decoded = decode(text, field.value_start, field.end)
            assert decoded.text == value
            origins = [decoded.origin(i) for i in range(len(value) + 1)]
            assert (origins[0], origins[-1]) == (field.value_start + 1, field.end - 1)
            pieces = [text[a:b] for a, b in pairwise(origins)]
            assert [json.loads(f'"{piece}"') for piece in pieces] == list(value)


@given(json_data)
def test_the_python_form_is_read_to_the_same_values(data: object) -> None:
    text = str(data)
    fields = fields_of(text)
    assert fields is not None
    found = [decode(text, f.value_start, f.end).text for f in fields if f.kind == "string"]
    assert found == [leaf for leaf in leaves(data) if isinstance(leaf, str)]
