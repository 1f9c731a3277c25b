"""One row of the results as a card: its answer with marks, its claims and their evidence."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from groundwire.detection import Claim, Detection, EvidenceRef, Label, Score
from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.reports.compared import Comparison
from groundwire.evaluation.reports.kinds import MEANINGS, Example
from groundwire.evaluation.reports.markup import element
from groundwire.evaluation.reports.words import marked
from groundwire.render import excerpt, explain_outcome
from groundwire.render.descriptions import REASONS, describe_label, describe_score
from groundwire.render.screen import one_line

#: Longest piece of evidence that is quoted, in characters.
_QUOTE_CHARS = 320

#: A question over so many characters is folded, and these are shown of it.
_LONG_QUESTION, _QUESTION_CHARS = 300, 120

#: Columns that a card has a better place for.
_SHOWN_ELSEWHERE = frozenset({"task", "id", "question", "answer", "context_id"})


def card(example: Example, comparison: Comparison | None = None) -> Element:
    """A row as a card.

    Args:
        example: The row.
        comparison: With a baseline, of which it is told whether the row was right there.
    """
    row = example.row
    return element(
        "article",
        _head(example, is_new=comparison is not None and comparison.is_newly_wrong(example)),
        _facts(example),
        _question(row.question),
        element("div", *_answer(example), class_="text answer", dir="auto") if row.answer else None,
        element("p", f"{row.error['type']}: {row.error['message']}", class_="any")
        if row.error
        else None,
        _details(example),
        id=f"row-{row.row}",
        class_=f"card {example.kind}",
        data_kind=str(example.kind),
        data_task=row.task,
        data_outcome="" if row.detection is None else str(row.detection["outcome"]),
    )


def mark_of(text: str, name: str) -> Element:
    """A stretch of an answer with its mark, which stands in words as well."""
    return element("mark", text, element("small", name), class_=name)


def _head(example: Example, *, is_new: bool) -> Element:
    row = example.row
    return element(
        "h3",
        element("span", example.kind.words, class_="kind", title=MEANINGS[example.kind]),
        " (right in the baseline)" if is_new else None,
        " · ",
        element("a", f"row {row.row}", href=f"#row-{row.row}"),
        " · ",
        element("bdi", row.id),
    )


def _question(question: str | None) -> Element | None:
    if not question or not question.strip():
        return None
    if len(question) <= _LONG_QUESTION:
        return element("div", f"Question: {question}", class_="text question", dir="auto")
    start = one_line(question)[:_QUESTION_CHARS]
    return element(
        "details",
        element("summary", f"Question: {start}…", dir="auto"),
        element("div", question, class_="text", dir="auto"),
        class_="question",
    )


def _facts(example: Example) -> Element:
    row, detection = example.row, example.detection
    facts = [f"task {row.task}"] if row.task else []
    if detection is not None:
        facts.append(f"outcome {detection.outcome}")
        facts.append(_doubt(example, detection))
        if detection.probability is not None:
            facts.append(f"P(answer hallucinated) {detection.probability:.2f}")
    facts += [f"{name} {value}" for name, value in row.columns.items() if _is_shown(name, value)]
    return element("p", " · ".join(filter(None, facts)), class_="facts")


def _doubt(example: Example, detection: Detection) -> str:
    if example.judged is None or not example.judged.has_verdict:
        return ""
    threshold = detection.detector.threshold
    if detection.detector.score is Score.SIMILARITY:
        return f"lowest similarity {1 - example.judged.probability:.2f} (threshold {threshold:g})"
    return f"highest doubt of a claim {example.judged.probability:.2f} (threshold {threshold:g})"


def _is_shown(name: str, value: str) -> bool:
    return bool(value) and name not in _SHOWN_ELSEWHERE and len(value) <= 80


def _answer(example: Example) -> Iterator[Element | str]:
    for text, mark in marked(example):
        yield text if mark is None else mark_of(text, str(mark))


def _details(example: Example) -> Element | None:
    row, detection = example.row, example.detection
    if detection is None and not row.gold:
        return None
    n_claims = 0 if detection is None else len(detection.claims)
    summary = f"{n_claims} claim{'' if n_claims == 1 else 's'} with evidence"
    if row.gold:
        summary += f", {len(row.gold)} marked by people"
    return element(
        "details",
        element("summary", summary),
        *_gold(example),
        *([] if detection is None else _claims(detection)),
        _sources(row.sources),
    )


def _gold(example: Example) -> Iterator[Element]:
    row = example.row
    if row.known == Known.ANSWER:
        said = "hallucinated" if row.hallucinated else "not hallucinated"
        yield element("p", f"Known of the answer as a whole: {said}.")
    if not row.gold:
        return
    yield element("h4", "Marked by people")
    items = [
        element(
            "li",
            element("q", row.answer[mark["start"] : mark["end"]], dir="auto"),
            f" {', '.join(dict.fromkeys(filter(None, (str(mark['label']), str(mark['kind'])))))}",
            class_="any",
        )
        for mark in row.gold
    ]
    yield element("ul", *items)


def _claims(detection: Detection) -> Iterator[Element]:
    yield element("h4", "Claims, and what each was held against")
    yield element("p", f"Outcome {detection.outcome}: {explain_outcome(detection)}.")
    for claim in detection.claims:
        yield element(
            "div",
            element("div", claim.text, class_="text", dir="auto"),
            element(
                "p", _label(claim), *(f" · {each}" for each in _said_of(claim)), class_="facts"
            ),
            *_spans(claim),
            *(_quote(each, claim.text) for each in claim.evidence),
            class_="claim",
        )


def _label(claim: Claim) -> Element | str:
    # What is not supported is what one looks for.
    is_flagged = claim.label in (Label.UNSUPPORTED, Label.CONTRADICTED)
    return element("strong", str(claim.label)) if is_flagged else str(claim.label)


def _said_of(claim: Claim) -> Iterator[str]:
    if claim.label is Label.UNCHECKED and claim.reason is not None:
        yield REASONS[claim.reason]
    if claim.probability is not None:
        yield f"P(not supported) {claim.probability:.2f}"
    if claim.similarity is not None:
        yield f"similarity {claim.similarity:.2f}"
    if claim.entailment is not None:
        each = claim.entailment
        yield (
            f"entailed {each.entailment:.2f}, neutral {each.neutral:.2f}, "
            f"contradicted {each.contradiction:.2f}"
        )
    if claim.citations:
        yield f"cites {', '.join(claim.citations)}"


def _spans(claim: Claim) -> Iterator[Element]:
    for span in claim.spans:
        yield element(
            "p",
            "Marked: ",
            element("q", span.text, dir="auto"),
            f" {describe_label(span)}, {describe_score(span)}, severity {span.severity} of 4",
            class_="facts",
        )


def _quote(reference: EvidenceRef, claim: str) -> Element:
    place = f", characters {reference.start}-{reference.end}"
    return element(
        "figure",
        element("figcaption", element("bdi", reference.source_id), place, class_="any"),
        element(
            "blockquote",
            excerpt(reference.text, around=claim, width=_QUOTE_CHARS),
            class_="text",
            dir="auto",
        ),
    )


def _sources(sources: tuple[Mapping[str, Any], ...]) -> Element | None:
    if not sources:
        return None
    words = ", ".join(f"{each['id']} ({each['chars']:,} characters)" for each in sources)
    return element("p", f"Sources: {words}.", class_="facts")
