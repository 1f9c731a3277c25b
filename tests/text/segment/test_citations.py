"""What is a citation, and to which claim it belongs."""

import pytest

from groundwire.text.segment import Citation, Segment, Segmenter, parse_citations, segment
from groundwire.text.segment.citations import MAX_CITED_IDS
from tests.text.segment.pieces import claims


def cited(text: str) -> list[tuple[str, ...]]:
    return [citation.ids for citation in parse_citations(text)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[S0]", [("S0",)]),
        ("[1]", [("1",)]),
        ("[S0, S1]", [("S0", "S1")]),
        ("[1;2]", [("1", "2")]),
        ("[1-3]", [("1", "2", "3")]),
        ("[1–3]", [("1", "2", "3")]),
        ("[S1-S3]", [("S1", "S2", "S3")]),
        ("[S1-3]", [("S1", "S2", "S3")]),
        ("[1, 3-5]", [("1", "3", "4", "5")]),
        ("[1][2]", [("1",), ("2",)]),
        ("[01-03]", [("01", "02", "03")]),
        ("[2, 2]", [("2",)]),
        ("[^4]", [("4",)]),
        ("[doc_12]", [("doc_12",)]),
        (f"[1-{MAX_CITED_IDS}]", [tuple(str(n) for n in range(1, MAX_CITED_IDS + 1))]),
    ],
)
def test_brackets_with_ids_are_citations(text: str, ids: list[tuple[str, ...]]) -> None:
    assert cited(text) == ids


@pytest.mark.parametrize(
    "text",
    [
        f"[1-{MAX_CITED_IDS + 1}]",
        "[1-30, 31-60]",
        "[1-999999999]",
        "[" + "9" * 5000 + "]",
        "[3-1]",
        "[1, 3-1]",
        "[S1-T3]",
        "[]",
        "[a]",
        "[0.5, 1]",
        "[Eiffel Tower](https://a.org)",
        "[1\n]",
        "`a[0]` and ``b[`1]``",
        r"\[1\]",
    ],
)
def test_other_brackets_are_none(text: str) -> None:
    assert cited(text) == []


def test_a_citation_covers_its_brackets_and_the_target_of_its_link() -> None:
    text = "So [1] and [2](https://a.org) too."
    assert parse_citations(text) == (
        Citation(start=3, end=6, ids=("1",)),
        Citation(start=11, end=29, ids=("2",)),
    )
    assert parse_citations(text, 7) == (Citation(start=11, end=29, ids=("2",)),)
    assert parse_citations(text, 0, 5) == ()


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    text = "It was a warehouse. [S0] Its namesake left. [1] [2-3](u) He\ndied.[4]\nNo. [5]"
    assert claims(text) == [
        "It was a warehouse. [S0]",
        "Its namesake left. [1] [2-3](u)",
        "He\ndied.[4]",
        "No. [5]",
    ]
    ids = [[citation.ids for citation in found.citations] for found in segment(text)]
    assert ids == [[("S0",)], [("1",), ("2", "3")], [("4",)], [("5",)]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It closed.[1] It was sold.", ["It closed.[1]", "It was sold."]),
        ("It closed.[1]It was sold.", ["It closed.[1]", "It was sold."]),
        ("It closed.[1], it was sold.", ["It closed.[1], it was sold."]),
        ("See e.g. [1] Smith.", ["See e.g. [1] Smith."]),
        ("It closed [1]. It was sold.", ["It closed [1].", "It was sold."]),
        ("**It closed. [1]** It was sold.", ["**It closed. [1]**", "It was sold."]),
        ("塔很高。[1] 它很老。", ["塔很高。[1]", "它很老。"]),
        ("It closed.\n[1] [2]\nIt was sold.", ["It closed.\n[1] [2]", "It was sold."]),
        ("It closed\n[1]\nIt was sold.", ["It closed\n[1]", "It was sold."]),
        ("It closed.\n[1] Smith, 2020.", ["It closed.", "[1] Smith, 2020."]),
        ("It closed. [Note] It was sold.", ["It closed.", "[Note] It was sold."]),
    ],
)
def test_citations_stay_with_their_sentence(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


def test_offsets_of_segments_and_citations_count_in_the_whole_text() -> None:
    assert segment("  Yes. \n\n It is [S0].") == (
        Segment(start=2, end=6),
        Segment(start=10, end=21, citations=(Citation(start=16, end=20, ids=("S0",)),)),
    )


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("It is tall (S0).", [("S0",)]),
        ("It is tall (see S0, S1). It is old. (Source: S1)", [("S0", "S1"), ("S1",)]),
        ("Its third sound (S3) is heard in class (1) of 2 (2).", []),
        ("It is tall (S0, S3).", []),
        ("`f(S0)`", []),
    ],
)
def test_round_brackets_cite_the_sources_that_are_known(
    text: str, ids: list[tuple[str, ...]]
) -> None:
    found = segment(text, known=["S0", "1"])
    assert [citation.ids for each in found for citation in each.citations] == ids
    assert not any(each.citations for each in segment(text))


def test_round_citations_stay_with_their_sentence_however_they_arrive() -> None:
    text = "It closed. (S0) It was sold.\n(S1)\nIt is (S0"
    segmenter, known = Segmenter(["S0", "S1"]), ["S0", "S1"]
    found = [piece for char in text for piece in segmenter.feed(char)] + segmenter.finish()
    assert tuple(found) == segment(text, known=known)
    assert [text[each.start : each.end] for each in found] == [
        "It closed. (S0)",
        "It was sold.\n(S1)",
        "It is (S0",
    ]
