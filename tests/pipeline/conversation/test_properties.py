"""What holds for any request, whoever wrote it."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import InputError
from groundwire.pipeline.conversation.request import Conversation, read_request
from groundwire.pipeline.conversation.response import read_response
from tests.json_values import json_data, long_texts, scalars

any_json = scalars | long_texts | json_data | st.just("\ud800")
fragments = st.lists(
    st.sampled_from(
        [
            "FACT", "</context>", "<context>", "\n", "<documents>", "</documents>", "<document>",
            "</document>", "---------------------", "Context:\n", "```", '"""', "[BEGIN CONTEXT]\n",
            "END OF CONTEXT BLOCK\n", "START CONTEXT BLOCK\n", "[END CONTEXT]", "<title>t</title>",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip
types = st.sampled_from(
    ["text", "input_text", "tool_result", "document", "search_result", "image_url", "file", "other"]
)
keys = ["text", "content", "source", "data", "title", "tool_use_id", "type", "image_url", "file"]
parts = st.fixed_dictionaries(
    {"type": types | any_json},
    optional={key: any_json | fragments for key in keys if key != "type"},
)
contents = any_json | fragments | st.lists(parts | any_json, max_size=4)
roles = st.sampled_from(["system", "user", "assistant", "tool", "function", "developer", "critic"])
messages = st.fixed_dictionaries(
    {"role": roles | any_json, "content": contents},
    optional={"tool_call_id": any_json, "name": any_json, "tool_calls": any_json, "type": any_json},
)
requests = st.fixed_dictionaries(
    {"messages": st.lists(messages, max_size=5)},
    optional={
        "metadata": any_json | st.fixed_dictionaries({"grounding.sources": any_json}),
        "tools": any_json,
        "system": any_json,
    },
)


def read(body: object) -> Conversation | None:
    """The conversation, or none if the request is refused as it should be."""
    try:
        return read_request(body, max_sources=3, max_source_chars=200)
    except InputError:
        return None


def values(data: object) -> Iterator[object]:
    """All data within data, itself included."""
    yield data
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for each in inner:
        yield from values(each)


@given(any_json)
def test_any_data_is_a_request_or_refused(body: object) -> None:
    read(body)


@given(contents)
def test_any_content_is_read_or_refused(content: object) -> None:
    for role in ("system", "user", "assistant", "tool", "function"):
        read({"messages": [{"role": role, "content": content}]})


@given(any_json, any_json)
def test_any_metadata_is_read_or_refused(metadata: object, sources: object) -> None:
    read({"messages": [], "metadata": metadata})
    read({"messages": [], "metadata": {"grounding.sources": sources}})


@given(requests)
def test_sources_are_never_invented(body: dict[str, Any]) -> None:
    if (conversation := read(body)) is None:
        return
    given_ = list(values(body))
    written = {json.dumps(value, ensure_ascii=False) for value in given_}
    for source in conversation.sources:
        assert source.text in written or any(
            source.text in value for value in given_ if isinstance(value, str)
        )
        assert source.text.strip()


@given(requests)
def test_ids_are_unique_and_limits_hold(body: dict[str, Any]) -> None:
    if (conversation := read(body)) is None:
        return
    ids = [source.id for source in conversation.sources]
    assert len(set(ids)) == len(ids) <= 3
    assert all(len(source.text) <= 200 for source in conversation.sources)
    assert bool(conversation.reasons) == bool(conversation.dropped_chars)
    conversation.example("It is 330 m tall.")


TOLD = "Answer the question in one sentence."
TEMPLATES = [
    f"{TOLD}\n<context>\n{{}}\n</context>\n{TOLD}",
    f"{TOLD}\n<documents>\n<document>{{}}</document>\n</documents>\n{TOLD}",
    f"Context information is below.\n{'-' * 21}\n{{}}\n{'-' * 21}\n{TOLD}",
    f"{TOLD}\nSTART CONTEXT BLOCK\n{{}}\nEND OF CONTEXT BLOCK\n{TOLD}",
    f'{TOLD}\nContext: """{{}}"""\n{TOLD}',
    f"{TOLD}\n\nContext:\n{{}}\n\n{TOLD}",
]


@given(st.sampled_from(TEMPLATES), fragments, st.sampled_from(["system", "user"]))
def test_whatever_is_planted_in_a_passage_no_instruction_becomes_a_source(
    template: str, passage: str, role: str
) -> None:
    conversation = read({"messages": [{"role": role, "content": template.format(passage)}]})
    assert conversation is not None
    assert all(TOLD not in source.text for source in conversation.sources)


@given(
    st.lists(
        st.sampled_from(
            ["You are a guide.", "Be brief.", "Never guess.", "Answer in French.", "\n", " ", "- "]
        )
    )
)
def test_of_instructions_nothing_becomes_a_source(pieces: list[str]) -> None:
    system = {"role": "system", "content": "".join(pieces)}
    conversation = read_request({"messages": [system, {"role": "user", "content": "a"}]})
    assert conversation.offered == ()
    assert conversation.question == "a"


@given(
    st.sampled_from(TEMPLATES[:1] + TEMPLATES[2:5]),
    st.lists(st.sampled_from(["FACT", " ", "\n", "é"])),
)
def test_all_of_a_passage_is_evidence(template: str, words: list[str]) -> None:
    passage = "".join(words).strip()
    conversation = read_request(
        {"messages": [{"role": "user", "content": template.format(passage)}]}
    )
    assert [source.text for source in conversation.sources] == ([passage] if passage else [])
    assert "FACT" not in (conversation.question or "")


@given(any_json, contents)
def test_any_data_is_a_response_or_refused(body: object, content: object) -> None:
    wrapped = {"choices": [{"message": {"content": content, "refusal": body, "tool_calls": body}}]}
    for each in (body, {"choices": body}, {"choices": [{"message": body}]}, wrapped):
        try:
            answers = read_response(each)
        except InputError:
            continue
        for answer in answers:
            assert bool(answer.text.strip()) == (answer.kind in ("text", "refusal"))
