"""Words that tell what a prompt wants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.cues import cues, language, plain, read_cues, words


def found(text: str) -> set[str]:
    return {cue for _, cue in cues(words(plain(text)))}


@pytest.mark.parametrize(
    "text", ["Who was it?", "Wer war das?", "Qui est-ce ?", "¿Quién fue?", "谁写的", "誰ですか"]
)
def test_who_is_one_cue_in_all_languages(text: str) -> None:
    assert "who" in found(text)


def test_several_words_stand_together() -> None:
    assert "amount" in found("How many are there?")
    assert "amount" not in found("How are the many?")


def test_a_word_that_begins_so_counts() -> None:
    assert "summary" in found("Please summarise it")


def test_accents_and_case_make_no_difference() -> None:
    assert found("ÉCRIS un poème") == found("ecris un poeme")


def test_a_cue_stands_where_its_first_word_does() -> None:
    assert (1, "amount") in set(cues(words(plain("so how many are there"))))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("How old is the tower?", "en"),
        ("Wie alt ist der Turm?", "de"),
        ("Quel âge a la tour ?", "fr"),
        ("¿Cuántos años tiene la torre?", "es"),
        ("Quanti anni ha la torre?", "it"),
        ("塔有多高", "zh"),
        ("塔の高さは？", "ja"),
        ("", "en"),
        ("atp 1", "en"),
    ],
)
def test_languages_are_told_apart(text: str, code: str) -> None:
    assert language(words(plain(text))) == code


def test_every_cue_has_words() -> None:
    assert all(all(entry.strip() for entry in listed) for listed in read_cues().values())


def test_only_single_words_have_endings_left_open() -> None:
    # One of several words would never be found.
    listed = [entry for found in read_cues().values() for entry in found]
    assert [entry for entry in listed if entry.endswith("*") and " " in entry] == []


def test_words_that_stand_together_are_found_wherever_they_stand() -> None:
    found_at = {
        place for place, cue in cues(words(plain("how many or how long"))) if cue == "amount"
    }
    assert found_at == {0, 3}


@given(st.text())
def test_any_text_has_cues_at_words_of_it(text: str) -> None:
    listed = words(plain(text))
    assert all(0 <= place < len(listed) for place, _ in cues(listed))
