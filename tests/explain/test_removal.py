"""Which sentences a repair takes out of an answer, and after which the rest stands."""

import pytest

from groundwire import repair
from groundwire.detection.example import Example
from groundwire.detection.values import (
    Aside,
    AsideKind,
    Claim,
    Detection,
    Entailment,
    Label,
    Outcome,
    Span,
)
from groundwire.engine.models import BASE_PACKAGE
from groundwire.explain.removal import removable, stands_after
from groundwire.text.segment import segment
from tests.fakes import FixedDetector

LOST = "Ann Bell founded it for sailors."


def detection(
    answer: str,
    *,
    label: Label = Label.UNSUPPORTED,
    probability: float = 0.95,
    neutral: float | None = 0.95,
    marked: str = LOST,
    kinds: dict[str, AsideKind] | None = None,
) -> Detection:
    """A detection in which the words of ``marked`` are marked, and ``kinds`` names the asides."""
    claims, asides = [], []
    rest = round((1 - (neutral or 0)) / 2, 6)
    read = None
    if neutral is not None:
        read = Entailment(entailment=rest, neutral=neutral, contradiction=rest)
    for part in segment(answer):
        text = answer[part.start : part.end]
        if kinds and text in kinds:
            asides.append(Aside(start=part.start, end=part.end, text=text, kind=kinds[text]))
            continue
        spans = (_span(part.start + text.find(marked), marked),) if marked in text else ()
        claims.append(
            Claim(
                start=part.start,
                end=part.end,
                text=text,
                label=label if spans else Label.SUPPORTED,
                probability=probability if spans else 0.1,
                spans=spans,
                entailment=read,
            )
        )
    whole = FixedDetector().detect(sources=["A tower."], answer=answer)
    return Detection(
        answer=answer,
        outcome=Outcome.HALLUCINATED,
        claims=tuple(claims),
        asides=tuple(asides),
        coverage=whole.coverage,
        detector=whole.detector,
    )


def _span(start: int, text: str) -> Span:
    return Span(
        start=start,
        end=start + len(text),
        text=text,
        label=Label.UNSUPPORTED,
        probability=0.95,
        severity=2,
    )


def rest(found: Detection) -> list[str]:
    """The answer without each of the claims that can be taken out."""
    ranges = [removable(found, claim) for claim in found.claims]
    return [found.answer[: r[0]] + found.answer[r[1] :] for r in ranges if r is not None]


def test_a_sentence_goes_with_the_space_before_it() -> None:
    assert rest(detection(f"It is high. {LOST} It is red.")) == ["It is high. It is red."]
    assert rest(detection(f"It is high. {LOST}")) == ["It is high."]
    assert rest(detection(f"It is high. **{LOST}** It is red.")) == ["It is high. It is red."]
    assert rest(detection(f"It is high.\n\n{LOST}\n\nIt is red.")) == ["It is high.\n\nIt is red."]


def test_a_list_item_goes_with_its_mark() -> None:
    assert rest(detection(f"- It is high.\n- {LOST}\n- It is red.")) == [
        "- It is high.\n- It is red."
    ]


@pytest.mark.parametrize(
    ("answer", "marked", "left"),
    [
        ("It is red, with a clock by Ann.", "with a clock by Ann", "It is red."),
        ("It is red, with a clock by Ann.", ", with a clock by Ann", "It is red."),
        ("It is red, with a clock by Ann.", "a clock by Ann.", "It is red."),
        ("It is red – a clock by Ann!", "a clock by Ann", "It is red!"),
        ("It is red, and has a clock. It is high.", "has a clock", "It is red. It is high."),
    ],
)
def test_a_clause_goes_with_its_comma(answer: str, marked: str, left: str) -> None:
    assert rest(detection(answer, marked=marked)) == [left]


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("It is red, with a clock by Ann Bell, and high.", "with a clock by Ann Bell"),
        ("It is red with a clock by Ann Bell.", "with a clock by Ann Bell"),
        ("It is high and wide and very red, in short.", "in short"),
        ("It has a lift, stairs, and a clock by Ann Bell.", "and a clock by Ann Bell"),
        ("It is both red, and a work by Ann Bell.", "and a work by Ann Bell"),
        ("Although it is red, it is a work by Ann Bell.", "it is a work by Ann Bell"),
        ('It is high "and red, with a clock by Ann."', 'with a clock by Ann."'),
    ],
)
def test_other_words_of_a_sentence_stay(answer: str, marked: str) -> None:
    assert rest(detection(answer, marked=marked)) == []


