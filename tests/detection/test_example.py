"""What can be given to be checked, and what is refused with which words."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import errors
from groundwire.detection.example import Example, Source, SourceLike, SourceWarning, read_sources
from groundwire.errors import (
    ConfigError,
    CorruptModelError,
    DatasetError,
    EmptyAnswerError,
    GateError,
    GroundwireError,
    InvalidConversationError,
    InvalidSourceError,
    InvalidTextError,
    LimitExceededError,
    MissingExtraError,
    SettingError,
    UnknownModelError,
    UnpinnedModelError,
    UnreadableError,
)


def test_a_text_is_a_source_named_by_its_position() -> None:
    assert read_sources(["Paris.", "Lyon."]) == (
        Source(text="Paris.", id="S0"),
        Source(text="Lyon.", id="S1"),
    )


def test_a_mapping_with_a_text_is_a_source_with_its_id_and_title() -> None:
    given_ = {"text": "It is 330 m tall.", "id": "wiki", "title": "Eiffel Tower"}
    assert read_sources([given_]) == (
        Source(text="It is 330 m tall.", id="wiki", title="Eiffel Tower"),
    )


def test_an_id_may_be_a_number_or_missing() -> None:
    assert [source.id for source in read_sources([{"text": "a", "id": 7}, {"text": "b"}])] == [
        "7",
        "S1",
    ]
    assert read_sources([{"text": "a", "id": None, "title": None}]) == (Source(text="a", id="S0"),)


def test_a_hit_of_a_retriever_is_a_source_as_it_is() -> None:
    hit = {"text": "It is 330 m tall.", "id": "doc7", "score": 0.3, "metadata": {"page": object()}}
    assert Source.of(hit) == Source(text="It is 330 m tall.", id="doc7")
    assert Source.of({"text": "", "score": 0.3}) == Source(text="")


def test_other_mappings_and_lists_are_data() -> None:
    (data,) = read_sources([{"hours": {"Monday": "9-17"}, "name": "x"}])
    assert json.loads(data.text) == {"hours": {"Monday": "9-17"}, "name": "x"}
    (data,) = read_sources([{"text": ["x", "y"], "id": "doc7"}])
    assert json.loads(data.text) == {"text": ["x", "y"], "id": "doc7"}
    (data,) = read_sources([[{"hours": "9-17", "text": "x"}]])  # in a list, nothing is ignored
    assert json.loads(data.text) == [{"hours": "9-17", "text": "x"}]
    (rows,) = read_sources([[1, "zwölf", None]])
    assert json.loads(rows.text) == [1, "zwölf", None]
    assert "zwölf" in rows.text  # offsets count in readable text


@pytest.mark.parametrize(
    ("document", "hint"),
    [
        ({"contents": "It is 330 m tall.", "id": 7}, " Did you mean 'content'?"),
        ({"body": "It is 330 m tall."}, ""),
    ],
)
def test_a_document_with_its_text_under_another_key_is_data_with_a_warning(
    document: dict[str, object], hint: str
) -> None:
    with pytest.warns(SourceWarning) as caught:
        source = Source.of(document)
    assert json.loads(source.text) == document
    (warning,) = caught
    assert str(warning.message) == (
        "A source is a mapping without a text under text, page_content, content, snippet, so all "
        f"of it is evidence, as JSON data.{hint} Put the text of a document under one of these "
        "keys, and data into a list of their own: [data]."
    )


def test_data_give_no_warning() -> None:
    read_sources([{"name": "Eiffel Tower", "floors": 3}, [{"body": "It is 330 m tall."}]])


def test_the_warning_has_nothing_of_a_key() -> None:
    with pytest.warns(SourceWarning) as caught:
        Source.of({"sk-secret": "It is 330 m tall.", "x" * 10_000: "It is 330 m tall."})
    assert not {"sk-secret", "xx"} & set(str(caught[0].message).split())


PAGE = {"page": 12, "title": "Eiffel Tower"}


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict[str, object]
    id: str | None = None


@dataclass
class HaystackDocument:
    content: str | None
    meta: dict[str, object]
    id: str = "f00d"


@dataclass
class LlamaIndexNode:
    metadata: dict[str, object]
    id_: str = "node"

    @property
    def text(self) -> str:
        raise ValueError("Node must be a TextNode to get text.")

    def get_content(self, metadata_mode: str = "none") -> str:
        assert metadata_mode == "none"
        return "It is 330 m tall."


DOCUMENTS = [
    (LangChainDocument("It is 330 m tall.", PAGE), "S0"),
    (LangChainDocument("It is 330 m tall.", PAGE, "a"), "a"),
    (HaystackDocument("It is 330 m tall.", PAGE), "f00d"),
    (LlamaIndexNode(PAGE), "node"),
    ({"page_content": "It is 330 m tall.", "metadata": PAGE}, "S0"),
    ({"content": "It is 330 m tall.", "meta": PAGE, "id": 7}, "7"),
    ({"text": "It is 330 m tall.", **PAGE, "sid": "S4"}, "S4"),
]


@pytest.mark.parametrize(("document", "id_"), DOCUMENTS)
def test_of_a_document_the_text_is_evidence_and_its_metadata_is_not(
    document: SourceLike, id_: str
) -> None:
    expected = (Source(text="It is 330 m tall.", id=id_, title="Eiffel Tower"),)
    assert read_sources([document]) == expected
    assert read_sources([(document, 0.83)]) == expected  # as a search with scores returns it
    assert read_sources(document) == expected  # type: ignore[arg-type] # iterables are declared


@pytest.mark.parametrize(("document", "id_"), DOCUMENTS)
def test_metadata_is_evidence_if_it_is_asked_for(document: SourceLike, id_: str) -> None:
    source = Source.of(document, metadata=["page", "author"])
    assert source.text == "page: 12\nIt is 330 m tall."


def test_documents_in_a_list_of_their_own_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidSourceError, match="it is a list of documents, and each of them"):
        read_sources([[LangChainDocument("It is 330 m tall.", PAGE)]])


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(InvalidSourceError, match="its type is HaystackDocument"):
        read_sources([HaystackDocument(None, PAGE)])


@pytest.mark.parametrize(
    ("given_", "ids"),
    [
        (["", "", ""], ["S0", "S1", "S2"]),
        (["S1", ""], ["S1", "S2"]),
        (["", "S0"], ["S2", "S0"]),
        (["S1", "", ""], ["S1", "S3", "S2"]),  # who has no rival is named by its position
        (["S1", "", "S3", ""], ["S1", "S4", "S3", "S5"]),
        (["S2", "", "", "S4"], ["S2", "S1", "S5", "S4"]),
    ],
)
def test_a_generated_id_is_none_that_was_given(given_: list[str], ids: list[str]) -> None:
    sources = [Source(text=f"Text {n}.", id=id_) for n, id_ in enumerate(given_)]
    named = read_sources(sources)
    assert [source.id for source in named] == ids
    assert [source.text for source in named] == [source.text for source in sources]
    assert read_sources(named) == named


@given(st.lists(st.sampled_from(["", "S0", "S1", "S2", "S3", "S9", "x"]), max_size=8))
def test_one_id_never_names_two_texts(given_: list[str]) -> None:
    sources = [Source(text=f"The text of {id_ or n}.", id=id_) for n, id_ in enumerate(given_)]
    named = read_sources(sources)
    assert len({(s.id, s.text) for s in named}) == len({s.id for s in named})


def test_two_texts_with_one_id_are_refused() -> None:
    cats, dogs = {"text": "Cats.", "id": "doc7"}, Source(text="Dogs.", id="doc7")
    with pytest.raises(InvalidSourceError) as raised:
        read_sources(["zero", cats, "two", dogs])
    assert str(raised.value) == (
        "Source 3 cannot be read: its id 'doc7' is that of source 1, which has another text. "
        "Give each text an id of its own, or none."
    )


def test_a_source_may_be_given_twice() -> None:
    cats = Source(text="Cats.", id="doc7")
    assert read_sources([cats, {"text": "Cats.", "id": "doc7"}]) == (cats, cats)


def test_a_source_stays_as_it_is() -> None:
    source = Source(text="a", id="x", title="t")
    assert read_sources(iter([source])) == (source,)


def test_no_sources_are_no_error() -> None:
    assert read_sources([]) == ()


def cyclic() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"abc", "its type is bytes"),
        (None, "its type is NoneType"),
        (3, "its type is int"),
        ({1, 2}, "its type is set"),
        ({"a": object()}, "it is not JSON data (Object of type object"),
        ({"text": b"abc"}, "it is not JSON data (Object of type bytes"),
        ({(1, 2): 3}, "it is not JSON data (keys must be"),
        (cyclic(), "it is not JSON data (Circular reference"),
    ],
)
def test_what_is_no_source_is_named_with_its_place(value: object, problem: str) -> None:
    with pytest.raises(InvalidSourceError) as raised:
        read_sources(["fine", value])  # type: ignore[list-item]
    assert str(raised.value).startswith(f"Source 1 cannot be read: {problem}")
    assert "A source is a text, a Source, a mapping with its text under" in str(raised.value)


@pytest.mark.parametrize("value", ["abc", {"text": "abc"}, Source(text="abc")])
def test_a_single_source_needs_no_list(value: str) -> None:
    assert read_sources(value) == (Source(text="abc", id="S0"),)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"abc", "a single bytes"),
        (bytearray(b"abc"), "a single bytearray"),
        (42, "a single int"),
        (None, "None"),
    ],
)
def test_what_holds_no_sources_is_refused(value: list[str], kind: str) -> None:
    with pytest.raises(InvalidSourceError) as raised:
        read_sources(value)
    assert str(raised.value) == (
        f"The sources cannot be read: they are {kind}. "
        "Pass a text, a list of sources, or sources=[] if there are none."
    )


@pytest.mark.parametrize("answer", ["", " ", "\n\t\u2003\u2028"])
def test_an_answer_without_visible_text_is_refused(answer: str) -> None:
    with pytest.raises(EmptyAnswerError, match=r"empty or only white space.*Pass the text"):
        Example.of(sources=["a"], answer=answer)


@pytest.mark.parametrize("value", [None, b"text", 3, ["text"]])
def test_answers_and_questions_are_texts(value: object) -> None:
    kind = type(value).__name__
    problem = f"is not valid text: its type is {kind}. Pass a str; decode bytes first, as UTF-8."
    with pytest.raises(InvalidTextError) as raised:
        Example.of(sources=["a"], answer=value)  # type: ignore[arg-type]
    assert str(raised.value) == f"The answer {problem}"
    if value is not None:
        with pytest.raises(InvalidTextError) as raised:
            Example.of(sources=["a"], answer="b", question=value)  # type: ignore[arg-type]
        assert str(raised.value) == f"The question {problem}"


def lone(where: str) -> Iterator[tuple[dict[str, Any], str, int]]:
    fine: dict[str, Any] = {"sources": ["fine", "too"], "answer": "a", "question": "b"}
    yield fine | {"answer": f"ab{where}"}, "answer", 2
    yield fine | {"question": f"a{where}b"}, "question", 1
    yield fine | {"sources": ["fine", where]}, "text of source 1", 0
    yield fine | {"sources": [Source(text="a", id=f"xyz{where}")]}, "id of source 0", 3
    yield fine | {"sources": [Source(text="a", title=f"x{where}")]}, "title of source 0", 1
    yield fine | {"sources": [{"a": where}]}, "text of source 0", 9


@pytest.mark.parametrize("half", [0xD83D, 0xDC00, 0xDFFF])
def test_half_a_surrogate_pair_is_refused_where_it_stands(half: int) -> None:
    for arguments, place, position in lone(chr(half)):
        with pytest.raises(InvalidTextError) as raised:
            Example.of(**arguments)
        message = str(raised.value)
        assert message.startswith(f"The {place} is not valid text: the lone surrogate U+D")
        assert f"at position {position}." in message
        assert "Decode the bytes as UTF-8 with errors='replace'" in message


@given(st.text(min_size=1), st.text(), st.text())
def test_any_unicode_text_is_taken_as_it_is(source: str, question: str, answer: str) -> None:
    # st.text() draws no surrogates, and everything else, NUL included.
    if answer.strip():
        example = Example.of(sources=[source], answer=answer, question=question)
        assert (example.sources[0].text, example.answer, example.question) == (
            source,
            answer,
            question,
        )


ERRORS: list[GroundwireError] = [
    EmptyAnswerError(),
    InvalidTextError("answer", 3, "the lone surrogate U+D800"),
    InvalidSourceError(4, "its type is set"),
    LimitExceededError("answer", 1_200_000, 1_000_000, "max_answer_chars"),
    SettingError("operating_point", 1.5, "a threshold in (0, 1]"),
    UnknownModelError("other", ("reader",)),
    UnpinnedModelError("org/model"),
    CorruptModelError(Path("reader.onnx"), "aa", "bb"),
    MissingExtraError("Export", "train"),
    UnreadableError(),
    DatasetError(Path("rows.jsonl"), 3, "there is no key 'answer'"),
    InvalidTextError("answer", None, "its type is int"),
    InvalidSourceError(None, "they are None", "Pass a list."),
    InvalidConversationError("messages[3]", "its type is int", "A message is an object."),
    GateError(30, "ValueError: no number"),
    ConfigError(["a.yaml:3: there is no setting 'acton'.", "a.yaml:4: there is no action 'blok'."]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_travel_between_processes(error: GroundwireError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_the_list_of_errors_above_is_complete() -> None:
    family = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, GroundwireError)
    }
    # Not by `__subclasses__`: other modules have subclasses of their own.
    raised = {kind for kind in family if not any(kind in other.__bases__ for other in family)}
    assert {type(error) for error in ERRORS} == raised


def test_a_limit_is_named_with_its_numbers_and_its_setting() -> None:
    message = str(ERRORS[3])
    assert "length of the answer is 1,200,000, and at most 1,000,000 is allowed" in message
    assert "Raise the setting 'max_answer_chars'" in message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ERRORS[0], ValueError),
        (ERRORS[4], ValueError),
        (ERRORS[6], ValueError),
        (ERRORS[8], ImportError),
        (ERRORS[9], RuntimeError),
    ],
)
def test_errors_are_also_the_kind_python_would_raise(
    error: GroundwireError, kind: type[Exception]
) -> None:
    assert isinstance(error, kind)
