"""How a text divides into claims: the rules, one example each, and what holds for any text."""

import re
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.segment import (
    MAX_CITED_IDS,
    MAX_CLAIM_CHARS,
    Citation,
    Segment,
    Segmenter,
    parse_citations,
    segment,
)


def claims(text: str) -> list[str]:
    return [text[found.start : found.end] for found in segment(text)]


def cited(text: str) -> list[tuple[str, ...]]:
    return [citation.ids for citation in parse_citations(text)]


def streamed(text: str, size: int) -> list[Segment]:
    segmenter = Segmenter()
    found = []
    for start in range(0, len(text), size):
        found += segmenter.feed(text[start : start + size])
    return found + segmenter.finish()


# -- sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It closed. It was sold.", ["It closed.", "It was sold."]),
        ("It closed.  It was sold", ["It closed.", "It was sold"]),
        ("Why? Nobody knows! Really?! Yes.", ["Why?", "Nobody knows!", "Really?!", "Yes."]),
        ("It has 3.5 rooms and 1,000 doors.", ["It has 3.5 rooms and 1,000 doors."]),
        ("Use v2.3.1. It works.", ["Use v2.3.1.", "It works."]),
        ("It is 330 m. It opened in 1889. He left.",
         ["It is 330 m.", "It opened in 1889.", "He left."]),
        ("Bake at 350°F. Mix well.", ["Bake at 350°F.", "Mix well."]),
        ("He runs node.js. We use .NET too.", ["He runs node.js.", "We use .NET too."]),
        ("It fell. iPhone sales rose.", ["It fell.", "iPhone sales rose."]),
        ("(It closed.) Then it opened.", ["(It closed.)", "Then it opened."]),
    ],
)  # fmt: skip
def test_a_full_stop_white_space_and_a_new_word_end_a_sentence(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mrs. Jones and Prof. Lee in St. Louis.",
        "Some fruit, e.g. Apples, i.e. Malus, cf. Pears, vs. Plums.",
        "See No. 5, p. 3, pp. 4-5, Fig. 2, Vol. III and Sec. 7.",
        "The U.S. Army met at 3 p.m. Monday in Washington, D.C. Headquarters.",
        "Acme Inc. Chairman Bob Ray Jr. spoke.",
        "On Jan. 5 and Sept. 11 it rained, approx. five times.",
        "J. K. Rowling, John F. Kennedy and J.R.R. Tolkien wrote.",
        "Er kam z. B. am 3. Oktober bzw. Montag, d.h. Nr. 5 galt.",
        "M. Dupont et Mme. Durand, p. 5.",
        "El Sr. García vive en la pág. 5.",
        "Smith et al. Nature 2020.",
        "He met U. S. Grant.",
        "Yahoo! is a company. it has a mark.",
        "Yahoo! Japan grew.",
    ],
)
def test_an_abbreviation_or_a_small_letter_goes_on(text: str) -> None:
    assert claims(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He works at Acme Inc. The plant closed.", ["He works at Acme Inc.", "The plant closed."]),
        ("He lives in the U.S. It is big.", ["He lives in the U.S.", "It is big."]),
        ("Lemons have vitamin C. They are sour.", ["Lemons have vitamin C.", "They are sour."]),
        ("It came in Jan. Then it left.", ["It came in Jan.", "Then it left."]),
        ("She knew more than I. Nobody asked.", ["She knew more than I.", "Nobody asked."]),
        ("Is it open? No. Visitors must wait.", ["Is it open?", "No.", "Visitors must wait."]),
        ("The cat sat. Dogs ran.", ["The cat sat.", "Dogs ran."]),
        ("Solve for x. Multiply it.", ["Solve for x.", "Multiply it."]),
    ],
)
def test_an_abbreviation_may_end_a_sentence_if_a_typical_first_word_follows(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected


def test_an_ellipsis_goes_on_before_a_small_letter_only() -> None:
    assert claims("He waited... and left. Then... Nothing… at all… Really.") == [
        "He waited... and left.",
        "Then...",
        "Nothing… at all…",
        "Really.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said "Stop." She left.', ['He said "Stop."', "She left."]),
        ("“It closed.” Then it rained.", ["“It closed.”", "Then it rained."]),
        ('"Why?" he asked. "Go!"', ['"Why?" he asked.', '"Go!"']),
        ("**It closed.** It was sold.", ["**It closed.**", "It was sold."]),
        ("_It (really) closed.)_ It was sold.¹ Yes.",
         ["_It (really) closed.)_", "It was sold.¹", "Yes."]),
    ],
)  # fmt: skip
def test_closing_marks_belong_to_the_sentence_they_close(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


def test_a_cjk_full_stop_needs_no_white_space() -> None:
    assert claims("塔很高。它在1889年建成！真的吗？「是的。」他说。“好。”我走了") == [
        "塔很高。",
        "它在1889年建成！",
        "真的吗？",
        "「是的。」",
        "他说。",
        "“好。”",
        "我走了",
    ]


def test_a_japanese_quotation_goes_on_before_its_particle() -> None:
    assert claims("彼は「行く。」と言った。雨だ。") == ["彼は「行く。」と言った。", "雨だ。"]


def test_other_scripts_have_full_stops_too() -> None:
    assert claims("यह बड़ा है। वह छोटा है।") == ["यह बड़ा है।", "वह छोटा है।"]
    assert claims("هل هو كبير؟ نعم.") == ["هل هو كبير؟", "نعم."]


@pytest.mark.parametrize(
    "text",
    [
        "See https://a.org/x.html?q=1.5!b and mail to a.b@c.co.uk for more.",
        "Call `a. B` or ``x`. Y`` now.",
    ],
)
def test_addresses_and_inline_code_have_no_boundaries(text: str) -> None:
    assert claims(text) == [text]


def test_a_backtick_that_nothing_closes_hides_no_boundary() -> None:
    assert claims("The ` key. It is small.\nA `b. C\nD` e.") == [
        "The ` key.",
        "It is small.",
        "A `b.",
        "C",
        "D` e.",
    ]


def test_a_written_out_line_break_of_json_counts_as_white_space() -> None:
    assert claims(r"It closed.\nThe plant was sold. \n\nMy view.") == [
        "It closed.",
        r"\nThe plant was sold.",
        r"\n\nMy view.",
    ]


# -- lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A tower\nA bridge", ["A tower", "A bridge"]),
        ("The tower is\nvery tall.\nIt is iron.", ["The tower is\nvery tall.", "It is iron."]),
        ("The tower\n\nis tall", ["The tower", "is tall"]),
        ("The tower\r\n\r\nis tall", ["The tower", "is tall"]),
        ("The tower\r\nis tall", ["The tower\r\nis tall"]),
        ("Closed.\nopen", ["Closed.", "open"]),
        ("We need:\nflour\nand sugar", ["We need:", "flour\nand sugar"]),
        ("name: Bob\nage: 5\nhome.town: Rome", ["name: Bob", "age: 5", "home.town: Rome"]),
        ("Approx.\nfive", ["Approx.\nfive"]),
        ("It was built by the\nEiffel company.", ["It was built by the\nEiffel company."]),
        ("Iron, stone,\n`Wood` and the\n18 men", ["Iron, stone,\n`Wood` and the\n18 men"]),
        ("Tea and\n- milk", ["Tea and", "milk"]),
        ("Tea and\n2. Milk", ["Tea and", "Milk"]),
        ("Tea and\nMilk: cold", ["Tea and", "Milk: cold"]),
        ("Tea and\n```\nx = 1\n```", ["Tea and", "x = 1"]),
        ('"a": true,\n"b": 5', ['"a": true,', '"b": 5']),
        ("name | age\nbob | 5\nx = 1\ny,2", ["name | age", "bob | 5", "x = 1", "y,2"]),
        ("A\u2028B\u2029C\x85D\x0bE", ["A", "B", "C", "D", "E"]),
        ("A claim\n---\n***\nanother", ["A claim", "another"]),
    ],
)
def test_a_line_break_ends_a_claim_unless_the_next_line_goes_on(
    text: str, expected: list[str]
) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. Mix it. Stir.\n2. Bake it.\n10) Eat it.",
         ["Mix it.", "Stir.", "Bake it.", "Eat it."]),
        ("- one\n* two\n+ three\n  • four", ["one", "two", "three", "four"]),
        ("a) one\nb) two\n(c) three\n(12) four\niv) five\nb. six",
         ["one", "two", "three", "four", "five", "six"]),
        ("- 1. one\n> - two", ["one", "two"]),
        ("Steps: 1. Mix. 2. Bake.", ["Steps: 1. Mix.", "2. Bake."]),
        ("A. The first. B. The second.", ["A. The first.", "B. The second."]),
    ],
)  # fmt: skip
def test_a_list_item_is_its_own_claim_without_its_marker(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize("text", ["42.", "42.\n", "7)", "1889. The year.", "-5 degrees", "1.5 m"])
def test_what_only_looks_like_a_marker_is_a_claim(text: str) -> None:
    assert "".join(claims(text)).startswith(text.split()[0])


def test_marks_of_headings_and_quotes_are_gaps() -> None:
    assert claims("# The tower\nis tall\n### 2. Its height\n> It is tall. Very.\n#hashtag") == [
        "The tower",
        "is tall",
        "Its height",
        "It is tall.",
        "Very.",
        "#hashtag",
    ]


def test_each_row_of_a_table_is_a_claim() -> None:
    table = "| Name | Height. Of it |\n|---|:-:|\n| Eiffel. Tower | 330 m [1] |\n\nNext. One"
    assert claims(table) == [
        "Name | Height. Of it",
        "Eiffel. Tower | 330 m [1]",
        "Next.",
        "One",
    ]
    assert segment(table)[1].citations[0].ids == ("1",)


def test_each_line_of_fenced_code_is_a_claim_and_the_fence_a_gap() -> None:
    code = "Run:\n```python\na = b. C[0]\n\n  return. Now\n```\nIt works. Yes."
    assert claims(code) == ["Run:", "a = b. C[0]", "return. Now", "It works.", "Yes."]
    assert segment(code)[1].citations == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~~~\na. B\n```\n~~~~\nSo. Yes", ["a. B", "So.", "Yes"]),
        ("````\n```\na. B\n```\n````\nSo. Yes", ["a. B", "So.", "Yes"]),
        ("```a. B``` is code. Yes", ["```a. B``` is code.", "Yes"]),
        ("```The tower is tall\na. B\n```\nSo. Yes", ["The tower is tall", "a. B", "So.", "Yes"]),
        ("```python", []),
        ("```\na. B", ["a. B"]),
        ("> ```\n> a. B\n> ```\n> So. Yes", ["a. B", "So.", "Yes"]),
    ],
)
def test_a_fence_ends_at_its_like_and_hides_no_statement(text: str, expected: list[str]) -> None:
    assert claims(text) == expected


