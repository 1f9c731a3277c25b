"""Explanations in words."""

from groundwire.detection.values import EvidenceRef, Label
from groundwire.explain.wording import explanation_text, quote, shortened
from groundwire.text.quotes import QUOTE_CHARS


def text(said: str, line: str) -> str:
    place = EvidenceRef(source_id="S0", start=0, end=len(line), text=line)
    return explanation_text(said, label=Label.CONTRADICTED, evidence=place)


def test_a_long_quote_is_cut_at_words_around_what_matters() -> None:
    line = "before " * 40 + "the tower is green " + "after " * 40
    shown, start, end = shortened(line, around="The tower is red")
    assert "tower" in shown
    assert shown == f"…{line[start:end]}…"
    assert line[start - 1] == " " == line[end]
    assert end - start <= QUOTE_CHARS


def test_the_range_is_that_of_what_is_quoted() -> None:
    line = "filler " * 40 + "the tower is green."
    shown, start, end = shortened(line, around="tower")
    assert f'"{shown}" (S0, characters {start}-{end})' in text("tower", line)


def test_line_breaks_and_controls_do_nothing_in_a_quote() -> None:
    assert quote("a\n\tb\x1b[2J\u202e") == '"a b␛[2J\\u202e"'


def test_what_is_written_out_counts_as_it_is_shown() -> None:
    shown, _, _ = shortened("\u202e" * 500, around="")
    assert len(shown) <= QUOTE_CHARS + 2


def test_the_source_of_a_quote_is_shown_in_one_short_line() -> None:
    ref = EvidenceRef(source_id="evil\n" * 50, start=0, end=2, text="no")
    said = explanation_text("x", label=Label.CONTRADICTED, counterpart=ref, evidence=ref)
    assert "\n" not in said
    assert len(said) < 150
