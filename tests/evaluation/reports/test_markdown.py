"""Markdown for a pull request."""

import re
from dataclasses import replace
from pathlib import Path

from groundwire.evaluation.reports.markdown import code, to_markdown
from groundwire.evaluation.reports.summary import Summary
from tests.evaluation.reports.results import HOSTILE, ROWS, row, summary_of


def test_it_says_what_came_out(summary: Summary) -> None:
    text = to_markdown(summary)
    assert "1 of 3 hallucinated answers were flagged, and 1 of 2 others." in text
    assert "| F1 | 40.0 (- to -) |" in text
    assert "No interval: under 10 contexts (different sources), or all scores are equal." in text
    assert "| QA | 4 | 3 |" in text
    assert "1 answer was not checked at all (missed if hallucinated, else in no score)." in text


def test_what_was_not_read_is_counted_among_all_that_have_a_label(summary: Summary) -> None:
    assert (summary.scores["n_answers"], summary.scores["n_scored"]) == (6, 5)
    assert "\n2 of 6 labelled answers were not read in full.\n" in to_markdown(summary)


def test_the_worst_errors_are_folded_with_their_marks(summary: Summary) -> None:
    text = to_markdown(summary)
    missed = text.index("<summary><b>false negative</b> row 2 ")
    assert missed < text.index("<summary><b>false positive</b> row 3 ")
    assert "<pre>Built ⟦missed&#58; by Eve⟧&#46;</pre>" in text
    assert text.count("<details>") == text.count("</details>")


def test_hostile_text_is_text(tmp_path: Path) -> None:
    hostile = row(f"1950 {HOSTILE}\n\n# Title", id=HOSTILE, task=HOSTILE)
    text = to_markdown(summary_of([hostile, *ROWS], tmp_path))
    for acts in ("<script", "<img", "@octocat", " #12", "](", "**b**", "http:", "`x`", "\n# Title"):
        assert acts not in text
    assert text.count("<details>") == text.count("</details>")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ufffe\ud800]", text)


def test_a_name_with_a_bar_stays_in_its_cell() -> None:
    assert code("a | b\nc") == "<code>a &#124; b c</code>"


def test_it_fits_into_a_comment(tmp_path: Path) -> None:
    rows = [row(f"1950 {i} " + "<&" * 5000, id=str(i)) for i in range(20)]
    summary = summary_of(rows, tmp_path, n_examples=20)
    groups = {f"task {i} {HOSTILE}": summary.scores["tasks"]["QA"] for i in range(80)}
    text = to_markdown(replace(summary, scores={**summary.scores, "tasks": groups}))
    assert "and 50 more" in text
    assert text.count("false positive</b>") == 10
    assert len(text) < 65_536


def test_what_a_comment_has_no_room_for_is_left_out_and_told(tmp_path: Path) -> None:
    rows = [row(f"{i} " + ("1950 " + "|" * 300) * 9, id="[" * 5000 + str(i)) for i in range(12)]
    text = to_markdown(summary_of([*rows, *ROWS], tmp_path, n_examples=20))
    assert len(text) <= 65_536
    n_shown = text.count("<b>false ")
    assert 5 <= n_shown < 10
    assert f"Left out: {10 - n_shown:,} more parts" in text
    assert text.endswith("</sub>\n")
    assert text.count("<details>") == text.count("</details>")


def test_a_long_name_is_cut_between_characters() -> None:
    assert code("[" * 5000) == f"<code>{'&#91;' * 80}…</code>"
    assert code("a" * 400) == f"<code>{'a' * 400}</code>"
