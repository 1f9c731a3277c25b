"""From a detection to its explanations."""

from dataclasses import replace

import pytest

from groundwire.detection.example import Source
from groundwire.detection.spans import FlaggedSpan, keep
from groundwire.detection.values import EvidenceRef, Label
from groundwire.errors import SettingError
from groundwire.explain import (
    Category,
    Entailment,
    Explanation,
    Subtype,
    compare,
    explain,
)
from groundwire.explain.explanations import severity
from tests.explain.marked import (
    CONTRADICTED,
    ENTAILED,
    NEUTRAL,
    claim_of,
    detected,
    detection,
    refs,
    sources,
)

TOWER = (
    '{"name": "Eiffel Tower", "built": "1887-1889", "height": "330 meters", '
    '"location": "Paris, France"}'
)
MARKED = "The Eiffel Tower was built in ⟦1950⟧ and stands at ⟦500 meters⟧ tall in Paris, France."


def tower(marked: str = MARKED) -> tuple[Explanation, ...]:
    """As the reader finds it: what matches best is the name, and not what was got wrong."""
    name = EvidenceRef(source_id="S0", start=1, end=23, text=TOWER[1:23])
    found = claim_of(marked, (name,))
    return explain(detection(found.text, [found]), sources(TOWER), lambda *_: CONTRADICTED)


def test_the_documented_example_is_two_contradictions_with_their_corrections() -> None:
    year, height = tower()
    assert (year.category, year.subtype) == (Category.CONTRADICTION, Subtype.DATE_TIME)
    assert (height.category, height.subtype) == (Category.CONTRADICTION, Subtype.QUANTITY_UNIT)
    assert max(year.severity, height.severity) == 4
    assert year.text == (
        'The answer says "1950"; the source says "1887-1889" (S0, characters 35-44).'
    )
    assert height.text == (
        'The answer says "500 meters"; the source says "330 meters" (S0, characters 58-68).'
    )
    assert (TOWER[35:44], TOWER[58:68]) == ("1887-1889", "330 meters")
    assert height.evidence is not None
    assert height.evidence.text == '"height": "330 meters"'


def test_without_a_model_the_same_lines_decide_and_the_labels_stay_the_detectors() -> None:
    name = EvidenceRef(source_id="S0", start=1, end=23, text=TOWER[1:23])
    found = claim_of(MARKED, (name,))
    given = detection(found.text, [found])
    compared = compare(given, sources(TOWER))
    explained = tower()
    assert [each.evidence for each in compared] == [each.evidence for each in explained]
    assert [each.label for each in compared] == [span.label for span in given.spans]
    assert not any(each.text.startswith("Unexplained") for each in compared)


def test_a_claim_is_the_hypothesis_and_a_span_never_is() -> None:
    asked = []

    def judge(hypothesis: str, evidence: tuple[EvidenceRef, ...]) -> Entailment:
        asked.append((hypothesis, evidence))
        return NEUTRAL

    found, given = detected(MARKED, TOWER)
    explain(found, given, judge)
    assert {hypothesis for hypothesis, _ in asked} == {found.claims[0].text}
    assert len(asked) == 1  # two spans, one claim, the same evidence


def test_a_span_of_one_figure_is_explained_however_short_it_is() -> None:
    found, given = detected("It was built in ⟦1950⟧.", "It was built in 1887.")
    assert keep((FlaggedSpan(16, 20, 0.9),), found.answer)  # no minimum unless one is set
    (year,) = explain(found, given, lambda *_: CONTRADICTED)
    assert found.answer[year.start : year.end] == "1950"


def test_without_explainer_the_label_is_the_detectors_and_the_text_says_so() -> None:
    found, given = detected("It was built in ⟦1950⟧.", "It was built in 1887.")
    (year,) = explain(found, given)
    assert year.entailment is None
    assert year.label is Label.CONTRADICTED
    assert year.severity == 4
    assert year.text == (
        "Unexplained (the explainer was not run). "
        'The answer says "1950"; the source says "1887" (S0, characters 16-20).'
    )


