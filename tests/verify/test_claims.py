import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.tree import Verify
from groundwire.detection.example import Source
from groundwire.verify.claims import ReadAnswer, VerifiableClaim, read_answer, read_claims
from groundwire.verify.errors import NotVerifiedError

CURLY = r"\{(?P<id>\w+)\}"


def cited(answer: str, *ids: str, **how: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(c.text, c.cites) for c in read_claims(answer, span_ids=ids or ("S0", "S1"), **how)]


def only(answer: str, *ids: str) -> VerifiableClaim:
    (claim,) = read_claims(answer, span_ids=ids or ("S0", "S1"))
    return claim


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert cited("A is true. [S0] B is false. [S1]") == [
        ("A is true.", ("S0",)),
        ("B is false.", ("S1",)),
    ]


def test_lists_and_ranges_are_written_out() -> None:
    assert cited("A is so [S0, S1]. B is [S0-S1] so.") == [
        ("A is so.", ("S0", "S1")),
        ("B is so.", ("S0", "S1")),
    ]


def test_markers_are_no_part_of_the_claim() -> None:
    claim = only("The service supports Gemini [S404].")
    assert claim.text == "The service supports Gemini."
    assert claim.raw_text == "The service supports Gemini [S404]."
    assert (claim.cites, claim.raw_cites, claim.unknown) == ((), ("S404",), ("S404",))


def test_a_claim_that_cites_only_what_there_is_not_has_citations() -> None:
    assert only("A is so [S9].").has_citations
    assert not only("A is so.").has_citations


def test_abbreviations_end_no_claim() -> None:
    assert [text for text, _ in cited("Dr. Smith sells e.g. tea [S0]. It costs 3.5 [S1].")] == [
        "Dr. Smith sells e.g. tea.",
        "It costs 3.5.",
    ]


def test_brackets_that_hold_the_name_of_a_span_cite_it() -> None:
    assert cited("A is so [intro]. B is so. [doc-1, intro] C is [sic] so.", "intro", "doc-1") == [
        ("A is so.", ("intro",)),
        ("B is so.", ("doc-1", "intro")),
        ("C is [sic] so.", ()),
    ]


