"""What users paste without the marks of a template: logs, letters, configuration, transcripts."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from groundwire.pipeline.conversation.request import Conversation, read_request

CASES = tomllib.loads(Path(__file__).with_name("pasted.toml").read_text(encoding="utf-8"))


def read_user(said: str) -> Conversation:
    return read_request({"messages": [{"role": "user", "content": said}]})


def found_in(conversation: Conversation) -> str:
    return "\n".join(source.text for source in conversation.sources)


@pytest.mark.parametrize("prompt", CASES["prompt"], ids=lambda prompt: prompt["name"])
def test_what_is_pasted_is_evidence_and_what_is_asked_is_not(prompt: dict[str, Any]) -> None:
    messages = prompt.get("messages") or [
        {"role": role, "content": prompt[role].strip()}
        for role in ("system", "developer", "user")
        if role in prompt
    ]
    found = found_in(read_request({"messages": messages}))
    assert [fact for fact in prompt["facts"] if fact not in found] == []
    assert [text for text in prompt["unwanted"] if text in found] == []


@pytest.mark.parametrize("message", CASES["untold"])
def test_what_asks_for_something_new_or_shows_a_form_gives_none(message: str) -> None:
    assert read_user(message).sources == ()


CODE = "```python\nheight = 330\nprint(height)\n```"


@pytest.mark.parametrize(
    ("asked", "is_evidence"),
    [
        ("Explain this.", True),
        ("Please summarise what it does:", True),
        ("What height does it print?", True),
        ("Write a commit message for it.", True),
        ("Fix this:", False),
        ("Can you refactor it?", False),
        ("Why does it not work?", False),
        ("How do I print it twice?", False),
    ],
)
def test_a_program_is_evidence_where_it_is_to_be_reported_on(
    asked: str, *, is_evidence: bool
) -> None:
    found = found_in(read_user(f"{asked}\n\n{CODE}"))
    assert ("height = 330" in found) is is_evidence


def test_a_chat_with_a_model_is_evidence_where_it_is_to_be_summarized() -> None:
    chat = "User: how tall is the tower?\nAssistant: it is 330 m tall\nUser: thank you very much"
    assert "330 m" not in found_in(read_user(f"{chat}\n\nHow old is it?"))
    assert "330 m" in found_in(read_user(f"Summarize this chat.\n\n{chat}"))


def test_a_question_and_a_label_end_a_record() -> None:
    said = "Order: 5561\nCarrier: DHL\nStatus: lost\nQuestion: Where is my order now?"
    conversation = read_user(said)
    assert found_in(conversation) == "Order: 5561\nCarrier: DHL\nStatus: lost"
    assert conversation.question == "Where is my order now?"


def test_what_stands_between_a_question_and_the_material_belongs_to_it() -> None:
    letter = "Hello,\n\nwe can offer 4.20 per unit. Do you need more?\n\nThe price holds until May."
    found = found_in(read_user(f"Until when does the price hold?\n\n{letter} It is net, in euros."))
    assert "4.20 per unit. Do you need more?" in found
    assert "Until when" not in found


LIMITS = "memory: 512Mi\ncpu: 250m\nreplicas: 3"
CALL = "Agent: Hello, this is Iris.\nCustomer: My order 5561 is late.\nAgent: It arrives Tuesday."
DIFF = "@@ -1,2 +1,2 @@\n-timeout: 30\n+timeout: 90"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("Which memory limit is set?\n{}", LIMITS),
        ("{}\n\nWhich memory limit is set?", LIMITS),
        ("```yaml\n{}\n```\nHow much memory?", LIMITS),
        ("Context:\n{}\n\nQuestion: How much memory?", LIMITS),
        ("### Ticket\n{}\n### Question\nHow much memory?", LIMITS),
        ("Summarise this diff.\n```diff\n{}\n```", DIFF),
        ("What does the change do?\n\n{}", DIFF),
        ("Summarise this call:\n\n{}", CALL),
        ("Extract the order number from this chat.\n{}", CALL),
        ("Classify the sentiment of this conversation:\n\n{}", CALL),
        ("Transcript:\n{}\n\nSummary:", CALL),
        ("{}\n\nWhen does it arrive?", CALL),
    ],
)
def test_the_material_is_the_evidence_and_nothing_else(shape: str, text: str) -> None:
    assert found_in(read_user(shape.format(text))) == text


@pytest.mark.parametrize(
    "shape",
    [
        "Our handbook says:\n\n{}\n\nWhen do I call?",
        "I copied this from the label: {} When do I call?",
        "Passage: {}\n\nWhen do I call?\nA. never\nB. at noon",
    ],
)
def test_what_a_document_says_is_evidence_and_choices_are_not(shape: str) -> None:
    fact = "Call the team if the lag exceeds 90 seconds."
    found = found_in(read_user(shape.format(fact)))
    assert fact in found
    assert "When do I" not in found
    assert "at noon" not in found