def test_an_explainer_that_fails_leaves_the_span_marked_and_names_the_failure() -> None:
    def judge(*_: object) -> Entailment:
        raise ConnectionError("the answer is: secret")

    found, given = detected("It was ⟦green⟧.", "It was red.", label=Label.UNSUPPORTED)
    (colour,) = explain(found, given, judge)
    assert colour.reason == "ConnectionError"
    assert not colour.is_false_positive
    assert colour.text == (
        'Unexplained (ConnectionError). The sources do not say "green". '
        'Nearest: "It was red." (S0, characters 0-11).'
    )


def test_what_is_no_entailment_is_a_failure() -> None:
    found, given = detected("It was ⟦green⟧.", "It was red.")
    (colour,) = explain(found, given, lambda *_: 0.9)  # type: ignore[arg-type]
    assert (colour.entailment, colour.reason) == (None, "TypeError")


def test_an_unsupported_addition_quotes_the_nearest_line() -> None:
    found, given = detected("The tower is ⟦beautiful⟧.", "The tower is in Paris.")
    (addition,) = explain(found, given, lambda *_: NEUTRAL)
    assert (addition.label, addition.severity) == (Label.UNSUPPORTED, 2)
    assert addition.category is Category.UNSUPPORTED_ADDITION
    assert addition.text == (
        'The sources do not say "beautiful". '
        'Nearest: "The tower is in Paris." (S0, characters 0-22).'
    )


def test_words_that_the_line_has_are_not_set_against_it() -> None:
    found, given = detected("The Team plan offers ⟦Google⟧ sign-in.", "Team: SSO, Google sign-in.")
    (google,) = explain(found, given, lambda *_: CONTRADICTED)
    assert google.text.startswith('The sources have the words "Google", but do not say this.')


def test_a_contradiction_without_counterpart_quotes_the_line() -> None:
    found, given = detected("The pool is ⟦open⟧ now.", "The pool is not open now.")
    (negation,) = explain(found, given, lambda *_: CONTRADICTED)
    assert negation.counterpart is None
    assert negation.text == (
        'The answer says "open"; the source says otherwise: '
        '"The pool is not open now." (S0, characters 0-25).'
    )


def test_a_reference_in_the_span_is_fabricated_whatever_the_model_says() -> None:
    found, given = detected("The tower is tall ⟦[S7]⟧.", "The tower is tall.")
    (reference,) = explain(found, given, lambda *_: ENTAILED)
    assert reference.category is Category.FABRICATED_REFERENCE
    assert (reference.label, reference.is_false_positive) == (Label.UNSUPPORTED, False)
    assert reference.text == 'The answer refers to "[S7]", which no source has.'


def test_a_reference_beside_the_span_counts_if_nothing_contradicts() -> None:
    found, given = detected("The tower is ⟦green⟧ [S7].", "The tower is tall.")
    assert [
        explain(found, given, lambda *_, said=said: said)[0].category
        for said in (NEUTRAL, CONTRADICTED)
    ] == [Category.FABRICATED_REFERENCE, Category.CONTRADICTION]


@pytest.mark.parametrize(
    ("marked", "line", "acquitted"),
    [
        ("The shop is ⟦closed on Sundays⟧.", "On Sundays the shop is closed.", True),
        ("The wall is ⟦about 21,000 km⟧ long.", "The wall is 21,196 km long.", True),
        ("The wall is ⟦21,000 km⟧ long.", "The wall is 21,196 km long.", False),
        ("The wall is ⟦over 21,000 km⟧ long.", "The wall is 21,196 km long.", True),
        ("The wall is ⟦nearly 21,000 km⟧ long.", "The wall is 21,196 km long.", False),
        ("The tower was ⟦opened in 1950⟧.", "The tower was opened in 1889.", False),
        ("The tower is ⟦330 feet⟧ tall.", "The tower is 330 m tall.", False),
        ("The tower is ⟦0.33 km⟧ tall.", "The tower is 330 m tall.", True),
        ("The pool is ⟦open⟧ in winter.", "The pool is not open in winter.", False),
        ("The pool is ⟦not open⟧ in winter.", "The pool is open in winter.", False),
        ("The pool is ⟦not open⟧ in winter.", "In winter the pool is not open.", True),
        ("The pool is ⟦not only⟧ open in winter.", "The pool is open in winter.", True),
    ],
)
def test_a_sure_explainer_acquits_unless_a_quantity_or_a_not_differs(
    marked: str, line: str, acquitted: bool
) -> None:
    assert is_acquitted(marked, line, ENTAILED) is acquitted


