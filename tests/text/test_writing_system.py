"""Which text the model can read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.writing_system import is_readable


@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        "Straße, naïve, Łódź, Ørsted",
        "H₂O at 20 °C",
        "5 µm",  # the micro sign is a letter, and stands for a Greek one
        "𝐄 = 𝐦𝐜²",  # mathematical letters are Latin ones
        "the 1st, 2nd and 3ʳᵈ",
        "1234 + 5 = 1239",
        "...",
        "",
        "😀🎉",
        "e\u0301a\u0308",  # combining accents
        "a\0b\u2028c",
    ],
)
def test_latin_letters_and_what_is_no_letter_can_be_read(text: str) -> None:
    assert is_readable(text)


@pytest.mark.parametrize(
    "text",
    [
        "北京是中国的首都。",
        "Москва",
        "Αθήνα",
        "القاهرة",
        "ירושלים",
        "東京",
        "서울",
        "กรุงเทพ",
        "In 北京是中国的首都。",
    ],
)
def test_other_scripts_cannot(text: str) -> None:
    assert not is_readable(text)


def test_a_name_in_another_script_leaves_a_sentence_readable() -> None:
    assert is_readable("The city of Beijing (北京) is the capital of China.")


def test_the_bound_is_thirty_percent_of_the_letters_and_inclusive() -> None:
    assert is_readable("abcdefg" + "яяя")  # 3 of 10
    assert not is_readable("abcdef" + "яяя")  # 3 of 9
    assert is_readable("abcdefg 123 456 !!! яяя")  # digits and signs do not count
    assert not is_readable("abcdef 123 456 !!! яяя")


@given(st.text())
def test_signs_and_digits_change_nothing(text: str) -> None:
    assert is_readable(text) == is_readable(f"12, 😀 {text} - 3")


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_always_readable(text: str) -> None:
    assert is_readable(text)
