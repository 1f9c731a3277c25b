"""Scores as a table for people."""

import re

from groundwire.evaluation.evaluation import Evaluation
from groundwire.evaluation.judging import failed_row
from groundwire.evaluation.table import to_text, why_no_interval
from tests.evaluation.labelled import labelled
from tests.evaluation.results import (
    evaluated,
    failed,
    header,
    judged,
    some_answers,
    unchecked,
)
from tests.evaluation.test_evaluation import ANSWERS


def below(text: str) -> list[str]:
    """The lines below the sentences at the beginning."""
    return text.partition("\n\n")[2].splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_it_begins_with_how_many_answers_were_flagged_rightly_and_wrongly() -> None:
    text = to_text(evaluated(ANSWERS))
    assert text.startswith(
        "Of 5 labelled answers 3 are wrong (hallucinated); the detector flagged 1 of these.\n"
        "It also flagged 1 of the 2 right answers that it checked.\n\nfixed "
    )
    assert to_text(evaluated(ANSWERS[:1])).startswith("Of 1 labelled answer 1 is wrong ")


def test_each_task_has_a_row_and_all_come_last() -> None:
    first, blank, head, qa, summary, everything, *_ = below(to_text(evaluated(ANSWERS)))
    assert first == "fixed 000000000000, balanced (0.5)"
    assert blank == ""
    assert cells(head)[:4] == ["task", "answers", "halluc.", "precision"]
    assert cells(qa) == [
        *("QA", "3", "2", "100.0", "50.0", "66.7 (- to -)", "80.0"),
        *("75.0 (- to -)", "0.0", "76.9 (- to -)"),
    ]
    assert cells(summary)[0] == "Summary"
    assert cells(everything)[:2] == ["all", "5"]


def test_answers_without_a_task_have_a_row_of_their_own() -> None:
    answers = [
        labelled("It is fine.", task=task, id_=str(i)) for i, task in enumerate(("", "all", "all"))
    ]
    rows = [cells(line)[:2] for line in below(to_text(evaluated(answers)))[3:6]]
    assert rows == [["(none)", "1"], ["all", "2"], ["all", "3"]]


def test_a_score_of_enough_contexts_has_an_interval() -> None:
    row = cells(to_text(evaluated(some_answers(60, n_contexts=30))).splitlines()[-4])
    assert row[0] == "all"
    assert re.fullmatch(r"66\.7 \(\d+\.\d to \d+\.\d\)", row[5])


def test_why_there_is_no_interval_is_told() -> None:
    few = to_text(evaluated(some_answers(40, n_contexts=9)))
    assert "No interval: under 10 contexts (different sources), or all scores are equal.\n" in few
    assert why_no_interval("81.2 (78.0 to 84.1)") == ""


def test_the_only_task_is_not_told_twice_if_it_has_no_name() -> None:
    lines = below(to_text(evaluated([labelled("It is fine.", task="")])))
    assert [cells(line)[0] for line in lines[2:4]] == ["task", "all"]


def test_a_long_name_of_a_task_leaves_room_for_the_scores() -> None:
    lines = below(to_text(evaluated([labelled("It is fine.", task="long " * 40)])))
    assert cells(lines[3])[0] == ("long " * 8).strip()
    assert max(map(len, lines)) < 200


def test_what_is_undefined_is_a_dash() -> None:
    lines = below(to_text(evaluated([labelled("It is fine.", task="")])))
    assert cells(lines[3])[3:6] == ["-", "-", "- (- to -)"]


def test_without_answers_there_is_a_row_of_dashes() -> None:
    text = to_text(Evaluation.of(header(), [failed_row(failed(1))]).to_dict())
    assert cells(text.splitlines()[3])[:3] == ["all", "0", "-"]
    assert "1 row could not be read (in no score)\n  row 1, id 1: t.jsonl:1: bad" in text


def test_beside_the_table_stands_what_is_to_be_known() -> None:
    text = to_text(evaluated(ANSWERS))
    assert "a check      P50 2 ms, P99 2 ms" in text
    assert "not fully checked  1 (failed)" in text
    assert "1 check failed (missed if hallucinated, else in no score)" in text
    assert "row 4, id 4: The detector failed on 'bad'." in text


def test_only_some_failed_rows_are_shown() -> None:
    failures = (failed_row(failed(row, f"bad {row}")) for row in range(2, 30))
    text = to_text(Evaluation.of(header(), [*judged(ANSWERS[:1]), *failures]).to_dict())
    assert "28 rows could not be read (in no score)" in text
    assert text.count("t.jsonl:") == 5
    assert text.endswith("\n  and 23 more")


def test_an_error_that_many_rows_have_is_told_once() -> None:
    labels = {row: f"the label {'ja' if row % 2 else 'nein'!r} is none" for row in range(2, 30)}
    failures = [failed_row(failed(row, problem)) for row, problem in labels.items()]
    other = failed_row(failed(30))
    text = to_text(Evaluation.of(header(), [*judged(ANSWERS[:1]), *failures, other]).to_dict())
    assert text.partition("(in no score)\n")[2].splitlines() == [
        "  row 2, id 2: t.jsonl:2: the label 'nein' is none",
        "    and 27 more like it, the first in row 3, 4, 5, 6, 7",
        "  row 30, id 30: t.jsonl:30: bad",
    ]


def test_answers_of_which_nothing_was_checked_are_told() -> None:
    text = to_text(evaluated([*ANSWERS, unchecked("It is fine."), unchecked("So it is.")]))
    assert "not fully checked  3 (no_evidence)" in text
    said = "2 answers were not checked at all (missed if hallucinated, else in no score)"
    assert said in text


def test_names_and_messages_of_the_data_cannot_act_on_a_terminal() -> None:
    hostile = "\x1b[2J\nfake"
    text = to_text(evaluated([labelled("It is bad.", id_=hostile, task=hostile)]))
    assert "\x1b" not in text
    assert "\nfake" not in text