# -- citations


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


# -- forced cuts


def test_a_claim_that_is_too_long_is_cut_at_the_last_white_space() -> None:
    text = "word " * 200
    assert [len(claim) for claim in claims(text)] == [599, 399]


def test_a_word_that_is_too_long_is_cut_at_the_maximum() -> None:
    assert [len(claim) for claim in claims("x" * 1300)] == [600, 600, 100]


def test_a_claim_of_just_the_maximum_is_not_cut() -> None:
    assert [len(claim) for claim in claims("x" * 599 + ". Yes")] == [600, 3]


def test_a_cut_keeps_a_letter_and_its_marks_together() -> None:
    text = "x" * 599 + "e\u0301" * 10
    assert [len(claim) for claim in claims(text)] == [599 + 0, 20]
    assert [len(claim) for claim in claims("x" + "\u0301" * 700)] == [600]


def test_a_cut_keeps_an_emoji_sequence_together() -> None:
    text = "x" * 598 + "👩\u200d🔬" + "y" * 5
    assert [len(claim) for claim in claims(text)] == [598, 8]


# -- streaming


@pytest.mark.parametrize(
    "held",
    [
        *["It closed.", "It closed. ", "It closed. [", "It closed. [S0", "It closed. [1](ht"],
        *["It closed.\n", "It closed.\n[1]", "It closed.)", "It closed. i", "It closed.\\"],
        *["Acme Inc. Th", "A `b. C", "It closed.\r", "塔很高。"],
    ],
)
def test_an_ambiguous_end_is_held_back(held: str) -> None:
    assert Segmenter().feed(held) == []


