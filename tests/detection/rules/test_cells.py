"""Fields and cells that say otherwise."""

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.rules import Basis, ConflictKind
from groundwire.detection.rules.cells import cells, entries
from groundwire.text.lines import lines_of
from groundwire.text.quantities import QuantityIndex
from tests.detection.rules.against import told_by

FIELD = ConflictKind.FIELD
TREES = """\
| Model | Colour | Weight |
|---|---|---|
| Pine | red | 4 kg |
| Cedar | blue | 5 kg |
| Oak | green | 6 kg |
"""


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("The Pine model has the colour blue.", "blue"),
        ("The weight of Oak is 5 kg.", "5 kg"),
    ],
)
def test_a_cell_of_another_row_is_wrong(claim: str, words: str) -> None:
    assert told_by(cells, claim, TREES) == [(FIELD, words)]


@pytest.mark.parametrize(
    "claim",
    [
        "The Pine model has the colour red.",
        "Pine and Cedar have the colours red and blue.",  # whose is whose is not asked here
        "There is a weight of 5 kg.",  # no row
        "The Birch model has a weight of 5 kg.",
        "The Pine model comes in blue.",  # no column
        "The Pine model has the colour purple.",  # no cell
    ],
)
def test_a_claim_that_names_not_one_row_with_its_column_is_left_alone(claim: str) -> None:
    assert told_by(cells, claim, TREES) == []


CAR = '{"model": "Riva", "transmission": "manual", "service history": "partial", "seats": 5}'


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("The Riva has an automatic transmission.", "automatic transmission"),
        ("Its service history is complete, as far as known.", "history is complete"),
    ],
)
def test_another_word_than_the_field_has_is_wrong(claim: str, words: str) -> None:
    assert told_by(entries, claim, CAR) == [(FIELD, words)]


@pytest.mark.parametrize(
    "claim",
    [
        "The Riva has a manual transmission.",
        "The transmission of the Riva is manual, not automatic.",
        "The model is popular.",  # the field says what it is called
        "It has five comfortable seats.",  # a number is no word
        "The transmission works well.",
    ],
)
def test_what_does_not_say_what_the_field_is_is_left_alone(claim: str) -> None:
    assert told_by(entries, claim, CAR) == []


def test_a_question_may_name_the_row() -> None:
    table = "| Tariff | Contract |\n| --- | --- |\n| Midi | 12 months |\n| Maxi | 24 months |"
    claim = "You commit to a contract of 24 months."
    lines = [line.reading for line in lines_of(table)]
    asked = Basis(lines, QuantityIndex.of(()), "What does the Midi tariff cost?")
    unasked = Basis(lines, QuantityIndex.of(()))
    assert [claim[f.start : f.end] for f in cells(ComparedText(claim), (), asked)] == ["24 months"]
    assert list(cells(ComparedText(claim), (), unasked)) == []
