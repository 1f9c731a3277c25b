"""Which line breaks end a claim."""

import pytest

from tests.text.segment.pieces import claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A tower\nA bridge", ["A tower", "A bridge"]),
        ("The tower is\nvery tall.\nIt is iron.", ["The tower is\nvery tall.", "It is iron."]),
        ("The tower\n\nis tall", ["The tower", "is tall"]),
        ("The tower\r\n\r\nis tall", ["The tower", "is tall"]),
        ("The tower\r\nis tall", ["The tower\r\nis tall"]),
        ("Closed.\nopen", ["Closed.", "open"]),
        ("We need:\nflour\nand sugar", ["We need:", "flour\nand sugar"]),
        ("name: Bob\nage: 5\nhome.town: Rome", ["name: Bob", "age: 5", "home.town: Rome"]),
        ("Approx.\nfive", ["Approx.\nfive"]),
        ("It was built by the\nEiffel company.", ["It was built by the\nEiffel company."]),
        ("Iron, stone,\n`Wood` and the\n18 men", ["Iron, stone,\n`Wood` and the\n18 men"]),
        ("Tea and\n- milk", ["Tea and", "milk"]),
        ("Tea and\n2. Milk", ["Tea and", "Milk"]),
        ("Tea and\nMilk: cold", ["Tea and", "Milk: cold"]),
        ("Tea and\n```\nx = 1\n```", ["Tea and", "x = 1"]),
        ('"a": true,\n"b": 5', ['"a": true,', '"b": 5']),
        ("name | age\nbob | 5\nx = 1\ny,2", ["name | age", "bob | 5", "x = 1", "y,2"]),
        ("A\u2028B\u2029C\x85D\x0bE", ["A", "B", "C", "D", "E"]),
        ("A claim\n---\n***\nanother", ["A claim", "another"]),
    ],
)
def test_a_line_break_ends_a_claim_unless_the_next_line_goes_on(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected
