"""What differs, and what corrects it: claims with a marked span, compared with a line or two."""

import pytest

from groundwire.detection.comparison.aligned_span import ComparedText, Held
from groundwire.detection.comparison.counterpart import counterpart
from groundwire.detection.comparison.finding import Subtype
from groundwire.detection.comparison.subtype import subtype_of
from tests.explain.marked import claim, refs

ENTITY, NUMBER, DATE_TIME = Subtype.ENTITY, Subtype.NUMBER, Subtype.DATE_TIME
QUANTITY_UNIT, RELATION = Subtype.QUANTITY_UNIT, Subtype.RELATION
NEGATION, CERTAINTY, OTHER = Subtype.NEGATION, Subtype.CERTAINTY, Subtype.OTHER

#: The claim; its evidence; what differs; the words that correct it, if any do.
CASES = [
    # Dates and times.
    ("The bridge was finished in ⟦1931⟧.", ["The bridge was finished in 1936."], DATE_TIME, "1936"),
    (
        "The canal was dug in ⟦1950⟧.",
        ["The canal was dug 1887-1889 by hand."],
        DATE_TIME,
        "1887-1889",
    ),
    (
        "The canal was dug in ⟦1950⟧.",
        ["The canal was dug between 1887 and 1889 by hand."],
        DATE_TIME,
        "1887 and 1889",
    ),
    (
        "Nora Lind was born on ⟦July 4, 1900⟧ in Oslo.",
        ["Nora Lind was born on March 14, 1879 in Oslo."],
        DATE_TIME,
        "March 14, 1879",
    ),
    ("The ferry leaves at ⟦9:30⟧.", ["The ferry leaves at 10:15 sharp."], DATE_TIME, "10:15"),
    ("The shop is closed on ⟦Monday⟧.", ["The shop is closed on Sunday."], DATE_TIME, "Sunday"),
    ("Snow fell in ⟦May⟧.", ["Snow fell in March."], DATE_TIME, "March"),
    ("It was signed ⟦in 1999⟧.", ["It was signed by both sides."], DATE_TIME, None),
    (
        # Two years that both fit: no guess.
        "The club won the cup in ⟦1990⟧.",
        ["The club won the cup in 1985.", "The club won the cup in 1987."],
        DATE_TIME,
        None,
    ),
    (
        # The year that the claim has elsewhere is not what is missing.
        "The hall opened in 1889 and was painted in ⟦1950⟧.",
        ["The hall opened in 1889 and was painted in 1960."],
        DATE_TIME,
        "1960",
    ),
    # Quantities and units.
    (
        "The tower is ⟦500 meters⟧ tall.",
        ['"height": "330 meters"'],
        QUANTITY_UNIT,
        "330 meters",
    ),
    ("The tower is 330 ⟦feet⟧ tall.", ["The tower is 330 m tall."], QUANTITY_UNIT, "330 m"),
    ("A ticket costs ⟦25 euros⟧.", ["A ticket costs 20 euros."], QUANTITY_UNIT, "20 euros"),
    ("A ticket costs ⟦25⟧ euros.", ['"price": "20 euros"'], QUANTITY_UNIT, "20 euros"),
    ("Profit rose by ⟦12%⟧.", ["Profit rose by 8% over the year."], QUANTITY_UNIT, "8%"),
    (
        "The lake is ⟦9 km⟧ wide and 3 km long.",
        ["The lake is 7 km wide and 3 km long."],
        QUANTITY_UNIT,
        "7 km",
    ),
    (
        # A length of something else is no correction.
        "The second floor lies ⟦115 m⟧ up.",
        ["The river beside the park is 80 m across."],
        QUANTITY_UNIT,
        None,
    ),
    # Numbers.
    ("The school has ⟦450⟧ pupils.", ["The school has 512 pupils."], NUMBER, "512"),
    ("⟦Seven⟧ ships sailed.", ["Four ships sailed that morning."], NUMBER, "Four"),
    ("The town has ⟦90,000⟧ inhabitants.", ['"population": 12500'], NUMBER, "12500"),
    ("She came ⟦3rd⟧ in the race.", ["She came 5th in the race."], NUMBER, "5th"),
    ("The band has ⟦five⟧ members.", ["The band plays in clubs."], NUMBER, None),
    # Names.
    (
        "The palace was designed by ⟦Carla Moretti⟧.",
        ["The palace was designed by Ivan Petrov in his youth."],
        ENTITY,
        "Ivan Petrov",
    ),
    ("The firm is based in ⟦Geneva⟧.", ["The firm is based in Turin."], ENTITY, "Turin"),
    (
        "The novel is by Anna ⟦Keller⟧.",
        ["The novel is by Anna Koch."],
        ENTITY,
        "Anna Koch",
    ),
    ("⟦Helsinki⟧ hosted the games.", ["Stockholm hosted the games."], ENTITY, "Stockholm"),
    ("The prize went to ⟦Maria Sol⟧.", ["The prize was not awarded."], ENTITY, None),
    (
        # Two names that both fit: no guess.
        "The film was directed by ⟦Jane Moss⟧.",
        ["The film was directed by Rosa Dahl.", "The film was directed by Tim Hale."],
        ENTITY,
        None,
    ),
    (
        # More than the name is wrong.
        "⟦It was named the finest inn in Devon by readers of a magazine.⟧",
        ["The inn in Lyme has four rooms."],
        ENTITY,
        None,
    ),
    # Relations.
    ("Rent has ⟦increased⟧.", ["Rent has decreased since the spring."], RELATION, "decreased"),
    ("The vote came ⟦before⟧ the strike.", ["The vote came after the strike."], RELATION, "after"),
    ("⟦Orla sued Brent⟧.", ["Brent sued Orla last week."], RELATION, None),
    ("Kira ⟦painted⟧ the mural.", ["Kira bought the mural."], RELATION, None),
    ("The team ⟦lost⟧ the final.", ["The team won the final."], RELATION, "won"),
    # Negations.
    ("The pool is ⟦open⟧ in winter.", ["The pool is not open in winter."], NEGATION, None),
    ("Dogs are ⟦not allowed⟧ inside.", ["Dogs are allowed inside."], NEGATION, None),
    ("The drug ⟦doesn't⟧ cause sleepiness.", ["The drug does cause sleepiness."], NEGATION, None),
    ("Pets ⟦never⟧ travel free.", ["Pets travel free."], NEGATION, None),
    # Certainty.
    ("The merger ⟦will⟧ close in June.", ["The merger may close in June."], CERTAINTY, "may"),
    (
        "The fire ⟦was caused by⟧ a cable.",
        ["The fire was possibly caused by a cable."],
        CERTAINTY,
        "possibly",
    ),
    ("The treatment is ⟦proven⟧ to help.", ["The treatment seems to help."], CERTAINTY, "seems"),
    ("The plan is ⟦definitely⟧ approved.", ["The plan is approved."], CERTAINTY, None),
    ("The plan was ⟦reportedly⟧ approved.", ["The plan was approved."], CERTAINTY, None),
    # Other.
    ("The soup is ⟦served with bread⟧.", ["The soup is made of beans."], OTHER, None),
    ("His favourite colour was ⟦blue⟧.", ["He grew up by the sea."], OTHER, None),
    ("It is ⟦…⟧ there.", ["It is there."], OTHER, None),
    ("The garden is ⟦beautiful⟧.", [], OTHER, None),
]


def held_by(marked: str, lines: list[str]) -> Held:
    found, span = claim(marked, *lines)
    compared = tuple(ComparedText(ref.text, ref) for ref in refs(*lines))
    return Held.within(span, ComparedText(found.text), found.start, compared)


@pytest.mark.parametrize(("marked", "lines", "subtype", "_correct"), CASES, ids=str)
def test_what_differs(marked: str, lines: list[str], subtype: Subtype, _correct: str) -> None:
    assert subtype_of(held_by(marked, lines)) is subtype


@pytest.mark.parametrize(("marked", "lines", "_subtype", "correct"), CASES, ids=str)
def test_what_corrects_it(
    marked: str, lines: list[str], _subtype: Subtype, correct: str | None
) -> None:
    held = held_by(marked, lines)
    place = counterpart(held, subtype_of(held))
    assert (place.text if place else None) == correct
    if place:
        (line,) = (ref for ref in refs(*lines) if ref.source_id == place.source_id)
        assert line.text[place.start : place.end] == place.text


def test_every_subtype_has_cases() -> None:
    assert {subtype for _, _, subtype, _ in CASES} == set(Subtype)
    assert len(CASES) >= 40
