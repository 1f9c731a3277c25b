"""Rows on their way to a worker and back."""

from dataclasses import replace
from pathlib import Path

from groundwire.detection.example import Example, Source
from groundwire.detection.values import Label
from groundwire.evaluation.datasets.files import FailedRow, NumberedAnswer
from groundwire.evaluation.datasets.labelled import GoldSpan, Known
from groundwire.evaluation.scale.packed import pack, pack_judged, unpack, unpack_judged
from tests.evaluation.labelled import labelled
from tests.evaluation.results import judged, some_answers
from tests.evaluation.scale.data import rows_in


def test_what_comes_out_is_what_went_in(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, 12)
    assert [unpack(pack(row)) for row in rows] == rows
    assert {type(row) for row in rows} == {NumberedAnswer, FailedRow}


def test_every_field_of_an_answer_is_kept() -> None:
    span = GoldSpan(
        start=0, end=2, label=Label.CONTRADICTED, kind="k", implicit_true=True, due_to_null=True
    )
    answer = replace(
        labelled("It is."),
        example=Example.of(
            sources=[Source(text="A", id="x", title="T")], question="Is it?", answer="It is."
        ),
        spans=(span,),
        quality="truncated",
        model="m",
        known=Known.ANSWER,
        label=False,
        columns={"half": "\ud800"},
    )
    row = NumberedAnswer(row=2**40, answer=answer, sha256="0" * 16)
    assert unpack(pack(row)) == row


def test_judged_rows_come_back_as_they_were() -> None:
    rows = judged([*some_answers(4), replace(labelled("It is bad."), id="b")])
    assert any(row.error for row in rows)
    assert [unpack_judged(pack_judged(row)) for row in rows] == rows
