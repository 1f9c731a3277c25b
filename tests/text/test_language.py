import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.language import LANGUAGES, identify, is_foreign, writes_out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("When was Einstein born?", "en"),
        ("Write a poem about autumn", "en"),
        ("Debug this Python code", "en"),
        ("What's your opinion on AI?", "en"),
        ("Is the Earth round?", "en"),
        ("Wann wurde Einstein geboren?", "de"),
        ("Quand la tour Eiffel a-t-elle été construite ?", "fr"),
        ("¿Cuándo nació Einstein?", "es"),
        ("Qual è la capitale d'Italia?", "it"),
        ("Qual é a capital do Brasil?", "pt"),
        ("Hoe hoog is de Eiffeltoren?", "nl"),
        ("När byggdes Eiffeltornet och hur högt är det?", "sv"),
        ("Kiedy urodził się Einstein?", "pl"),
        ("Eyfel Kulesi ne zaman yapıldı?", "tr"),
        ("王明住在上海。", "zh"),
        ("東京の人口は？", "ja"),
        ("아인슈타인은 언제 태어났나요?", "ko"),
        ("Когда родился Эйнштейн?", "ru"),
        ("Де він жив і коли?", "uk"),
        ("متى ولد أينشتاين؟", "ar"),
    ],
)
def test_a_prompt_of_a_few_words_is_enough(text: str, code: str) -> None:
    assert identify(text) == code


@pytest.mark.parametrize("text", ["", "12345 !?", "Berlin", "Hi", "def f(x): return x+1", "да"])
def test_where_it_cannot_tell_it_says_nothing(text: str) -> None:
    assert identify(text) is None


@given(st.text(max_size=200))
def test_it_names_a_known_language_or_none(text: str) -> None:
    assert identify(text) in (None, *LANGUAGES)


TEXTS = tomllib.loads((Path(__file__).parent / "languages.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [text for texts in TEXTS["foreign"].values() for text in texts])
def test_texts_in_other_languages_are_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize("text", TEXTS["english"]["texts"])
def test_names_code_and_lists_do_not_make_an_english_text_foreign(text: str) -> None:
    assert not is_foreign(text)


def test_a_curly_apostrophe_is_no_accent() -> None:
    assert not is_foreign("Des Moines doesn’t care.")


def test_a_number_is_found_that_is_written_out_with_a_sharp_s() -> None:
    assert writes_out("Es dauert dreißig Tage.", "30")