@pytest.mark.parametrize(
    "found",
    [
        detection(f"It is high. {LOST}", label=Label.CONTRADICTED),
        detection(f"It is high. {LOST}", probability=0.92),
        detection(f"It is high. {LOST}", neutral=0.89),
        detection(f"It is high. {LOST}", neutral=None),
        detection(f"It is high. {LOST}", marked="Ann Bell"),
        detection(f"{LOST} It is high."),
        detection(f"1. It is high.\n2. {LOST}\n3. It is red."),
        detection(f"It is high.\n\n| Who |\n| --- |\n| {LOST} |"),
        detection(f'It is high. "{LOST} It is red."'),
        detection(f"It is high. **{LOST} It is red.**"),
        detection(f"It is high.\n\n```\n# {LOST}\n```"),
        detection(f"Who built it? {LOST}"),
        detection(f"It has two owners:\n\n- It is high.\n- {LOST}"),
        detection(f"It is high. *{LOST} It is red.*"),
        detection(
            f"It is high.\n\n## Who built it\n\n{LOST}",
            kinds={"Who built it": AsideKind.HEADING},
        ),
    ],
    ids=lambda found: found.answer[:40].replace("\n", " "),
)
def test_what_may_be_right_or_is_needed_stays(found: Detection) -> None:
    assert rest(found) == []


@pytest.mark.parametrize(
    ("gap", "after", "stands"),
    [
        (" ", " The tower is red.", True),
        (" ", " There is a lift.", True),
        (" ", " It’s red.", False),
        (" ", " However, the tower is red.", False),
        (" ", " As a result, the tower is red.", False),
        (" ", " Two of them are red.", False),
        ("\n- ", "\n- The tower is red.", True),
        ("\n- ", "\n- and the tower is red.", False),
        ("\n- ", "\n  - The tower is red.", False),
        ("\n- ", " The tower is red.", False),  # it would move to the item above
        ("\n\n", " The tower is red.", False),
        ("\n\n", "\n\nThe tower is red.", True),
        ("\n\n", "\n----\n\nThe tower is red.", False),  # the line above would be the heading
    ],
)
def test_what_needs_a_sentence_does_not_stand_without_it(
    gap: str, after: str, stands: bool
) -> None:
    answer = f"- It is high.{gap}{LOST}{after}"
    found = detection(answer)
    removed = removable(found, found.claims[1])
    assert removed is not None
    assert stands_after(removed, found.claims[2], answer) is stands


@pytest.mark.merge
@pytest.mark.parametrize(
    ("answer", "repaired"),
    [
        (f"The tower is high. {LOST} The tower is red.", "The tower is high. The tower is red."),
        (f"The tower is high. {LOST} It is red.", None),
        (f"{LOST} The tower is high.", None),
    ],
)
def test_a_repair_takes_out_what_nothing_replaces(answer: str, repaired: str | None) -> None:
    pytest.importorskip(BASE_PACKAGE, reason="pip install ./models/reader-base")

    class Finding(FixedDetector):
        def _judge(self, example: Example) -> Detection:
            found = detection(example.answer)
            return found if LOST in example.answer else super()._judge(example)

    found = repair(Finding(), sources=["Red towers are high."], answer=answer)
    assert found.answer == (repaired or answer)
    assert [(edit.old.strip(), edit.new) for edit in found.edits] == (
        [(LOST, "")] if repaired else []
    )
