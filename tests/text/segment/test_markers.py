"""Marks at the start of a line: lists, headings, tables, code."""

import pytest

from groundwire.text.segment import segment
from tests.text.segment.pieces import claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. Mix it. Stir.\n2. Bake it.\n10) Eat it.",
         ["Mix it.", "Stir.", "Bake it.", "Eat it."]),
        ("- one\n* two\n+ three\n  • four", ["one", "two", "three", "four"]),
        ("a) one\nb) two\n(c) three\n(12) four\niv) five\nb. six",
         ["one", "two", "three", "four", "five", "six"]),
        ("- 1. one\n> - two", ["one", "two"]),
        ("Steps: 1. Mix. 2. Bake.", ["Steps: 1. Mix.", "2. Bake."]),
        ("A. The first. B. The second.", ["A. The first.", "B. The second."]),
    ],
)  # fmt: skip
def test_a_list_item_is_its_own_claim_without_its_marker(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize("text", ["42.", "42.\n", "7)", "1889. The year.", "-5 degrees", "1.5 m"])
def test_what_only_looks_like_a_marker_is_a_claim(text: str) -> None:
    assert "".join(claims(text)).startswith(text.split()[0])


def test_marks_of_headings_and_quotes_are_gaps() -> None:
    assert claims("# The tower\nis tall\n### 2. Its height\n> It is tall. Very.\n#hashtag") == [
        "The tower",
        "is tall",
        "Its height",
        "It is tall.",
        "Very.",
        "#hashtag",
    ]


def test_each_row_of_a_table_is_a_claim() -> None:
    table = "| Name | Height. Of it |\n|---|:-:|\n| Eiffel. Tower | 330 m [1] |\n\nNext. One"
    assert claims(table) == [
        "Name | Height. Of it",
        "Eiffel. Tower | 330 m [1]",
        "Next.",
        "One",
    ]
    assert segment(table)[1].citations[0].ids == ("1",)


def test_each_line_of_fenced_code_is_a_claim_and_the_fence_a_gap() -> None:
    code = "Run:\n```python\na = b. C[0]\n\n  return. Now\n```\nIt works. Yes."
    assert claims(code) == ["Run:", "a = b. C[0]", "return. Now", "It works.", "Yes."]
    assert segment(code)[1].citations == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~~~\na. B\n```\n~~~~\nSo. Yes", ["a. B", "So.", "Yes"]),
        ("````\n```\na. B\n```\n````\nSo. Yes", ["a. B", "So.", "Yes"]),
        ("```a. B``` is code. Yes", ["```a. B``` is code.", "Yes"]),
        ("```The tower is tall\na. B\n```\nSo. Yes", ["The tower is tall", "a. B", "So.", "Yes"]),
        ("```python", []),
        ("```\na. B", ["a. B"]),
        ("> ```\n> a. B\n> ```\n> So. Yes", ["a. B", "So.", "Yes"]),
    ],
)
def test_a_fence_ends_at_its_like_and_hides_no_statement(text: str, expected: list[str]) -> None:
    assert claims(text) == expected
