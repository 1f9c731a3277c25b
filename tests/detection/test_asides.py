"""What of an answer is no claim, and that no fact hides in it."""

import pytest

from groundwire.detection.asides import AsideFinder
from groundwire.engine.sentence import has_statement
from groundwire.text.segment import Segmenter, segment
from tests.cases import shapes

SOURCES = ["The Pro plan costs $25 per month. Phone support is part of the Team plan.", "Refunds."]
IDS = ("S0", "S1")


def asides(answer: str, question: str | None = None) -> list[tuple[str, str]]:
    finder = AsideFinder(SOURCES, IDS, question)
    found = finder.feed(answer, segment(answer, known=IDS), is_end=True)
    return [(str(kind), answer[s.start : s.end]) for s, kind in found if kind is not None]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        ("## Pro plan\n\nIt costs $25.", "heading", "Pro plan"),
        ("**❌ Not supported**\nIt costs $25.", "heading", "**❌ Not supported**"),
        ("Overview\n========\nIt costs $25.", "heading", "Overview"),
        ("**What is phone support?**\nIt is part of it.", "heading", "**What is phone support?**"),
        ("Here is what the docs say:\nIt costs $25.", "intro", "Here is what the docs say:"),
        ("| Plan | Price |\n|---|---|\n| Pro | $25 |", "table_header", "Plan | Price"),
        ("```python\nimport os\nx = 25\n```", "code", "import os"),
        ("Hi Anna,\n\nIt costs $25.", "greeting", "Hi Anna,"),
        ("It costs $25.\n\nI hope this helps!", "closing", "I hope this helps!"),
        ("It costs $25.\n\nKind regards,\nThe Pro team", "closing", "Kind regards,\nThe Pro team"),
        (
            "Is phone support part of the Team plan?\nYes.",
            "closing",
            "Is phone support part of the Team plan?",
        ),
        ("It costs $25.\n\n_Generated from the plan._", "closing", "_Generated from the plan._"),
        ("It costs $25.\n\n(All prices come from S0.)", "closing", "(All prices come from S0.)"),
        ("It costs $25 [S0].\n\nSource: [S0]", "sources", "Source: [S0]"),
        (
            "It costs $25.\n\nNote: only the plans mentioned in the sources are listed.",
            "closing",
            "Note: only the plans mentioned in the sources are listed.",
        ),
        ("It costs $25.[^1]\n\n[^1]: https://a.example", "sources", "[^1]: https://a.example"),
        ("It costs $25.¹\n\n¹ S0", "sources", "¹ S0"),
        (
            "It costs $25.\n\n*Table compiled from both documents (S0, S1).*",
            "closing",
            "*Table compiled from both documents (S0, S1).*",
        ),
        (
            "It costs $25.\n\nWarm wishes from your HR assistant",
            "closing",
            "Warm wishes from your HR assistant",
        ),
    ],
)
def test_what_claims_nothing_is_set_apart(answer: str, kind: str, text: str) -> None:
    assert asides(answer) == [(kind, text)]


@pytest.mark.parametrize("shape", shapes.read("answers.toml"), ids=lambda shape: shape.id)
def test_no_claim_of_a_right_answer_is_an_aside(shape: shapes.Shape) -> None:
    finder = AsideFinder(shape.sources, shape.ids, None)
    segments = segment(shape.answer, known=shape.ids)
    for found, kind in finder.feed(shape.answer, segments, is_end=True):
        if has_statement(shape.answer, found):
            assert (kind is not None) == shape.is_marked(found.start, found.end)


def test_most_of_what_claims_nothing_is_found_in_answers_by_another_hand() -> None:
    n_marked = n_found = 0
    for shape in shapes.read("by_another_hand.toml"):
        finder = AsideFinder(shape.sources, shape.ids, None)
        segments = segment(shape.answer, known=shape.ids)
        for found, kind in finder.feed(shape.answer, segments, is_end=True):
            if has_statement(shape.answer, found):
                is_marked = shape.is_marked(found.start, found.end)
                assert is_marked or kind is None, shape.answer[found.start : found.end]
                n_marked += is_marked
                n_found += is_marked and kind is not None
    assert n_found / n_marked >= 0.6


@pytest.mark.parametrize(
    "shape",
    shapes.read("hostile.toml") + shapes.read("hostile_by_another_hand.toml"),
    ids=lambda shape: shape.id,
)
def test_a_fact_in_the_place_of_an_aside_is_a_claim(shape: shapes.Shape) -> None:
    finder = AsideFinder(shape.sources, shape.ids, "What should I know?")
    found = finder.feed(shape.answer, segment(shape.answer, known=shape.ids), is_end=True)
    for start, end in shape.marked:
        assert all(kind is None for s, kind in found if s.start < end and start < s.end)


@pytest.mark.parametrize(
    "answer",
    [
        "Is the warranty void?",
        "What is the price after the fraud?",
        "Does the report show the fraud?",
        "I'm not an employee of the bankrupt plant.",
        "I'm not a fan of the plant in Hamburg.",
        "Here are the lawsuits:\n\n- It costs $25.",
        "Did you know that it costs $25?",
        "### Needs phone support",
        "It costs $25.\n\n## Phone support is part of the Team plan\n\nIt is.",
        "This table was generated from the reports of the fraud.",
        "All prices come from the court in Bremen.",
    ],
)
def test_questions_disclaimers_and_intros_with_a_new_word_are_claims(answer: str) -> None:
    assert asides(answer, "What should I know?") == []