@pytest.mark.parametrize("rest", ["It ", "[S0] I", "\nA", "\n\n", "(T", "- T", "**B"])
def test_a_boundary_is_committed_as_soon_as_the_next_word_shows(rest: str) -> None:
    assert len(Segmenter().feed("It closed. " + rest)) == 1


def test_the_text_so_far_is_at_hand() -> None:
    segmenter = Segmenter()
    segmenter.feed("It ")
    segmenter.feed("closed.")
    assert segmenter.text == "It closed."
    assert Segmenter().text == ""


def test_a_finished_segmenter_takes_no_more_text() -> None:
    segmenter = Segmenter()
    segmenter.feed("It closed.")
    assert len(segmenter.finish()) == 1
    assert segmenter.finish() == []
    with pytest.raises(RuntimeError, match="Make a new Segmenter"):
        segmenter.feed("More.")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "...", "| --- |", "🎉", "``` ```", "- - -"])
def test_a_text_without_letters_and_digits_has_no_claims(text: str) -> None:
    assert claims(text) == []


def test_a_segment_refuses_an_empty_range() -> None:
    with pytest.raises(ValueError, match="0 <= start < end"):
        Segment(start=3, end=3)


# -- what holds for any text

ATOMS = [
    *["a", "B", "foo", "The", "Dr", "Inc", "U.S", "e.g", "I", "iPhone", "1", "12", "x" * 90],
    *[".", ". ", "..", "...", "!", "?", "…", "。", "」", '"', ")", "(", "*", "**", "と", "\\n"],
    *[" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u2028", "\x85", "\x1c", "\x1f", "\u00a0"],
    *["`", "``", "```", "```py\n", "~~~", "|", "|---|", "# ", "- ", "* ", ">", ":", "1. ", "a) "],
    *["[", "]", "[S0]", "[1, 2]", "[1", "](", "[3](u)", "(u)", "^", "–", "key: ", "ii. "],
    *["\u0301", "\u200d", "🎉", "👩", "\U0001f3fd", "é", "ß", "ǆ", "م", "؟", "य", "。“", "\ufeff"],
]
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(ATOMS), max_size=80).map("".join),
    st.lists(st.sampled_from(ATOMS[:40]), max_size=8).map(lambda atoms: "".join(atoms) * 40),
)
ENUMERATOR = re.compile(r"\W*(?:[0-9]{1,3}|[a-z]|[ivx]{2,5})[.)]\s")
FENCE = re.compile(r"\W*(?:`{3,40}|~{3,40})\s*[^\s`]*\s*")


