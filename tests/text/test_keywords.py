from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.keywords import PatternError, compile_pattern, folded, has_pattern, has_word


def found(text: str, word: str, *, is_case_sensitive: bool = False) -> bool:
    text = folded(text, is_case_sensitive=is_case_sensitive)
    return has_word(text, folded(word, is_case_sensitive=is_case_sensitive))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("This is URGENT!", "urgent"),
        ("urgent", "urgent"),
        ("illegal, then legal", "legal"),
        ("STRASSE", "straße"),
        ("cafe\u0301 noir", "café"),
        ("ｆｕｌｌ width", "full"),
        ("I write C++.", "c++"),
        ("我住在北京市", "北京"),
        ("my credit card number", "credit card"),
        ("ПРИВЕТ, мир", "привет"),
    ],
)
def test_a_word_is_found(text: str, word: str) -> None:
    assert found(text, word)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("illegal", "legal"),
        ("legally", "legal"),
        ("legal_id", "legal"),
        ("legal2", "legal"),
        ("credit my card", "credit card"),
        ("कि", "क"),  # a vowel sign makes another syllable of it
        ("", "a"),
    ],
)
def test_a_word_within_another_is_not_found(text: str, word: str) -> None:
    assert not found(text, word)


def test_case_counts_if_it_should() -> None:
    assert found("ask IT", "IT", is_case_sensitive=True)
    assert not found("ask it", "IT", is_case_sensitive=True)


@given(st.text(), st.text(min_size=1))
def test_a_word_that_stands_alone_is_found_whatever_it_is(text: str, word: str) -> None:
    if folded(word, is_case_sensitive=False):
        assert found(f"{text} \n{word}\n {text}", f"\n{word}\n")


def test_a_pattern_is_found_anywhere_and_without_case() -> None:
    assert has_pattern("call 555-1234", r"\d{3}-\d{4}", is_case_sensitive=False)
    assert has_pattern("URGENTLY", "urgent", is_case_sensitive=False)
    assert not has_pattern("URGENTLY", "urgent", is_case_sensitive=True)


def test_time_grows_with_the_length_of_the_text_alone() -> None:
    start = process_time()
    assert not has_pattern("a" * 200_000 + "b", r"(a+)+$", is_case_sensitive=True)
    assert process_time() - start < 5  # with backtracking: longer than the universe lasts


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)b"])
def test_what_takes_more_than_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern, is_case_sensitive=False)