def is_acquitted(marked: str, line: str, entailment: Entailment) -> bool:
    (found,) = explain(*detected(marked, line), lambda *_: entailment)
    return found.is_false_positive


@pytest.mark.parametrize(("p", "acquitted"), [(0.75, True), (0.7499, False)])
def test_an_explainer_that_is_not_sure_acquits_nothing(p: float, acquitted: bool) -> None:
    entailment = Entailment(entailment=p, neutral=1 - p, contradiction=0.0)
    line = "On Sundays the shop is closed."
    assert is_acquitted("The shop is ⟦closed on Sundays⟧.", line, entailment) is acquitted


def test_what_was_acquitted_in_spite_of_a_difference_keeps_the_detectors_label() -> None:
    found, given = detected("It was built in ⟦1950⟧.", "It was built in 1887.")
    (year,) = explain(found, given, lambda *_: ENTAILED)
    assert (year.label, year.severity, year.is_false_positive) == (Label.CONTRADICTED, 4, False)


@pytest.mark.parametrize("verdict", [ENTAILED, NEUTRAL, CONTRADICTED, None])
@pytest.mark.parametrize("label", [Label.UNSUPPORTED, Label.CONTRADICTED])
def test_what_a_rule_found_keeps_its_label(label: Label, verdict: Entailment | None) -> None:
    one = claim_of("It is ⟦shut⟧.", refs("It is shut."), label=label)
    one = replace(one, spans=(replace(one.spans[0], conflict="negation"),), entailment=verdict)
    (found,) = explain(detection(one.text, [one]), sources("It is shut."))
    assert (found.label, found.is_false_positive) == (label, False)


def test_a_false_positive_is_told_and_not_left_out() -> None:
    found, given = detected("It is ⟦shut⟧ and ⟦locked⟧.", "It is shut and locked.")
    both = explain(found, given, lambda *_: ENTAILED)
    assert [(e.is_false_positive, e.label, e.severity) for e in both] == [
        (True, Label.SUPPORTED, 0)
    ] * 2
    assert both[0].text == (
        'The sources may say "shut". Nearest: "It is shut and locked." (S0, characters 0-22).'
    )


@pytest.mark.parametrize(
    ("label", "sure", "unsure"),
    [(Label.SUPPORTED, 0, 0), (Label.UNSUPPORTED, 2, 1), (Label.CONTRADICTED, 4, 3)],
)
def test_severity_is_one_less_if_the_explainer_is_not_sure(
    label: Label, sure: int, unsure: int
) -> None:
    even = Entailment(entailment=0.34, neutral=0.33, contradiction=0.33)
    certain = {Label.SUPPORTED: ENTAILED, Label.UNSUPPORTED: NEUTRAL}.get(label, CONTRADICTED)
    assert severity(label, certain) == severity(label, None) == sure
    assert severity(label, even) == unsure
    assert severity(label, even, threshold=0.3) == sure


def test_a_number_that_the_evidence_states_otherwise_is_contradicted_for_sure() -> None:
    leans = Entailment(entailment=0.3, neutral=0.2, contradiction=0.5)
    assert severity(Label.CONTRADICTED, leans) == 3
    assert severity(Label.CONTRADICTED, leans, is_stated=True) == 4
    assert severity(Label.UNSUPPORTED, leans, is_stated=True) == 1
    found, given = detected("It was built in ⟦1950⟧.", "It was built in 1887.")
    other = Entailment(entailment=0.3, neutral=0.5, contradiction=0.2)
    for verdict in (leans, other):
        (year,) = explain(found, given, lambda *_, given=verdict: given)
        assert (year.counterpart is not None, year.label) == (True, Label.CONTRADICTED)
        assert year.severity == 4
    found, given = detected("It was ⟦green⟧.", "It was red.")
    assert explain(found, given, lambda *_: leans)[0].severity == 3  # no number


