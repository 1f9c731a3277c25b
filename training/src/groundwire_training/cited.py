"""Reads answers that cite their evidence, with a label for the citations of each sentence.

Rows have the keys id, spans (a list of ``sid`` and ``text``), question, answer and citations (a
list of ``sentence``, ``cites``, ``label`` and ``right``). The answer is slot-annotated, as
:mod:`groundwire.evaluation.datasets.slots` describes; its labels are those of the faithful text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import DatasetError
from groundwire.evaluation.datasets.lines import json_lines
from groundwire.evaluation.datasets.slots import MarkedAnswer, n_slots, render_slots
from groundwire.verify.claims import VerifiableClaim, read_claims

#: The labels of citations.
LABELS = ("supported", "misattributed", "partial", "decorative", "fabricated_id", "uncited")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCitation:
    """One sentence of a cited answer.

    Attributes:
        claim: The claim with its citations.
        label: The label of the citations, one of :data:`LABELS`.
        right: Ids of the spans that do support the claim.
        wrong: Variants of the claim's text with one hallucinated slot, each with its label: 1
            unsupported, 2 contradicted.
    """

    claim: VerifiableClaim
    label: str
    right: tuple[str, ...]
    wrong: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """One answer with its evidence.

    Attributes:
        id: The id of the row.
        spans: The text of each span of evidence, by id, in the order given.
        answer: The faithful text, citations included.
        citations: The sentences of the answer, in reading order. Empty if their number differs from
            that of the labels, since the labels cannot be assigned then.
    """

    id: str
    spans: Mapping[str, str]
    answer: str
    citations: tuple[LabelledCitation, ...]


def read_cited(path: Path) -> Iterator[CitedAnswer]:
    """Read cited answers.

    Raises:
        DatasetError: If a row does not have the form that the module describes.
    """
    for line, _, values in json_lines(path):
        if isinstance(values, str):
            raise DatasetError(path, line, values.removesuffix("."))
        try:
            spans = {str(span["sid"]): str(span["text"]) for span in values["spans"]}
            labels = {int(each["sentence"]): each for each in values["citations"]}
            annotated = values["answer"]
            answer = render_slots(annotated, frozenset()).text
            yield CitedAnswer(
                id=str(values["id"]),
                spans=spans,
                answer=answer,
                citations=tuple(_citations(annotated, answer, tuple(spans), labels)),
            )
        except (KeyError, TypeError, ValueError) as error:
            problem = "spans, answer or citations are not of the form that the module describes"
            raise DatasetError(path, line, problem) from error


def _citations(
    annotated: str, answer: str, sids: tuple[str, ...], labels: Mapping[int, Mapping[str, Any]]
) -> Iterator[LabelledCitation]:
    claims = read_claims(answer, span_ids=sids)
    if len(claims) != len(labels):
        return
    variants = [
        (made, read_claims(made.text, span_ids=sids))
        for made in (
            render_slots(annotated, frozenset({slot})) for slot in range(n_slots(annotated))
        )
    ]
    for claim in claims:
        label = labels[claim.idx]
        yield LabelledCitation(
            claim=claim,
            label=str(label["label"]),
            right=tuple(map(str, label["right"])),
            wrong=tuple(_wrong(claim, variants, len(claims))),
        )


def _wrong(
    claim: VerifiableClaim,
    variants: list[tuple[MarkedAnswer, tuple[VerifiableClaim, ...]]],
    n_claims: int,
) -> Iterator[tuple[str, int]]:
    for made, claims in variants:
        # Variants with another number of claims are skipped: their claims cannot be matched.
        if made.spans and len(claims) == n_claims and claims[claim.idx].text != claim.text:
            yield claims[claim.idx].text, max(kind for _, _, kind in made.spans)
