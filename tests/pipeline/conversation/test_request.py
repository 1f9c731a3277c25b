"""From a request: which texts are evidence, in which order, and what the question is."""

import json
import pickle
from typing import Any

import pytest

from groundwire import Detector, Example, Outcome, Reason, Source
from groundwire.errors import EmptyAnswerError, InvalidConversationError, InvalidTextError
from groundwire.pipeline.conversation.content import Skipped
from groundwire.pipeline.conversation.request import Conversation, SourceOrigin, read_request

TOWER = (
    '{"name": "Eiffel Tower", "built": "1887-1889", "height": "330 meters", '
    '"location": "Paris, France"}'
)
TOWER_ANSWER = "The Eiffel Tower was built in 1950 and stands at 500 meters tall in Paris, France."


def user(content: object) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(id_: str, name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id_, "type": "function", "function": function}],
    }


def tool(content: object, id_: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def read(*messages: dict[str, Any], **rest: object) -> Conversation:
    return read_request({"messages": list(messages), **rest})


def texts(conversation: Conversation) -> list[str]:
    return [source.text for source in conversation.sources]


TOWER_CONVERSATION = [
    user("When was the Eiffel Tower built?"),
    call("call_1", "get_landmark"),
    tool(TOWER),
]


FETCHED = {
    "type": "web_fetch_tool_result",
    "tool_use_id": "w1",
    "content": {
        "type": "web_fetch_result",
        "content": {"type": "document", "source": {"type": "text", "data": "330 m"}},
    },
}


# The documented conversation, and what HaluGate's own tests assert.


def test_the_documented_conversation_about_the_eiffel_tower() -> None:
    conversation = read(*TOWER_CONVERSATION)
    assert conversation.origin is SourceOrigin.TOOL
    assert conversation.example(TOWER_ANSWER) == Example(
        sources=(Source(text=TOWER, id="call_1", title="get_landmark"),),
        question="When was the Eiffel Tower built?",
        answer=TOWER_ANSWER,
    )


def test_halugate_two_tool_messages_are_both_extracted_in_order() -> None:
    conversation = read(
        user("Which is taller?"), tool("Eiffel Tower: 330 m", "a"), tool("Liberty: 93 m", "b")
    )
    assert texts(conversation) == ["Eiffel Tower: 330 m", "Liberty: 93 m"]
    assert [offered.place for offered in conversation.offered] == [
        "messages[1].content",
        "messages[2].content",
    ]


@pytest.mark.parametrize(
    "empty",
    ["", " \n", None, [], {}, "[]", "{}", " null\n", [{"type": "text", "text": ""}, "[{}]"]],
)
def test_halugate_empty_tool_content_is_skipped(empty: object) -> None:
    conversation = read(user("How tall?"), tool(empty, "a"), tool("330 m", "b"))
    assert texts(conversation) == ["330 m"]
    assert not conversation.skipped


def test_halugate_malformed_tool_content_is_ignored_and_counted() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org"}}
    conversation = read(tool([image, 7, {"type": "text"}, {"type": "text", "text": "330 m"}]))
    assert texts(conversation) == ["330 m"]
    assert conversation.skipped == {Skipped.RESULT_PART: 3}


def test_halugate_without_tool_messages_there_is_no_evidence() -> None:
    conversation = read(user("How tall is the Eiffel Tower?"))
    assert (conversation.offered, conversation.origin) == ((), None)


def test_halugate_context_and_question_reach_the_detector_as_the_page_names_them() -> None:
    # ToolResultsContext, UserContent and HasToolsForFactCheck of its request context.
    conversation = read(*TOWER_CONVERSATION, tools=[{"type": "function"}])
    assert texts(conversation) == [TOWER]
    assert conversation.question == "When was the Eiffel Tower built?"
    assert conversation.has_tools


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_halugate_defect_tools_that_are_defined_and_not_called_are_no_evidence(
    key: str, detector: Detector
) -> None:
    definition = {"name": "get_landmark", "description": "The Eiffel Tower was built in 1950."}
    conversation = read(user("When was it built?"), **{key: [definition]})
    assert conversation.has_tools
    assert conversation.offered == ()
    example = conversation.example("The Eiffel Tower was built in 1950.")
    detection = detector.detect(
        sources=example.sources, question=example.question, answer=example.answer
    )
    assert detection.outcome is Outcome.UNVERIFIED


# What DVARA's own tests assert.


def test_dvara_sources_are_the_strings_of_the_metadata() -> None:
    conversation = read(user("How tall?"), metadata={"grounding.sources": ["330 m", "Paris"]})
    assert conversation.origin is SourceOrigin.METADATA
    assert conversation.sources == (Source(text="330 m", id="S0"), Source(text="Paris", id="S1"))
    assert conversation.offered[1].place == 'metadata["grounding.sources"][1]'


@pytest.mark.parametrize("metadata", [None, {}, {"grounding.sources": []}, {"user": "7"}])
def test_dvara_missing_or_empty_sources_are_none(metadata: object) -> None:
    conversation = read(user("How tall?"), metadata=metadata)
    assert conversation.origin is None
    assert not conversation.skipped


def test_dvara_entries_that_are_no_strings_are_ignored_and_counted() -> None:
    sources = ["a", 7, None, {"text": "b"}, ["c"], "", "d"]
    conversation = read(metadata={"grounding.sources": sources})
    assert [(source.id, source.text) for source in conversation.sources] == [
        ("S0", "a"),
        ("S6", "d"),  # as the caller counts
    ]
    assert conversation.skipped == {Skipped.SOURCE: 4}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("330 m", ["330 m"]),
        ('["330 m", "Paris", ""]', ["330 m", "Paris"]),
        ('"330 m"', ["330 m"]),
        ('[{"height": "330 m"}]', ['{"height": "330 m"}']),
        ('{"height": "330 m"}', ['{"height": "330 m"}']),
        ("[330 m", ["[330 m"]),
        ("", []),
        ("[]", []),
    ],
)
def test_sources_may_stand_in_a_text_as_one_or_as_json(written: str, expected: list[str]) -> None:
    conversation = read(metadata={"grounding.sources": written})
    assert texts(conversation) == expected
    assert not conversation.skipped


