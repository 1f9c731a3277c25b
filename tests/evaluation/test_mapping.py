"""From anybody's columns to a labelled answer."""

from typing import Any

import pytest

from groundwire.detection.rows import RowError
from groundwire.detection.values import Label
from groundwire.errors import SettingError
from groundwire.evaluation.datasets.labelled import Known, LabelledAnswer
from groundwire.evaluation.datasets.mapping import COLUMNS, WORDS, ColumnMapping

BASE: dict[str, Any] = {"context": "The tower opened in 1889.", "answer": "It opened in 1950."}


def read(row: dict[str, Any], *pairs: str, label_means: str = "hallucinated") -> LabelledAnswer:
    return ColumnMapping.of(pairs, label_means=label_means).answer(row, number=7)


@pytest.mark.parametrize("field", ["answer", "sources", "question"])
def test_columns_go_by_their_usual_names(field: str) -> None:
    for name in COLUMNS[field]:
        row = {"answer": "A.", "sources": "S.", "question": "Q?"}
        row[name] = row.pop(field)
        found = read(row).example
        assert (found.answer, found.question) == ("A.", "Q?")
        assert [source.text for source in found.sources] == ["S."]


def test_an_option_names_any_other_column() -> None:
    row = {"text": "A.", "answer": "not this", "doc": "S.", "verdict": "FAIL"}
    found = read(row, "answer=text", "sources=doc", "label=verdict")
    assert found.example.answer == "A."
    assert found.is_hallucinated
    assert dict(found.columns) == {"answer": "not this"}


@pytest.mark.parametrize("pair", ["answer", "answer=", "=x", "nonsense=x"])
def test_an_option_that_names_no_field_is_refused(pair: str) -> None:
    with pytest.raises(SettingError):
        ColumnMapping.of([pair])


@pytest.mark.parametrize("name", ["answer", "spans", "task"])
def test_a_column_that_was_named_must_be_there(name: str) -> None:
    """Though there is one of the usual name: it is not the one that was asked for."""
    with pytest.raises(RowError, match=f"there is no column 'typo' for the {name}. Columns here"):
        read({**BASE, name: "x"}, f"{name}=typo")


def test_a_column_that_was_named_may_be_empty() -> None:
    found = read({**BASE, "kind": None, "marks": ""}, "task=kind", "spans=marks")
    assert (found.task, found.known) == ("", Known.NOTHING)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("One.", ["One."]),
        (["One.", "Two."], ["One.", "Two."]),
        ([{"text": "One.", "id": "x"}], ["One."]),
        ('["One.", "Two."]', ['["One.", "Two."]']),  # a text is a text, whatever stands in it
        ("[]", ["[]"]),
        ([], []),
        (None, []),
    ],
)
def test_sources_are_a_text_or_a_list(value: object, texts: list[str]) -> None:
    found = read({"answer": "A.", "sources": value}).example.sources
    assert [source.text for source in found] == texts


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('["One.", "Two."]', ["One.", "Two."]),
        ('[{"city": "Paris"}]', ['[{"city": "Paris"}]']),
        ('[{"text": "One."}, {"city": "Paris"}]', ["One.", '{\n "city": "Paris"\n}']),
        ('[{"text": "One."}, 2]', ['[{"text": "One."}, 2]']),
        ("[1] Paris is a city.", ["[1] Paris is a city."]),
        ("[" * 100_000, ["[" * 100_000]),
        ("[]", []),
    ],
)
def test_where_all_values_are_texts_a_list_of_sources_is_json(value: str, texts: list[str]) -> None:
    mapping = ColumnMapping.of(["sources=doc"])
    row = mapping.unpacked({"answer": "A.", "doc": value})
    assert [source.text for source in mapping.answer(row, number=1).example.sources] == texts
    assert mapping.unpacked({"answer": "A."}) == {"answer": "A."}  # what is missing is told later


def test_a_label_may_be_a_word() -> None:
    for word, is_hallucinated in WORDS.items():
        for written in (word, f" {word.upper()} "):
            assert read({**BASE, "label": written}).is_hallucinated is is_hallucinated


@pytest.mark.parametrize(("label", "is_hallucinated"), [(1, True), (0, False), (1.0, True)])
def test_a_label_may_be_a_number_or_a_truth_value(label: object, is_hallucinated: bool) -> None:
    assert read({**BASE, "label": label}).is_hallucinated is is_hallucinated
    assert read({**BASE, "label": bool(label)}).is_hallucinated is is_hallucinated


