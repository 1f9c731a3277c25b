"""One file with both sides of a conversation."""

import pytest

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.transcript import divide_transcript

ASKED = {"role": "user", "content": "How tall?"}
ANSWER = {"role": "assistant", "content": "330 m."}


def test_request_and_response_stand_side_by_side() -> None:
    assert divide_transcript({"request": {"messages": [ASKED]}, "response": {"choices": []}}) == (
        {"messages": [ASKED]},
        {"choices": []},
    )


def test_the_last_message_of_a_request_may_be_the_answer() -> None:
    request, response = divide_transcript({"model": "any", "messages": [ASKED, ANSWER]})
    assert request == {"model": "any", "messages": [ASKED]}
    assert response == {"choices": [{"message": ANSWER}]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "the conversation: its type is list"),
        ({}, "it has neither request nor messages"),
        ({"messages": []}, "it has neither request nor messages"),
        ({"messages": [ASKED]}, r"messages\[0\]: the last message is no answer"),
        ({"messages": [ANSWER, None]}, r"messages\[1\]"),
        ({"request": {}}, "it has no 'response'"),
        ({"response": {}, "messages": []}, "it has no 'request'"),
    ],
)
def test_what_is_neither_is_refused_with_what_is_possible(data: object, problem: str) -> None:
    with pytest.raises(InvalidConversationError, match=problem) as caught:
        divide_transcript(data)
    assert '{"request": {...}, "response": {...}}' in str(caught.value)