@pytest.mark.parametrize(
    ("brackets", "cites", "unknown"),
    [
        ("[doc-1] [doc-9]", ("doc-1",), ("doc-9",)),
        ("[doc-9]", (), ("doc-9",)),
        ("[doc-1-doc-3]", (), ("doc-1-doc-3",)),
        ("[intro, nope]", ("intro",), ("nope",)),
        ("[1][9999999]", ("1",), ("9999999",)),
        ("[S9999999]", (), ("S9999999",)),
        ("[1, S9999999]", ("1",), ("S9999999",)),
        ("[1] [nope]", ("1",), ("nope",)),
        ("[nope] [1]", ("1",), ("nope",)),
        ("[nope]", (), ("nope",)),
        ("[1][9-2]", ("1",), ("9-2",)),
        ("[1, 3-1]", ("1",), ("3-1",)),
        ("[1-99]", (), ("1-99",)),
        ("[doc-1, p. 4]", ("doc-1",), ("p. 4",)),
        ("[S9: p. 4]", (), ("S9: p. 4",)),
        ("[Document 7]", (), ("Document 7",)),
        ("[notes.md]", (), ("notes.md",)),
    ],
)
def test_an_id_that_no_span_has_is_unknown_however_it_is_bracketed(
    brackets: str, cites: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    claim = only(f"Tokens last for an hour {brackets}.", "doc-1", "intro", "1", "auth.md")
    assert (claim.cites, claim.unknown) == (cites, unknown)
    assert claim.text == "Tokens last for an hour."


def test_a_range_of_more_ids_than_a_citation_may_name_is_unknown_and_a_list_is_not() -> None:
    ids = [f"S{number}" for number in range(60)]
    assert only("A is so [S0-S55].", *ids).unknown == ("S0-S55",)
    assert only(f"A is so [{', '.join(ids)}].", *ids).cites == tuple(ids)


@pytest.mark.parametrize(
    "text",
    [
        "It was good [sic] and it is so.",
        "He said that it is so [emphasis added].",
        "The king [Charles] died in [the] tower.",
        "[t]he tower is old.",
        "Read the [manual](https://a.org/b).",
        "[x] It is done.",
        "Values lie in [0.5, 1].",
        "Keys are in list[str].",
        "It was built [in May 2021].",
    ],
)
def test_brackets_of_prose_are_no_citations(text: str) -> None:
    (claim,) = read_claims(text, span_ids=["0", "1", "S0"])
    assert (claim.text, claim.raw_cites) == (text, ())


@pytest.mark.parametrize(
    "brackets",
    [
        "【S1】",
        "［S1］",
        "[S1†L1-L3]",
        "【1†source】",
        "[source: S1]",
        "[\u200bS1]",
        "[S１]",
        "[[S1]]",
        "[[1]](https://a.org/b)",
    ],
)
def test_other_ways_to_write_a_citation(brackets: str) -> None:
    claim = only(f"A is so {brackets}.", "S0", "S1")
    assert (claim.text, claim.cites, claim.unknown) == ("A is so.", ("S1",), ())


def test_ids_may_be_joined_by_words_and_dots() -> None:
    assert cited("A is so [S0 and S1]. B is so [S0..S2]. C is so [S0 S2].", "S0", "S1", "S2") == [
        ("A is so.", ("S0", "S1")),
        ("B is so.", ("S0", "S1", "S2")),
        ("C is so.", ("S0", "S2")),
    ]


def test_the_index_of_a_variable_is_no_citation() -> None:
    assert cited("It is so if x[0] is set [S1].") == [("It is so if x[0] is set.", ("S1",))]
    assert cited("It is so if x[0] is set.", claim_split="lines")[0][1] == ()


@pytest.mark.parametrize("end", ["", "."])
def test_a_citation_on_a_new_line_is_one_whatever_letter_is_before(end: str) -> None:
    (claim,) = read_claims(f"The tower opened in May{end}\n[S7]", span_ids=["S0"])
    assert claim.unknown == ("S7",)


def test_an_address_with_brackets_belongs_to_its_citation() -> None:
    text = "It is tall [1](https://en.wikipedia.org/wiki/Tower_(Paris)). It is old."
    found = read_claims(text, span_ids=["1"])
    assert [(each.text, each.cites) for each in found] == [
        ("It is tall.", ("1",)),
        ("It is old.", ()),
    ]


def test_the_index_of_a_list_in_code_is_no_citation() -> None:
    (claim,) = read_claims("```python\nfirst = items[0]\n```", span_ids=["S0"])
    assert (claim.text, claim.raw_cites) == ("first = items[0]", ())


def test_where_a_span_is_on_the_web_is_no_claim() -> None:
    assert cited("A is so [S1].\n\n[S1]: https://a.org/b") == [("A is so.", ("S1",))]
    assert only("[S9]: https://a.org/b").unknown == ("S9",)


def test_nothing_in_a_block_of_code_cites_but_what_cites_everywhere() -> None:
    assert cited("```\nx = a[nope]\n```") == [("x = a[nope]", ())]


def test_nothing_in_code_cites() -> None:
    assert cited("Call `x[S0]` or `y[intro]` first.", "S0", "intro") == [
        ("Call `x[S0]` or `y[intro]` first.", ())
    ]


def test_lines_are_claims_if_asked_for() -> None:
    answer = "A is so. [S0] Still A.\n\n- B is so.\n[S1]\n"
    assert cited(answer, claim_split="lines") == [
        ("A is so. Still A.", ("S0",)),
        ("- B is so.", ("S1",)),
    ]


def test_another_pattern_reads_other_citations_and_no_brackets() -> None:
    answer = "A is so. {S0} B is [S1] so {S1}.\n{S0} C is so."
    assert cited(answer, citation_regex=CURLY) == [
        ("A is so.", ("S0",)),
        ("B is [S1] so.", ("S1",)),
        ("C is so.", ("S0",)),
    ]


def test_a_pattern_may_have_other_brackets() -> None:
    answer = "A is so. 【S1】 B is so.\n\n【S1】: https://example.com/a"
    assert cited(answer, citation_regex=r"【(?P<id>S\d+)】") == [
        ("A is so.", ("S1",)),
        ("B is so.", ()),
    ]


def test_a_pattern_may_have_letters_of_all_scripts_and_not_any_size() -> None:
    found = read_claims(
        "It is so {東京}.", span_ids=["東京"], citation_regex=r"\{(?P<id>[\p{L}_-]+)\}"
    )
    assert found[0].cites == ("東京",)
    huge = r"(?P<id>(\p{L}{1,900}){1,9})"
    with pytest.raises(NotVerifiedError, match="cannot be used"):
        read_claims("A.", span_ids=[], citation_regex=huge)


def test_a_pattern_reads_characters_not_bytes() -> None:
    assert cited("Der Turm ist groß 😀 {S0}. Ü {S1}.", citation_regex=CURLY) == [
        ("Der Turm ist groß 😀.", ("S0",)),
        ("Ü.", ("S1",)),
    ]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("(", "cannot be used"), (r"(?<=x)(?P<id>\w)", "cannot be used"), (r"\[(\w+)\]", "named id")],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(NotVerifiedError, match=problem):
        read_claims("A [S0].", span_ids=["S0"], citation_regex=pattern)


