"""From verdicts to how bad they are."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from groundwire.detection import Entailment, EvidenceRef
from groundwire.errors import DetectionError
from groundwire.evaluation.datasets.files import AnyRow, FailedRow
from groundwire.evaluation.judged import ResultsError
from groundwire.evaluation.running import run
from groundwire.evaluation.workflow.classify import classify
from groundwire.evaluation.workflow.stage import Stage, read_rows
from groundwire.explain import Explainer
from tests.evaluation.labelled import labelled
from tests.evaluation.results import header, rows_of
from tests.fakes import FixedDetector

STAGE = Stage(step="classify", data={"results.jsonl": "a" * 64})
DETECTOR = FixedDetector(unsupported=["green", "odd"], contradicted=["wrong"], fails_on="BOOM")


def believes(claim: str, evidence: Sequence[EvidenceRef]) -> Entailment:
    """What the explainer says of a claim."""
    if "broken" in claim:
        raise DetectionError("The explainer is broken.")
    if "odd" in claim:
        return Entailment(entailment=0.96, neutral=0.02, contradiction=0.02)
    if "perhaps" in claim:
        return Entailment(entailment=0.1, neutral=0.7, contradiction=0.2)
    if "wrong" in claim:
        return Entailment(entailment=0.02, neutral=0.02, contradiction=0.96)
    return Entailment(entailment=0.02, neutral=0.96, contradiction=0.02)


def classified(
    answers: Sequence[AnyRow], folder: Path, *, drops_entailed: bool = True
) -> list[dict[str, object]]:
    results, output = folder / "results.jsonl", folder / "classified.jsonl"
    run(DETECTOR, answers, output=results, header=header(), replace=True)
    explainer = Explainer(believes, drops_entailed=drops_entailed)
    n = classify(results, answers, explainer, output=output, stage=STAGE, replace=True)
    found = [dict(row) for _, row in read_rows(output, "classify")]
    assert len(found) == n
    return found


def one(text: str, folder: Path, *, drops_entailed: bool = True) -> dict[str, object]:
    rows = rows_of([labelled(text)])
    (found,) = classified(rows, folder, drops_entailed=drops_entailed)
    return found


@pytest.mark.parametrize(
    ("text", "outcome", "label", "severity"),
    [
        ("It is fine.", "grounded", "supported", 0),
        ("It is green.", "hallucinated", "unsupported", 2),
        ("It is perhaps green.", "hallucinated", "unsupported", 1),
        ("It is wrong.", "hallucinated", "contradicted", 4),
        ("It is green and wrong.", "hallucinated", "contradicted", 4),
        ("It is broken and green.", "hallucinated", "unsupported", 2),
    ],
)
def test_an_answer_is_as_bad_as_its_worst_span(
    text: str, outcome: str, label: str, severity: int, tmp_path: Path
) -> None:
    found = one(text, tmp_path)
    assert (found["outcome"], found["label"], found["severity"]) == (outcome, label, severity)
    assert found["detected"] == outcome


def test_what_the_evidence_says_after_all_is_dropped(tmp_path: Path) -> None:
    found = one("It is odd.", tmp_path)
    assert (found["detected"], found["outcome"]) == ("hallucinated", "grounded")
    assert (found["label"], found["severity"], found["n_dropped"]) == ("supported", 0, 1)


def test_nothing_is_dropped_if_that_is_wanted(tmp_path: Path) -> None:
    found = one("It is odd.", tmp_path, drops_entailed=False)
    assert (found["outcome"], found["label"], found["n_dropped"]) == (
        "hallucinated",
        "supported",
        0,
    )


def test_an_explainer_that_fails_leaves_the_detectors_word_and_says_so(tmp_path: Path) -> None:
    assert one("It is broken and green.", tmp_path)["reason"] == "DetectionError"
    assert one("It is green.", tmp_path)["reason"] is None


def test_what_was_not_read_or_checked_has_no_verdict(tmp_path: Path) -> None:
    bad = FailedRow(
        row=2,
        id="x",
        place="",
        problem="No answer.",
        sha256="f" * 16,
        kind="GenerationError",
        task="QA",
        columns={"model": "m", "question_id": "q2"},
    )
    rows = [*rows_of([labelled("It is BOOM.")]), bad]
    failed, unread = sorted(classified(rows, tmp_path), key=lambda row: str(row["row"]))
    assert (failed["outcome"], failed["label"], failed["severity"]) == ("failed", None, None)
    assert failed["error"] == {
        "type": "DetectionError",
        "message": "The detector failed on 'BOOM'.",
    }
    assert (unread["outcome"], unread["model"], unread["question_id"]) == ("failed", "m", "q2")
    assert (unread["task"], unread["error"]) == (
        "QA",
        {"type": "GenerationError", "message": "No answer."},
    )


def test_a_span_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    assert one("It is green and wrong.", tmp_path)["spans"] == [
        {
            "start": 6,
            "end": 11,
            "label": "contradicted",
            "category": "contradiction",
            "subtype": "other",
            "severity": 4,
        },
        {
            "start": 16,
            "end": 21,
            "label": "contradicted",
            "category": "contradiction",
            "subtype": "other",
            "severity": 4,
        },
    ]


def some(n: int) -> list[AnyRow]:
    return rows_of(
        labelled(f"It is {'wrong' if i % 3 else 'fine'}, {i}.", id_=f"a{i}", context=f"c{i % 7}")
        for i in range(n)
    )


def test_results_in_the_order_of_contexts_find_their_sources(tmp_path: Path) -> None:
    found = classified(some(600), tmp_path)
    assert sorted(int(str(row["row"])) for row in found) == list(range(1, 601))
    assert sum(row["outcome"] == "hallucinated" for row in found) == 400


def test_a_file_that_was_cut_goes_on(tmp_path: Path) -> None:
    rows, output = some(50), tmp_path / "classified.jsonl"
    classified(rows, tmp_path)
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) // 2])
    told: list[int] = []
    n = classify(
        tmp_path / "results.jsonl",
        rows,
        Explainer(believes),
        output=output,
        stage=STAGE,
        on_row=told.append,
    )
    assert (n, output.read_bytes()) == (50, whole)
    assert 0 < len(told) < 30


def test_results_of_other_answers_are_refused(tmp_path: Path) -> None:
    classified(some(5), tmp_path)
    others = rows_of(labelled(f"It is other, {i}.", id_=f"a{i}") for i in range(5))
    for answers in (others, some(3)):
        with pytest.raises(ResultsError, match="is not of the answers that are given"):
            classify(
                tmp_path / "results.jsonl",
                answers,
                Explainer(believes),
                output=tmp_path / "c.jsonl",
                stage=STAGE,
            )