@settings(max_examples=300, deadline=None)
@given(texts, st.data())
def test_any_way_of_cutting_a_text_gives_the_same_segments(text: str, data: st.DataObject) -> None:
    segmenter = Segmenter()
    found: list[Segment] = []
    position = 0
    while position < len(text):
        size = data.draw(st.integers(min_value=1, max_value=max(1, len(text) // 3)))
        found += segmenter.feed(text[position : position + size])
        position += size
    assert tuple(found + segmenter.finish()) == segment(text)
    assert segmenter.text == text


@settings(max_examples=300, deadline=None)
@given(texts)
def test_one_character_at_a_time_gives_the_same_segments(text: str) -> None:
    assert tuple(streamed(text, 1)) == segment(text)


@settings(max_examples=150, deadline=None)
@given(texts, texts)
def test_what_is_committed_stands_whatever_follows(text: str, rest: str) -> None:
    committed = Segmenter().feed(text)
    assert segment(text + rest)[: len(committed)] == tuple(committed)


def gaps(text: str) -> Iterator[str]:
    position = 0
    for found in segment(text):
        yield text[position : found.start]
        position = found.end
    yield text[position:]


@settings(max_examples=300, deadline=None)
@given(texts)
def test_segments_are_sorted_disjoint_trimmed_and_not_too_long(text: str) -> None:
    position = 0
    for found in segment(text):
        piece = text[found.start : found.end]
        assert position <= found.start < found.end <= len(text)
        assert piece == piece.strip()
        assert any(char.isalnum() for char in piece)
        assert len(piece) <= MAX_CLAIM_CHARS
        position = found.end
    rebuilt = [gap + claim for gap, claim in zip(gaps(text), [*claims(text), ""], strict=True)]
    assert "".join(rebuilt) == text


@settings(max_examples=300, deadline=None)
@given(texts)
def test_gaps_hold_no_letters_or_digits_but_enumerators_and_fence_words(text: str) -> None:
    for gap in gaps(text):
        for line in gap.splitlines():
            marks = ENUMERATOR.sub("", line + " ", count=1)
            if any(char.isalnum() for char in marks):
                assert FENCE.fullmatch(line), (line, text)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_citations_lie_in_their_segment_and_read_the_same_alone(text: str) -> None:
    for found in segment(text):
        for citation in found.citations:
            assert found.start <= citation.start < citation.end <= found.end
            assert text[citation.start] == "["
            assert 1 <= len(citation.ids) <= MAX_CITED_IDS
        if found.citations:
            assert parse_citations(text, found.start, found.end) == found.citations


# -- work

HOSTILE = [
    *["[", ".", " ", "`", "\n", "1. ", "[1", "[1] ", "foo. ", "`a ", "x", "\r", "#", "- ", "|a"],
    *[
        "。",
        "~",
        "*",
        "a\n",
        "`a``b```c",
        "a.[1 ",
        "a.\n[1]",
        "a. (",
        "Inc. ",
        "\\n",
        "> ",
        "\u0301",
    ],
]


def calls(text: str, size: int) -> int:
    """How many functions, of Python and of C, run while a text is fed in pieces."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        streamed(text, size)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", HOSTILE)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    for size in (1, 10_000):
        short, long = (calls((unit * n)[:n], size) for n in (2_000, 6_000))
        assert long <= 3.6 * short + 200
        assert long <= 120 * 6_000


@pytest.mark.parametrize("unit", HOSTILE)
def test_what_is_held_back_is_bounded(unit: str) -> None:
    segmenter = Segmenter()
    for _ in range(4):
        segmenter.feed((unit * 3_000)[:3_000])
        assert len(segmenter._buffer) <= 1_100  # the memory of a stream without claims