@pytest.mark.parametrize("sources", [7, True, {"text": "330 m"}])
def test_sources_that_are_neither_list_nor_text_are_refused(sources: object) -> None:
    with pytest.raises(InvalidConversationError, match="one text, or a JSON list in a text"):
        read(metadata={"grounding.sources": sources})


def limited(sources: list[str], *, max_sources: int = 0, max_source_chars: int = 0) -> Conversation:
    return read_request(
        {"messages": [], "metadata": {"grounding.sources": sources}},
        max_sources=max_sources,
        max_source_chars=max_source_chars,
    )


def test_dvara_of_four_sources_with_max_sources_two_exactly_two_are_used() -> None:
    conversation = limited(["a", "b", "c", "dd"], max_sources=2)
    assert texts(conversation) == ["a", "b"]
    assert conversation.reasons == {Reason.DROPPED_OVER_CAP: 2}
    assert conversation.dropped_chars == 3


def test_dvara_with_max_source_chars_ten_only_short_is_used() -> None:
    conversation = limited(["short", "rather a long one"], max_source_chars=10)
    assert texts(conversation) == ["short"]
    assert conversation.reasons == {Reason.DROPPED_LONG: 1}
    assert conversation.dropped_chars == 17


def test_a_source_as_long_as_the_limit_is_used() -> None:
    assert texts(limited(["0123456789"], max_source_chars=10)) == ["0123456789"]


def test_dvara_long_sources_are_left_out_before_sources_are_counted() -> None:
    conversation = limited(["long" * 9, "a", "b", "c"], max_sources=2, max_source_chars=10)
    assert [(source.id, source.text) for source in conversation.sources] == [
        ("S1", "a"),
        ("S2", "b"),
    ]
    assert conversation.reasons == {Reason.DROPPED_LONG: 1, Reason.DROPPED_OVER_CAP: 1}


@pytest.mark.parametrize("limit", [0, -1])
def test_dvara_a_limit_of_zero_or_less_is_none(limit: int) -> None:
    conversation = limited(["a"] * 60, max_sources=limit, max_source_chars=limit)
    assert len(conversation.sources) == 60
    assert not conversation.reasons