@pytest.mark.parametrize("label", [1, "yes", True])
def test_one_may_mean_supported(label: object) -> None:
    row = {**BASE, "label": label}
    assert read(row).is_hallucinated
    assert not read(row, label_means="supported").is_hallucinated


def test_a_word_that_says_which_is_not_turned_round() -> None:
    assert read({**BASE, "label": "FAIL"}, label_means="supported").is_hallucinated


def test_what_is_known_is_spans_a_label_or_nothing() -> None:
    marks = [{"start": 13, "end": 17, "label": "Evident Conflict"}]
    assert read({**BASE, "spans": marks}).known is Known.SPANS
    assert read({**BASE, "spans": []}).known is Known.SPANS
    assert read({**BASE, "label": 1}).known is Known.ANSWER
    assert read(BASE).known is Known.NOTHING
    assert read({**BASE, "spans": "", "label": ""}).known is Known.NOTHING
    assert read({**BASE, "spans": float("nan"), "label": None}).known is Known.NOTHING


def test_a_text_of_null_says_no_more_of_spans_than_null_does() -> None:
    """As a CSV has it where a table had nothing: nobody said that nothing is hallucinated."""
    for nothing in (None, "null", " null "):
        assert read({**BASE, "spans": nothing}).known is Known.NOTHING
        labelled = read({**BASE, "spans": nothing, "label": True})
        assert (labelled.known, labelled.is_hallucinated) == (Known.ANSWER, True)
    assert read({**BASE, "spans": "[]"}).known is Known.SPANS


def test_a_label_that_no_span_shows_is_that_of_the_answer_as_a_whole() -> None:
    """Something is missing in it, or nobody marked the words: which are wrong is not known."""
    marked = read({**BASE, "spans": [], "label": "hallucinated"})
    assert (marked.known, marked.is_hallucinated) == (Known.ANSWER, True)


def test_spans_and_a_label_that_agree_are_both_known() -> None:
    marks = [{"start": 13, "end": 17}]
    wrong, right = (
        read({**BASE, "spans": spans, "label": label})
        for spans, label in ((marks, True), ([], False))
    )
    assert (wrong.known, wrong.is_hallucinated) == (Known.SPANS, True)
    assert (right.known, right.is_hallucinated) == (Known.SPANS, False)


def test_a_label_that_its_spans_contradict_is_refused() -> None:
    marks = [{"start": 13, "end": 17}]
    with pytest.raises(RowError, match="words of the answer are marked, and its label says that"):
        read({**BASE, "spans": marks, "label": 0})
    assert read({**BASE, "spans": marks, "label": 0}, label_means="supported").is_hallucinated


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("Evident Conflict", Label.CONTRADICTED),
        ("Unwanted.Intrinsic", Label.CONTRADICTED),
        ("Unwanted.Extrinsic", Label.UNSUPPORTED),
        ("Subtle Baseless Info", Label.UNSUPPORTED),
        (None, Label.UNSUPPORTED),
    ],
)
def test_the_label_of_a_span_tells_contradictions(kind: str | None, label: Label) -> None:
    (span,) = read({**BASE, "spans": [{"start": 0, "end": 2, "label": kind}]}).spans
    assert (span.label, span.kind) == (label, kind or "")


def test_a_span_may_be_a_pair() -> None:
    (span,) = read({**BASE, "spans": [[13, 17]]}).spans
    assert (span.start, span.end, span.label) == (13, 17, Label.UNSUPPORTED)


def test_spans_may_be_json_in_a_text() -> None:
    (span,) = read({**BASE, "labels": '[{"start": 13, "end": 17, "text": "1950"}]'}).spans
    assert (span.start, span.end) == (13, 17)


def test_sources_without_a_name_stand_for_themselves() -> None:
    first, same, other = (
        read({"sources": sources, "answer": "A."}).context_id
        for sources in (["a", "b"], ["a", "b"], ["ab"])
    )
    assert first == same != other
    assert read({**BASE, "context_id": 12}).context_id == "12"


def test_the_number_of_a_row_names_it_if_nothing_else_does() -> None:
    assert read(BASE).id == "7"
    assert read({**BASE, "id": 0}).id == "0"


def test_short_further_columns_are_kept_to_tell_results_apart() -> None:
    row = {**BASE, "tenant": "acme", "n": 3, "prompt": "x" * 257, "meta": {}, "model": "m"}
    assert dict(read(row).columns) == {"tenant": "acme", "n": "3", "model": "m"}


def test_a_label_means_one_of_two_things() -> None:
    with pytest.raises(SettingError, match="hallucinated or supported"):
        ColumnMapping(label_means="right")