def test_a_citation_before_any_claim_belongs_to_the_first() -> None:
    assert cited("[S0]\nA is true. B is.") == [("A is true.", ("S0",)), ("B is.", ())]


@pytest.mark.parametrize("answer", ["", " \n", "---", "[S0]", "[S0] [S1]\n***"])
def test_an_answer_that_states_nothing_has_no_claims(answer: str) -> None:
    assert cited(answer) == []


@given(
    st.text(st.sampled_from("ab. \n[]{}(),-S019`*intro【】:/"), max_size=120),
    st.sampled_from(["sentences", "lines"]),
    st.sampled_from([None, CURLY]),
)
def test_every_claim_has_words_and_every_cited_span_is_there(
    answer: str, split: str, pattern: str | None
) -> None:
    claims = read_claims(
        answer, span_ids=["S0", "S1", "intro"], claim_split=split, citation_regex=pattern
    )
    assert [claim.idx for claim in claims] == list(range(len(claims)))
    for claim in claims:
        assert any(char.isalnum() for char in claim.text)
        assert claim.raw_text in answer
        assert set(claim.cites) <= {"S0", "S1", "intro"}
        assert len(claim.raw_cites) >= len(claim.unknown)


def answered(answer: str) -> ReadAnswer:
    spans = [Source(id="S0", text="Tokens last for 60 minutes."), Source(id="S1", text="x")]
    return read_answer(answer, spans, Verify())


def test_what_claims_nothing_is_not_verified() -> None:
    found = answered("## Tokens\n\nTokens last for 60 minutes [S0].\n\nSources: [S0]\n\nCheers!")
    assert [claim.text for claim in found.claims] == ["Tokens last for 60 minutes."]
    assert [kind for kind, _ in found.asides] == ["heading", "sources", "closing"]


def test_an_unknown_id_in_a_list_of_sources_is_a_claim() -> None:
    found = answered("Tokens last for 60 minutes [S0].\n\nSources: [S9]")
    assert [claim.unknown for claim in found.claims] == [(), ("S9",)]


def test_a_number_before_an_entry_of_a_list_of_sources_is_no_claim() -> None:
    found = answered("Tokens last for 60 minutes [S0].\n\nReferences:\n\n1. [S0]\n2. [S1]")
    assert [kind for kind, _ in found.asides] == ["sources"] * 3
    # Elsewhere the number may be the answer, and in the list a text may be a claim.
    assert [claim.text for claim in answered("1. [S0]").claims] == ["1."]
    found = answered("Tokens last for 60 minutes [S0].\n\nReferences:\n\n1. [S0] They never end")
    assert [claim.text for claim in found.claims][1:] == ["They never end"]


def test_beside_a_known_id_in_round_brackets_unknown_ones_cite_too() -> None:
    found = answered("It is so (S0). It is not so (S9). It is in class (A1).")
    assert [claim.cites for claim in found.claims] == [("S0",), (), ()]
    assert [claim.unknown for claim in found.claims] == [(), ("S9",), ()]