def test_dvara_when_all_sources_are_left_out_it_is_as_if_there_were_none() -> None:
    body = {"messages": [tool("330 m")], "metadata": {"grounding.sources": ["long" * 9]}}
    conversation = read_request(body, max_source_chars=10)
    assert (conversation.origin, texts(conversation)) == (SourceOrigin.TOOL, ["330 m"])
    assert conversation.reasons == {Reason.DROPPED_LONG: 1}  # and visible
    assert limited(["long" * 9], max_source_chars=10).origin is None


# Which evidence counts, and in which order.


def test_explicit_sources_come_before_tool_results_before_retrieved_context() -> None:
    said = user("<context>Paris.</context> How tall?")
    metadata = {"grounding.sources": ["Lyon."]}
    explicit = read(said, tool("330 m"), metadata=metadata)
    assert (explicit.origin, texts(explicit)) == (SourceOrigin.METADATA, ["Lyon."])
    assert explicit.unused == {SourceOrigin.TOOL: 1, SourceOrigin.CONTEXT: 1}
    tools = read(said, tool("330 m"))
    assert (tools.origin, texts(tools)) == (SourceOrigin.TOOL, ["330 m", "Paris."])
    assert not tools.unused
    context = read(said)
    assert (context.origin, texts(context)) == (SourceOrigin.CONTEXT, ["Paris."])
    assert {each.question for each in (explicit, tools, context)} == {"How tall?"}


def test_results_of_the_last_turn_come_first_and_nothing_is_left_out() -> None:
    conversation = read(
        user("How tall is the tower?"),
        call("a", "get_tower"),
        tool("330 m", "a"),
        {"role": "assistant", "content": "It is 330 m tall, and pink."},
        user("And the statue, and its arm?"),
        call("b", "get_statue"),
        tool("93 m", "b"),
        call("c", "get_arm"),
        tool("12.8 m", "c"),
    )
    assert texts(conversation) == ["93 m", "12.8 m", "330 m"]
    assert [source.title for source in conversation.sources] == [
        "get_statue",
        "get_arm",
        "get_tower",
    ]
    assert conversation.question == "And the statue, and its arm?"


def test_a_follow_up_question_rests_on_the_results_of_the_turn_before() -> None:
    conversation = read(*TOWER_CONVERSATION, user("And how tall is it?"))
    assert texts(conversation) == [TOWER]
    assert conversation.question == "And how tall is it?"


def test_what_the_assistant_said_is_no_evidence() -> None:
    said = {"role": "assistant", "content": "<context>It was built in 1950.</context>"}
    assert read(user("When was it built?"), said, user("Sure?")).offered == ()


def test_arguments_of_a_tool_call_are_no_evidence() -> None:
    assert read(user("When was it built?"), call("a", "built_in_1950")).offered == ()


# The shapes of a tool result.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("330 m", ["330 m"]),
        (
            [{"type": "text", "text": "330 m"}, {"type": "text", "text": "Paris"}],
            ["330 m", "Paris"],
        ),
        ([{"type": "input_text", "text": "330 m"}], ["330 m"]),
        (["330 m", "Paris"], ["330 m", "Paris"]),
        ({"type": "text", "text": "330 m"}, ["330 m"]),
        ({"height": "330 m", "city": "Zürich"}, ['{"height": "330 m", "city": "Zürich"}']),
        ([{"height": 330}, {"height": 93}], ['[{"height": 330}, {"height": 93}]']),
        ([{"type": "file", "name": "a.py"}], ['[{"type": "file", "name": "a.py"}]']),
        (330, ["330"]),
        (
            [{"type": "document", "source": {"type": "text", "data": "330 m"}, "title": "Tower"}],
            ["330 m"],
        ),
    ],
)
def test_a_tool_result_has_any_of_these_shapes(content: object, expected: list[str]) -> None:
    conversation = read(tool(content))
    assert texts(conversation) == expected
    assert not conversation.skipped