def test_a_title_that_may_be_the_answer_itself_is_a_claim() -> None:
    answer = "**Pro**\n\nIt costs $25."
    assert asides(answer) == [("heading", "**Pro**")]
    assert asides(answer, "What does Pro cost?") == [("heading", "**Pro**")]
    assert asides(answer, "Which one has phone support?") == []


@pytest.mark.parametrize("shape", shapes.read("answers.toml")[::4], ids=lambda shape: shape.id)
def test_asides_do_not_depend_on_how_the_answer_was_cut(shape: shapes.Shape) -> None:
    answer, found = shape.answer, []
    segmenter, finder = Segmenter(shape.ids), AsideFinder(shape.sources, shape.ids, None)
    for at in range(0, len(answer), 7):
        found += finder.feed(answer[: at + 7], segmenter.feed(answer[at : at + 7]))
    found += finder.feed(answer, segmenter.finish(), is_end=True)
    whole = AsideFinder(shape.sources, shape.ids, None)
    assert found == whole.feed(answer, segment(answer, known=shape.ids), is_end=True)


@pytest.mark.parametrize(
    "text",
    [
        "You can do this by deleting the production database.",
        "There are the following discounts for students.",
        "Feel free to return shoes after a month of wear.",
        "Please reach out to the court in Bremen.",
        "I can explain that refunds go to charity.",
        "Thanks for paying with gold bars.",
        "It was written by an AI that the court in Bremen owns.",
        "Warm wishes from your court in Bremen.",
        "Warm wishes from your bankrupt team.",
        "Your Pro support team.",  # may be the answer to "Who gives phone support?"
        "Table compiled from the files of the court (S0).",
        "Table compiled from both documents (S0, S2).",  # no source has the id S2
        "It is free [S0].",
    ],
)
def test_a_phrase_with_a_word_that_no_source_has_is_a_claim(text: str) -> None:
    assert asides(f"It costs $25. {text}") == []


def test_a_list_of_sources_goes_on_after_an_entry_with_a_word_that_no_source_has() -> None:
    answer = "It costs $25 [S0].\n\n**Sources**\n[S0] Price makers\n[S1] Handbook of refunds"
    assert asides(answer)[-1] == ("sources", "[S1] Handbook of refunds")


@pytest.mark.parametrize(
    ("text", "is_absence"),
    [
        ("The sources do not say whether dogs are welcome.", True),
        ("Unfortunately, the documents don't mention a student discount.", True),
        ("Opening hours aren't stated.", True),
        ("Parking is not covered in the context you gave me.", True),
        ("There is no information about parking in the passages.", True),
        ("My sources have nothing on that.", True),
        ("No source names the founder.", True),
        ("I couldn't find anything about parking.", True),
        ("The sources do not mention refunds.", False),  # a source has the word
        ("The documents give no price for the Team plan.", False),
        ("The passages name no dogs, cats or other pets.", True),
        ("The sources don't mention dogs, but cats are welcome.", False),
        ("The sources don't mention dogs, cats are welcome.", False),
        ("The sources don't mention dogs although cats are welcome.", False),
        ("The documents don't mention dogs, who bit Carl.", False),
        ("The documents don't mention dogs (one bit Carl).", False),
        ("The documents don't mention dogs and she was bitten.", False),
        ("The documents don't explain why dogs bit Carl.", False),
        ("The documents don't mention that dogs bite.", False),
        ("The documents don't mention 20 dogs.", False),
        ("The documents don't mention Carl.", False),  # a name may be invented
        ("The contract contains no penalties.", False),  # says something of the world
        ("Earthquakes are not covered by the policy.", False),
        ("The leaflet lists no risks.", False),
        ("The leaflet is silent on sports, showering and travel.", True),
        ("Breakfast is not included.", False),  # says nothing about the sources
        ("The founder is not welcome.", False),
    ],
)
def test_an_absence_names_nothing_that_a_source_has(text: str, is_absence: bool) -> None:
    assert AsideFinder(SOURCES, IDS, None).is_absence(text) is is_absence


def test_an_absence_may_name_some_of_what_the_sources_have() -> None:
    finder = AsideFinder(SOURCES, IDS, None)
    for text, is_absence in {
        "The documents give no discount for the Team plan.": True,
        "The documents do not mention phone support.": False,
    }.items():
        assert finder.is_absence(text, may_name_some=True) is is_absence
        assert not finder.is_absence(text)


def test_a_word_within_a_longer_word_of_a_source_is_no_absence() -> None:
    text = "There is no information about take-out."
    assert AsideFinder(["Nothing else."], (), None).is_absence(text)
    assert not AsideFinder(['{"RestaurantsTakeOut": true}'], (), None).is_absence(text)
    cafe = "The sources do not mention a cafe."
    assert not AsideFinder(["The café is open."], (), None).is_absence(cafe)


def test_sources_that_are_too_long_to_search_lack_nothing() -> None:
    text = "The sources do not mention dogs."
    assert not AsideFinder(["Cats. " * 400_000], (), None).is_absence(text)