@pytest.mark.parametrize(
    ("shares", "label"),
    [((0.6, 0.3, 0.1), Label.UNSUPPORTED), ((0.7, 0.1, 0.2), Label.CONTRADICTED)],
)
def test_what_stays_marked_is_never_called_supported(
    shares: tuple[float, float, float], label: Label
) -> None:
    verdict = Entailment(entailment=shares[0], neutral=shares[1], contradiction=shares[2])
    found, given = detected("The shop is ⟦closed on Sundays⟧.", "On Sundays the shop is closed.")
    (only,) = explain(found, given, lambda *_: verdict)
    assert (only.label, only.is_false_positive) == (label, False)


def test_without_a_judge_what_the_detection_says_of_a_claim_counts() -> None:
    found, given = detected("The tower is ⟦green⟧.", "The tower is tall.")
    said = replace(found, claims=(replace(found.claims[0], entailment=NEUTRAL),))
    (green,) = explain(said, given)
    assert (green.entailment, green.label, green.severity) == (NEUTRAL, Label.UNSUPPORTED, 2)


def test_each_threshold_has_its_own_use() -> None:
    found, given = detected("The shop is ⟦closed on Sundays⟧.", "On Sundays the shop is closed.")
    half = Entailment(entailment=0.5, neutral=0.4, contradiction=0.1)
    (kept,) = explain(found, given, lambda *_: half, threshold=0.4)
    assert (kept.is_false_positive, kept.severity) == (False, 2)
    (dropped,) = explain(found, given, lambda *_: half, entailment_threshold=0.5)
    assert (dropped.is_false_positive, dropped.severity) == (True, 0)


@pytest.mark.parametrize("values", [(0.5, 0.5, 0.5), (1.2, -0.2, 0.0), (float("nan"), 0.5, 0.5)])
def test_an_entailment_is_three_probabilities_that_sum_to_one(
    values: tuple[float, float, float],
) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        Entailment(entailment=values[0], neutral=values[1], contradiction=values[2])


def test_a_threshold_out_of_range_is_refused() -> None:
    found, given = detected("It is ⟦shut⟧.", "It is shut.")
    with pytest.raises(SettingError, match="threshold = 0 is not possible"):
        explain(found, given, threshold=0)


def test_evidence_that_does_not_stand_in_the_sources_is_not_quoted() -> None:
    found, _ = detected("It is ⟦shut⟧.", "It is open.")
    for other in ([], sources("Quite another text."), [Source(text="It is", id="S0")]):
        (only,) = explain(found, other, lambda *_: CONTRADICTED)
        assert only.evidence is None
        assert only.text == 'The answer says "shut"; the sources say otherwise.'


def test_an_explanation_as_json() -> None:
    year = tower()[0]
    assert year.counterpart is not None
    assert year.to_dict() == {
        "start": 30,
        "end": 34,
        "label": "contradicted",
        "category": "contradiction",
        "subtype": "date_time",
        "severity": 4,
        "entailment": {
            "entailment": 0.03,
            "neutral": 0.07,
            "contradiction": 0.9,
            "is_calibrated": False,
        },
        "text": year.text,
        "evidence": {"source_id": "S0", "start": 25, "end": 45, "text": '"built": "1887-1889"'},
        "counterpart": {"source_id": "S0", "start": 35, "end": 44, "text": "1887-1889"},
        "is_false_positive": False,
        "reason": None,
    }


def test_a_heading_is_not_quoted() -> None:
    found, given = detected("The garden ⟦closes at noon⟧.", "# The garden", "The garden is large.")
    (addition,) = explain(found, given, lambda *_: NEUTRAL)
    assert addition.evidence is not None
    assert addition.evidence.text == "The garden is large."


def test_the_quoted_line_has_the_words_around_the_span_not_the_marked_value() -> None:
    given = "Standard shipping costs €4.95.", "Express shipping costs €12.90."
    found, sources = detected("Express shipping costs ⟦€4.95⟧.", *given)
    (price,) = explain(found, sources, lambda *_: CONTRADICTED)
    assert price.evidence is not None
    assert price.evidence.text == "Express shipping costs €12.90."


def test_a_line_about_something_else_contradicts_nothing() -> None:
    found, given = detected("The tower was opened in ⟦1950⟧.", "Lunch costs less since 1987.")
    (year,) = explain(found, given, lambda *_: CONTRADICTED)
    assert (year.label, year.counterpart) == (Label.UNSUPPORTED, None)
    assert "the source says" not in year.text