def test_the_result_of_a_legacy_function_is_named_by_the_function() -> None:
    conversation = read({"role": "function", "name": "get_height", "content": "330 m"})
    assert conversation.sources == (Source(text="330 m", id="tool:get_height", title="get_height"),)


def test_tool_results_of_the_messages_interface_stand_in_user_messages() -> None:
    conversation = read_request(
        {
            "system": "Be brief.",
            "messages": [
                user("How tall is it?"),
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t1", "name": "get_height"}],
                },
                user([{"type": "tool_result", "tool_use_id": "t1", "content": "330 m"}]),
            ],
        }
    )
    assert conversation.sources == (Source(text="330 m", id="t1", title="get_height"),)
    assert conversation.offered[0].place == "messages[2].content[0].content"
    assert conversation.question == "How tall is it?"  # a message of results goes on with the turn


def test_tool_results_of_the_responses_interface_are_items() -> None:
    conversation = read_request(
        {
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "How tall?"}]},
                {"type": "function_call", "call_id": "c1", "name": "get_height"},
                {"type": "function_call_output", "call_id": "c1", "output": "330 m"},
            ],
        }
    )
    assert conversation.sources == (Source(text="330 m", id="c1", title="get_height"),)
    assert conversation.question == "How tall?"
    assert not conversation.skipped
    assert read_request({"input": "How tall?"}).question == "How tall?"


def test_a_second_text_with_one_call_id_gets_an_id_of_its_own() -> None:
    conversation = read(tool(["a", "b"], "x"), tool("c", "x#2"), tool("d", ""), tool("e", "x"))
    assert [source.id for source in conversation.sources] == ["x", "x#2", "x#2#2", "S3", "x#3"]


@pytest.mark.parametrize("id_", [None, 7, "", "a\nb", "x" * 201, "\ud800", {"a": "b"}])
def test_what_cannot_name_a_source_does_not(id_: object) -> None:
    message = {"role": "tool", "tool_call_id": id_, "name": id_, "content": "330 m"}
    assert read(message).sources == (Source(text="330 m", id="S0"),)


# Retrieved context in its documented places.


def test_context_in_the_system_message_is_evidence_and_instructions_are_not() -> None:
    system = "You answer questions.\n<context>\nIt is 330 m tall.\n</context>\nBe brief."
    conversation = read({"role": "system", "content": system}, user("How tall is it?"))
    assert conversation.origin is SourceOrigin.CONTEXT
    assert conversation.sources == (Source(text="It is 330 m tall.", id="S0"),)
    assert conversation.question == "How tall is it?"


def test_context_of_the_latest_message_comes_first() -> None:
    conversation = read(
        {"role": "developer", "content": "<context>system</context>"},
        user("<context>first</context>One?"),
        user("<documents><document>second</document>\n<document>third</document></documents>Two?"),
    )
    assert texts(conversation) == ["second", "third", "first", "system"]
    assert conversation.question == "Two?"


def test_a_document_beside_a_json_question_is_context() -> None:
    document = {"type": "document", "source": {"type": "text", "data": "330 m"}}
    text = json.dumps({"context": "It is green.", "question": "How tall?"})
    conversation = read(user([document, {"type": "text", "text": text}]))
    assert texts(conversation) == ["330 m", "It is green."]
    assert conversation.question == "How tall?"


def test_documents_and_search_results_of_the_messages_interface_are_context() -> None:
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "It is 330 m tall."},
        "title": "Tower",
    }
    block = {"type": "text", "text": "It stands in Paris."}
    found = {"type": "search_result", "source": "u", "title": "City", "content": [block]}
    scan = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}
    conversation = read(user([document, found, scan, {"type": "text", "text": "How tall?"}]))
    assert conversation.sources == (
        Source(text="It is 330 m tall.", id="S0", title="Tower"),
        Source(text="It stands in Paris.", id="S1", title="City"),
    )
    assert conversation.skipped == {Skipped.DOCUMENT: 1}
    assert conversation.lost == {Reason.UNREAD_EVIDENCE: 1}
    assert conversation.question == "How tall?"


