"""Words of names, such as keys of JSON objects and tags of prompts."""

import pytest

from groundwire.pipeline.conversation.roles import words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("userQuestion", "user question"),
        ("user_question", "user question"),
        ("userID", "user id"),
        ("HTMLContext", "html context"),
        ("Überblick2", "überblick"),
    ],
)
def test_a_name_is_divided_into_words(name: str, words: str) -> None:
    assert words_of(name) == words.split()
