"""From a response: one answer a choice, and what kind it is."""

from typing import Any

import pytest

from groundwire import Source
from groundwire.errors import EmptyAnswerError, InvalidConversationError
from groundwire.pipeline.conversation.request import read_request
from groundwire.pipeline.conversation.response import Answer, AnswerKind, ToolCall, read_response


def response(*messages: dict[str, Any]) -> dict[str, Any]:
    return {
        "object": "chat.completion",
        "choices": [{"index": i, "message": message} for i, message in enumerate(messages)],
    }


def answer(**message: object) -> Answer:
    (found,) = read_response(response({"role": "assistant", **message}))
    return found


@pytest.mark.parametrize(
    "content",
    [
        "It is 330 m tall.",
        [{"type": "text", "text": "It is 330 m"}, {"type": "text", "text": " tall."}],
        [{"type": "output_text", "text": "It is 330 m tall."}],
    ],
)
def test_halugate_the_text_of_an_assistant_is_its_answer(content: object) -> None:
    assert answer(content=content) == Answer(
        index=0, kind=AnswerKind.TEXT, text="It is 330 m tall."
    )


def test_halugate_empty_choices_are_no_answer() -> None:
    assert read_response({"choices": []}) == ()


def test_each_choice_is_an_answer() -> None:
    assert read_response(response({"content": "a"}, {"content": "b"})) == (
        Answer(index=0, kind=AnswerKind.TEXT, text="a"),
        Answer(index=1, kind=AnswerKind.TEXT, text="b"),
    )


def test_a_choice_has_the_number_that_the_response_gives_it() -> None:
    choices = [{"index": 3, "message": {"content": "a"}}, {"message": {"content": "b"}}]
    assert [each.index for each in read_response({"choices": choices})] == [3, 1]


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "I cannot help."},
        {"content": [{"type": "refusal", "refusal": "I cannot help."}]},
    ],
)
def test_a_refusal_is_none_of_the_answers_that_are_checked(message: dict[str, Any]) -> None:
    assert answer(**message) == Answer(index=0, kind=AnswerKind.REFUSAL, text="I cannot help.")


@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_dvara_a_bare_tool_call_is_no_text(key: str, content: object) -> None:
    found = answer(content=content, **{key: [{"id": "a"}]})
    assert found == Answer(index=0, kind=AnswerKind.TOOL_CALLS)
    with pytest.raises(EmptyAnswerError):
        read_request({"messages": []}).example(found)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        (
            {"tool_calls": [{"function": {"name": "f", "arguments": {"é": 1}}}]},
            ToolCall(name="f", arguments='{"é": 1}'),
        ),
        (
            {"tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "In 1950."}}]},
            ToolCall(name="f", arguments="In 1950."),
        ),
        (
            {"function_call": {"name": "f", "arguments": "{}"}},
            ToolCall(name="f", arguments="{}"),
        ),
        ({"tool_calls": [{"function": {"name": "f"}}]}, ToolCall(name="f", arguments="")),
    ],
)
def test_a_call_is_read_in_any_form(calls: dict[str, Any], found: ToolCall) -> None:
    assert answer(content=None, **calls).calls == (found,)


def test_what_is_not_read_is_counted_where_it_may_be_the_answer() -> None:
    assert answer(content="It is tall.", refusal="It is from 1950.").n_skipped == 1
    for name in ("reasoning_content", "reasoning"):
        found = answer(content=None, **{name: "It is from 1950."})
        assert (found.kind, found.n_skipped) == (AnswerKind.EMPTY, 1)
    assert answer(content="It is tall.", reasoning="Let me think.").n_skipped == 0
    called = answer(content=None, reasoning="I will look.", tool_calls=[{"id": "a"}])
    assert (called.kind, called.n_skipped) == (AnswerKind.TOOL_CALLS, 0)


def test_dvara_text_beside_a_tool_call_is_the_text_and_the_call_stands_apart() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": '{"year": 1950}'}}
    found = answer(content="It is 330 m tall.", tool_calls=[call])
    assert (found.kind, found.text) == (AnswerKind.TEXT, "It is 330 m tall.")
    assert found.calls == (ToolCall(name="f", arguments='{"year": 1950}'),)


def test_an_answer_without_anything_is_empty() -> None:
    assert answer(content=None) == answer(content="") == Answer(index=0, kind=AnswerKind.EMPTY)


@pytest.mark.parametrize(
    ("message", "n_skipped"),
    [
        ({"content": 7}, 1),
        ({"content": [{"type": "image_url"}, {"type": "text", "text": 7}]}, 2),
        ({"content": None, "audio": {"transcript": "It is 330 m tall."}}, 1),
    ],
)
def test_what_is_no_text_is_counted(message: dict[str, Any], n_skipped: int) -> None:
    assert answer(**message) == Answer(index=0, kind=AnswerKind.EMPTY, n_skipped=n_skipped)


def test_an_answer_beside_its_request_is_an_example() -> None:
    body = {"messages": [{"role": "tool", "tool_call_id": "a", "content": "330 m"}]}
    (found,) = read_response(response({"content": "It is 330 m tall."}))
    example = read_request(body).example(found)
    assert example.sources == (Source(text="330 m", id="a"),)
    assert (example.answer, example.question) == ("It is 330 m tall.", None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "the response: its type is NoneType. A completion is an object such as"),
        ({"error": {}}, "choices: it is missing. A completion is"),
        ({"choices": {}}, "choices: its type is dict. A completion is"),
        ({"choices": ["a"]}, "choices[0]: its type is str. A completion is"),
        ({"choices": [{}]}, "choices[0].message: its type is NoneType. A completion is"),
    ],
)
def test_what_is_no_completion_is_refused_with_its_place(body: object, message: str) -> None:
    with pytest.raises(InvalidConversationError) as raised:
        read_response(body)
    assert str(raised.value).startswith(message)
