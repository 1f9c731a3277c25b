"""Facts and a question in one message, and what only looks like facts."""

import tomllib
from pathlib import Path

import pytest

from groundwire.pipeline.conversation.request import Conversation, read_request

CASES = tomllib.loads(Path(__file__).with_name("one_message.toml").read_text(encoding="utf-8"))
QUESTION = "How tall is the tower, and when was it built?"


def conversation_of(*messages: tuple[str, str]) -> Conversation:
    """The conversation that messages make, each with its role."""
    return read_request({"messages": [{"role": role, "content": said} for role, said in messages]})


def found_in(conversation: Conversation) -> str:
    return "\n".join(source.text for source in conversation.sources)


@pytest.mark.parametrize(("message", "fact", "asked"), CASES["told"])
def test_what_a_user_tells_and_asks_about_is_evidence(message: str, fact: str, asked: str) -> None:
    conversation = conversation_of(("user", message))
    assert fact in found_in(conversation)
    assert asked not in found_in(conversation)
    assert asked in (conversation.question or "")


@pytest.mark.parametrize("message", CASES["untold"])
def test_premises_claims_wishes_and_examples_are_none(message: str) -> None:
    assert conversation_of(("user", message)).sources == ()


@pytest.mark.parametrize("message", CASES["instructed"])
def test_instructions_are_none_whatever_they_claim(message: str) -> None:
    assert conversation_of(("system", message), ("user", QUESTION)).sources == ()


@pytest.mark.parametrize(
    "answer",
    [
        "The tower is 900 m tall.",
        "Context: The tower is 900 m tall.",
        "<context>The tower is 900 m tall.</context>",
        "It is 900 m tall [1].\n\n[1] The tower is 900 m tall.",
        "| Tower | Height |\n| --- | --- |\n| A | 900 m |",
    ],
)
def test_an_earlier_answer_is_none_however_it_is_marked(answer: str) -> None:
    messages = (("user", "Is it tall?"), ("assistant", answer), ("user", QUESTION))
    assert conversation_of(*messages).sources == ()


@pytest.mark.parametrize(
    ("said", "is_evidence"),
    [
        ("Context:\nThe tower is 330 m tall.", True),
        ("<documents>The tower is 330 m tall.</documents>", True),
        ("Hello! The tower is 330 m tall. Ask me about it.", False),
        ("It is 330 m tall.\n\nSources:\n- The tower is 330 m tall (guide.pdf)", False),
        ("| Tower | Height |\n| --- | --- |\n| A | 330 m |", False),
    ],
)
def test_what_an_assistant_hands_over_before_anybody_asks_is_evidence_if_it_has_a_name(
    said: str, *, is_evidence: bool
) -> None:
    conversation = conversation_of(("system", "Be brief."), ("assistant", said), ("user", QUESTION))
    assert bool(conversation.sources) == is_evidence


def test_what_a_question_tells_beside_evidence_is_none() -> None:
    context, question = "<context>It was built in 1889.</context>", "It was built in 1950. Who by?"
    assert found_in(conversation_of(("system", context), ("user", question))) == (
        "It was built in 1889."
    )


def test_beside_marked_evidence_a_system_message_tells_figures_alone() -> None:
    told = "The guide is a big fan of towers and has the sum of all knowledge."
    fact = "Tickets cost 12 euros on all days of the week."
    text = f"{told}\nBe kind.\n{fact}\n<context>It was built in 1889.</context>"
    found = found_in(conversation_of(("system", text), ("user", QUESTION)))
    assert "1889" in found
    assert fact in found
    assert "fan of towers" not in found
    assert "fan of towers" in found_in(conversation_of(("system", told), ("user", QUESTION)))