def test_a_message_of_the_role_context_is_evidence_beside_tool_results() -> None:
    context = {"role": "context", "content": [{"type": "text", "text": "It stands in Paris."}]}
    conversation = read(
        context, user("How tall?"), call("c", "look"), tool("It is 330 m tall.", "c")
    )
    assert texts(conversation) == ["It is 330 m tall.", "It stands in Paris."]
    assert not conversation.skipped
    assert conversation.question == "How tall?"


@pytest.mark.parametrize(
    "item",
    [
        {
            "type": "file_search_call",
            "results": [{"file_id": "f1", "filename": "Tower", "text": "330 m", "score": 0.9}],
        },
        {"type": "mcp_call", "id": "m1", "name": "Tower", "output": "330 m"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "330 m"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look it up."}, FETCHED]},
        {
            "role": "assistant",
            "content": [
                {"type": "mcp_tool_use", "id": "m1", "name": "Tower"},
                {"type": "mcp_tool_result", "tool_use_id": "m1", "content": "330 m"},
            ],
        },
    ],
)
def test_what_a_server_looked_up_is_a_tool_result(item: dict[str, Any]) -> None:
    conversation = read_request({"input": [user("How tall is it?"), item]})
    assert texts(conversation) == ["330 m"]
    assert conversation.origin is SourceOrigin.TOOL
    assert not conversation.skipped


@pytest.mark.parametrize(
    ("data", "skipped"),
    [
        ("data:text/plain;base64,SXQgaXMgMzMwIG0u", {}),
        ("data:application/pdf;base64,SXQgaXMgMzMwIG0u", {Skipped.DOCUMENT: 1}),
        ("data:text/plain;base64,/w==", {Skipped.DOCUMENT: 1}),
        ("data:text/plain;base64,%", {Skipped.DOCUMENT: 1}),
        (7, {Skipped.DOCUMENT: 1}),
    ],
)
def test_a_file_of_text_that_is_sent_along_is_a_document(
    data: object, skipped: dict[Skipped, int]
) -> None:
    file = {"file_data": data, "filename": "tower.txt"}
    for part in ({"type": "input_file", **file}, {"type": "file", "file": file}):
        conversation = read(user([part, {"type": "text", "text": "How tall?"}]))
        expected = () if skipped else (Source(text="It is 330 m.", id="S0", title="tower.txt"),)
        assert conversation.sources == expected
        assert conversation.skipped == skipped


def test_the_field_documents_is_explicit_evidence() -> None:
    documents = [
        "330 m",
        {"id": "d1", "title": "Tower", "text": "It stands in Paris."},
        {"id": "d2", "data": {"title": "Guide", "snippet": "It is brown."}},
        {"data": "It is old."},
        {"height": 330},
        7,
    ]
    conversation = read(user("<context>Lyon.</context> How tall?"), documents=documents)
    assert conversation.sources == (
        Source(text="330 m", id="S0"),
        Source(text="It stands in Paris.", id="d1", title="Tower"),
        Source(text="It is brown.", id="d2", title="Guide"),
        Source(text="It is old.", id="S3"),
        Source(text='{"height": 330}', id="S4"),
    )
    assert conversation.origin is SourceOrigin.DOCUMENTS
    assert conversation.is_explicit
    assert conversation.unused == {SourceOrigin.CONTEXT: 1}
    assert conversation.lost == {Reason.UNREAD_EVIDENCE: 1}


def test_parts_typed_as_source_and_query_are_read_as_such() -> None:
    source = {"type": "grounding_source", "text": "Answer: 330 m?"}
    query = {"type": "query", "text": "How tall?"}
    said = {"type": "text", "text": "I am a tourist."}
    trusted = read({"role": "system", "content": [source]}, user([said, query]))
    assert (trusted.origin, texts(trusted)) == (SourceOrigin.DOCUMENTS, ["Answer: 330 m?"])
    assert trusted.question == "How tall?"
    untrusted = read(user([source, query]), tool("93 m"))
    assert texts(untrusted) == ["93 m", "Answer: 330 m?"]


def test_an_answer_that_the_caller_has_begun_may_hold_evidence() -> None:
    begun = {"role": "assistant", "content": f"<documents>{TOWER}</documents>\nIt is tall since"}
    assert texts(read(user("How tall?"), begun)) == [TOWER]


def test_examples_among_the_messages_are_no_evidence() -> None:
    shown = {"role": "system", "name": "example_user", "content": "<context>Lyon.</context> Where?"}
    assert read(shown, user("Where is it?")).offered == ()


def test_a_text_that_goes_on_in_the_next_part_is_told_as_one() -> None:
    parts = [
        {"type": "text", "text": "Answer with this information:"},
        {"type": "text", "text": "It is 330 m tall."},
        {"type": "text", "text": "Question: How tall?"},
    ]
    conversation = read(user(parts))
    assert conversation.sources == (Source(text="It is 330 m tall.", id="S0"),)
    assert conversation.offered[0].place == "messages[0].content[1][0:17]"
    assert conversation.question == "How tall?"


@pytest.mark.parametrize(
    "said",
    [
        "The tower was built in 1950 by Gustave Eiffel. How old is it?",
        "I read that the tower was built in 1950. It has 3 floors and is red. Is that right?",
        "Is it true that the tower was built in 1950 by Gustave Eiffel in Paris?",
    ],
)
def test_a_question_that_states_something_supports_nothing(said: str) -> None:
    assert read(user(said)).offered == ()
    beside = read(user(f"<context>It was built in 1889.</context>\n{said}"))
    assert texts(beside) == ["It was built in 1889."]


def test_facts_of_a_system_message_are_evidence_and_its_rules_are_not() -> None:
    system = (
        "You are the assistant of Acme. Be polite. Acme sells running shoes. Returns are accepted "
        "within 30 days. Never mention rivals."
    )
    conversation = read({"role": "system", "content": system}, user("Can I return them?"))
    assert texts(conversation) == ["Acme sells running shoes. Returns are accepted within 30 days."]


def test_facts_around_a_question_are_evidence_if_there_is_no_other() -> None:
    said = (
        "The tower of Harwick was built in 1934 by Ida Voss. It is 90 m tall, has 212 steps and "
        "was painted green in 2011. How many steps does it have?"
    )
    conversation = read(user(said))
    assert len(conversation.sources) == 1
    assert "212 steps" in texts(conversation)[0]
    assert texts(read(user(said), tool("93 m"))) == ["93 m"]


# The question.


def test_the_question_is_what_the_user_says_last() -> None:
    parts = [
        {"type": "text", "text": "How tall"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "text", "text": "is it?"},
    ]
    conversation = read(user("Hello"), {"role": "assistant", "content": "Hi"}, user(parts))
    assert conversation.question == "How tall\nis it?"
    assert conversation.skipped == {Skipped.DOCUMENT: 1}


@pytest.mark.parametrize("content", ["", None, [], "<context>Paris.</context>", 7, {"a": "b"}])
def test_a_user_who_says_nothing_asks_nothing(content: object) -> None:
    assert read(user("Hello"), user(content)).question is None


# What cannot be read.


def test_messages_of_unknown_roles_are_counted() -> None:
    roles: list[object] = ["critic", None, 7, ["user"], {"role": "tool"}]
    conversation = read(*({"role": role, "content": "330 m"} for role in roles))
    assert conversation.offered == ()
    assert conversation.skipped == {Skipped.MESSAGE: 5}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "the request: its type is list. It must be an object such as"),
        ({}, "messages: it is missing. It must be a list of messages."),
        ({"messages": {"role": "user"}}, "messages: its type is dict. It must be a list"),
        ({"input": 7}, "input: its type is int. It must be a list"),
        ({"messages": [user("a"), "b"]}, "messages[1]: its type is str. A message is an object"),
        ({"messages": [], "metadata": ["a"]}, "metadata: its type is list. It must be an object"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(body: object, message: str) -> None:
    with pytest.raises(InvalidConversationError) as raised:
        read_request(body)
    assert str(raised.value).startswith(message)


def test_half_a_surrogate_pair_is_refused_where_it_stands() -> None:
    with pytest.raises(InvalidTextError, match=r"text of messages\[0\]\.content is not valid"):
        read(tool("330 \ud800"))
    with pytest.raises(InvalidTextError, match=r"question in messages\[0\]\.content is not valid"):
        read(user("330 \ud800"))
    with pytest.raises(InvalidTextError, match=r"text of messages\[0\]\.content"):
        read({"role": "assistant", "content": "Context: It is 330 \ud800 m tall."}, user("Tall?"))


def test_data_too_deep_to_be_written_is_counted() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert read(tool(deep)).skipped == {Skipped.RESULT_PART: 1}


def test_a_conversation_without_an_answer_makes_no_example() -> None:
    with pytest.raises(EmptyAnswerError):
        read(*TOWER_CONVERSATION).example(" ")


def test_a_conversation_is_a_value() -> None:
    conversation, again = read(*TOWER_CONVERSATION), read(*TOWER_CONVERSATION)
    assert conversation == again
    assert hash(conversation) == hash(again)
    assert pickle.loads(pickle.dumps(conversation)) == conversation


# What was lost.


IMAGE = {"type": "image_url", "image_url": {"url": "x"}}


def test_parts_of_tool_results_that_hold_no_text_are_lost_evidence() -> None:
    conversation = read(user("How tall?"), call("c", "look"), tool([IMAGE, IMAGE], "c"))
    assert conversation.lost == {Reason.UNREAD_EVIDENCE: 2}


def test_a_result_of_a_search_that_holds_no_text_is_lost_evidence() -> None:
    found = read_request({"input": [{"type": "file_search_call", "results": [None, "330 m."]}]})
    assert (found.is_explicit, found.lost) == (False, {Reason.UNREAD_EVIDENCE: 1})


def test_what_is_not_used_is_not_lost() -> None:
    messages = [user("How tall?"), call("c", "look"), tool([IMAGE], "c")]
    used = read(*messages, metadata={"grounding.sources": ["330 m.", 7]})
    assert used.skipped == {Skipped.RESULT_PART: 1, Skipped.SOURCE: 1}
    named = read(user([IMAGE]), documents=["330 m."])
    assert (named.skipped, named.lost) == ({Skipped.DOCUMENT: 1}, {})
    messages = [user([IMAGE]), tool([IMAGE])]
    alone = read_request({"messages": messages}, metadata_only=True)
    assert (alone.skipped, alone.lost) == ({Skipped.PART: 2}, {})
    assert used.lost == {Reason.UNREAD_EVIDENCE: 1}


def test_what_limits_leave_out_is_lost() -> None:
    body = {"messages": [], "metadata": {"grounding.sources": ["x" * 9, "a", "b"]}}
    conversation = read_request(body, max_sources=1, max_source_chars=5)
    assert conversation.lost == {Reason.DROPPED_LONG: 1, Reason.DROPPED_OVER_CAP: 1}


@pytest.mark.parametrize(
    ("sources", "is_explicit"), [(["a"], True), (["x" * 9], True), ([7], True), ([], False)]
)
def test_who_names_sources_names_them_whatever_becomes_of_them(
    sources: list[object], is_explicit: bool
) -> None:
    body = {"messages": [], "metadata": {"grounding.sources": sources}}
    assert read_request(body, max_source_chars=5).is_explicit is is_explicit


def test_search_results_in_turns_of_the_assistant_are_evidence_if_the_chat_says_so() -> None:
    asked = "Answer the query 'How tall?' solely based on the search results in this chat."
    turns = [
        {"role": "system", "content": "You are a search bot."},
        user("Search for 'tower', and give me the first search result."),
        {"role": "assistant", "content": "It is 330 m tall."},
        user("Give me the second search result."),
        {"role": "assistant", "content": "It is in Paris."},
    ]
    assert texts(read(*turns, user(asked))) == ["It is in Paris.", "It is 330 m tall."]
    assert texts(read(*turns, user("How tall is it?"))) == []
    said = [user("How tall is it?"), {"role": "assistant", "content": "It is 900 m tall."}]
    assert texts(read(*said, user(asked))) == []


def test_a_system_message_in_json_may_hold_rules_beside_the_evidence() -> None:
    said = '{"instructions": "Be brief.", "context": "It is 330 m tall."}'
    found = read({"role": "system", "content": said}, user("How tall?"))
    assert texts(found) == ["It is 330 m tall."]
