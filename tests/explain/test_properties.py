"""What must hold whatever stands in an answer and its sources."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groundwire.detection.example import Source
from groundwire.detection.values import SEVERITY, Claim, Detection, EvidenceRef, Label, Span
from groundwire.explain import Entailment, Explanation, explain
from groundwire.text.screen import one_line
from groundwire.text.segment import parse_citations
from tests.explain.marked import detection

WORDS = [
    "The", "tower", "was", "built", "in", "1950", "1887-1889", "330 m", "500 meters", "is not",
    "may", "will", "Paris", "Gustave Eiffel", "by", "[S0]", "[S9]", "[3]", "increased", "decreased",
    "https://a.example/b", "Section 4.2", '"The Old Town"', "Smith et al. (2019)", "Monday", "9:30",
    "about", "20%", "\n", ". ", "\x1b[2J", "\u202e", "e\u0301", "北京", "no", "isn't", '"', "…",
    "May", "(Lee, 2020)", "10.1000/x", "x" * 300,
]  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join),
    st.text(min_size=1, max_size=60),
).filter(lambda text: bool(text.strip()))
ENTAILMENTS = st.sampled_from(
    [
        None,
        Entailment(entailment=0.8, neutral=0.1, contradiction=0.1),
        Entailment(entailment=0.5, neutral=0.3, contradiction=0.2),
        Entailment(entailment=0.1, neutral=0.6, contradiction=0.3),
        Entailment(entailment=0.0, neutral=0.0, contradiction=1.0),
    ]
)
PLACE = re.compile(r'"([^"]*)" \((S[0-9]), characters ([0-9]+)-([0-9]+)\)')


@st.composite
def detections(draw: st.DrawFn) -> tuple[Detection, list[Source]]:
    """One claim with one or two spans, and evidence that stands in its sources."""
    texts = draw(st.lists(TEXTS, min_size=0, max_size=3))
    given = [Source(text=text, id=f"S{i}") for i, text in enumerate(texts)]
    evidence = []
    for source in given:
        start = draw(st.integers(0, len(source.text) - 1))
        end = draw(st.integers(start + 1, len(source.text)))
        evidence.append(
            EvidenceRef(source_id=source.id, start=start, end=end, text=source.text[start:end])
        )
    answer = draw(TEXTS)
    start = len(answer) - len(answer.lstrip())
    end = len(answer.rstrip())
    places = sorted(draw(st.sets(st.integers(start, end), min_size=0, max_size=3)) | {start, end})
    spans = tuple(
        Span(
            start=a,
            end=b,
            text=answer[a:b],
            label=label,
            probability=0.9,
            severity=SEVERITY[label],
            evidence=tuple(evidence),
        )
        for a, b in pairwise(places)
        for label in [draw(st.sampled_from([Label.UNSUPPORTED, Label.CONTRADICTED]))]
    )
    claim = Claim(
        start=start,
        end=end,
        text=answer[start:end],
        label=Label.CONTRADICTED,
        probability=0.9,
        citations=tuple(
            dict.fromkeys(id_ for c in parse_citations(answer[start:end]) for id_ in c.ids)
        ),
        spans=spans,
        evidence=tuple(evidence),
    )
    return detection(answer, [claim]), given


def explained(
    found: Detection, given: list[Source], said: Entailment | None
) -> tuple[Explanation, ...]:
    return explain(found, given, None if said is None else lambda *_: said)


@given(made=detections(), said=ENTAILMENTS)
def test_what_is_quoted_stands_where_it_is_said_to_stand(
    made: tuple[Detection, list[Source]], said: Entailment | None
) -> None:
    found, given = made
    texts = {source.id: source.text for source in given}
    explanations = explained(found, given, said)
    assert [(e.start, e.end) for e in explanations] == [(s.start, s.end) for s in found.spans]
    for explanation in explanations:
        for ref in (explanation.evidence, explanation.counterpart):
            if ref is not None:
                assert texts[ref.source_id][ref.start : ref.end] == ref.text
        assert len(explanation.text) <= 600  # two quotes, two names, and words between
        assert one_line(explanation.text) == explanation.text
        for shown, source_id, start, end in PLACE.findall(explanation.text):
            quoted = one_line(texts[source_id][int(start) : int(end)]).replace('"', "'")
            assert shown in (quoted, f"…{quoted}", f"{quoted}…", f"…{quoted}…")
        assert 0 <= explanation.severity <= 4


@given(made=detections(), said=ENTAILMENTS, data=st.data())
def test_the_order_of_sources_changes_nothing(
    made: tuple[Detection, list[Source]], said: Entailment | None, data: st.DataObject
) -> None:
    found, given = made
    mixed = data.draw(st.permutations(given))
    assert explained(found, given, said) == explained(found, mixed, said)


@given(made=detections(), said=ENTAILMENTS)
def test_what_is_acquitted_was_judged_entailed(
    made: tuple[Detection, list[Source]], said: Entailment | None
) -> None:
    for explanation in explained(*made, said):
        if explanation.is_false_positive:
            assert said is not None
            assert said.entailment >= 0.75
            assert (explanation.label, explanation.severity) == (Label.SUPPORTED, 0)


@given(made=detections(), name=st.text(max_size=200))
def test_a_failing_explainer_never_raises_and_never_acquits(
    made: tuple[Detection, list[Source]], name: str
) -> None:
    def judge(*_: object) -> Entailment:
        raise RuntimeError(name)

    for explanation in explain(*made, judge):
        assert explanation.reason == "RuntimeError"
        assert not explanation.is_false_positive
