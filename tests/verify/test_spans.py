from types import SimpleNamespace

import pytest

from groundwire.detection.example import Source
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.spans import read_spans


@pytest.mark.parametrize(
    ("span", "sid"),
    [
        ({"id": "S0", "text": "t"}, "S0"),
        ({"sid": "S0", "id": "S1", "text": "t"}, "S0"),
        ({"sid": "", "id": "S1", "text": "t"}, "S1"),
        ({"sid": " ", "id": None, "text": "t"}, "s1"),
        ({"page_content": "t", "metadata": {"page": 3}}, "s1"),
        (({"content": "t", "id": "S0"}, 0.9), "S0"),
        ("t", "s1"),
        ({"sid": 7, "snippet": "t"}, "7"),
    ],
)
def test_the_id_of_a_span(span: object, sid: str) -> None:
    assert read_spans([span]) == (Source(id=sid, text="t"),)


def test_a_single_span_needs_no_list() -> None:
    assert read_spans({"sid": "S0", "text": "t"}) == (Source(id="S0", text="t"),)
    assert read_spans("t") == (Source(id="s1", text="t"),)


def test_documents_of_a_store_are_numbered_by_their_place() -> None:
    documents = [SimpleNamespace(page_content=text, id="9f3c-41aa") for text in ("a", "b")]
    assert [each.id for each in read_spans(documents)] == ["s1", "s2"]


def test_spans_without_ids_are_numbered_by_their_place() -> None:
    assert [each.id for each in read_spans([{"text": "a"}] * 3)] == ["s1", "s2", "s3"]
    mixed = [{"sid": "s2", "text": "a"}, {"text": "b"}, {"text": "c"}]
    assert [each.id for each in read_spans(mixed)] == ["s2", "s3", "s4"]


@pytest.mark.parametrize("spans", [[], (), None])
def test_no_spans(spans: object) -> None:
    with pytest.raises(NotVerifiedError, match="no spans") as caught:
        read_spans(spans)
    assert caught.value.error_type == "no_spans"


@pytest.mark.parametrize(
    "spans",
    [
        [{}],
        [{"sid": "S0", "text": " "}],
        [{"sid": "S0", "text": 5}],
        [{"sid": ["S0"], "text": "t"}],
        [{"sid": 0.0, "text": "t"}],
        [{"sid": True, "id": "S0", "text": "t"}],
        b"text",
        [{"sid": "S0", "text": "\ud800"}],
        [{"sid": "\udfff", "text": "t"}],
        5,
    ],
)
def test_what_are_no_spans(spans: object) -> None:
    with pytest.raises(NotVerifiedError) as caught:
        read_spans(spans)
    assert caught.value.error_type == "malformed_spans"


def test_one_id_for_two_spans_is_refused() -> None:
    with pytest.raises(NotVerifiedError, match="duplicate span ids: 'S0'"):
        read_spans([{"sid": "S0", "text": "a"}, {"id": "S0", "text": "a"}])
