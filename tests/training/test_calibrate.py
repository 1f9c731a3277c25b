"""Maps and thresholds fitted on validation answers, and what they are worth on others."""

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from groundwire import Detector
from groundwire.detection.example import read_sources
from groundwire.engine.features import FEATURE_RULES
from groundwire.engine.models import Manifest, verify
from groundwire.engine.part_scores import Calibration
from groundwire.engine.reader import Reader
from groundwire.engine.scores import AnswerCalibration, SentenceCalibration
from groundwire.evaluation.calibration import reliability
from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training import calibrate, loop
from groundwire_training.calibrate import (
    Fitted,
    Scored,
    can_cross_fit,
    can_fit,
    characters,
    choose,
    cross_fitted,
    measure,
    open_reader,
    plain_claims,
    report,
    score,
    table,
    validation_records,
)
from groundwire_training.loop import Loader
from groundwire_training.sentences import ScoredClaim
from groundwire_training.sets import LabelledContext
from tests.engine.lookup import LookupGraph, looking_up
from tests.training.conftest import write
from tests.training.test_loop import RECIPE, write_records

pytestmark = pytest.mark.torch

AS_IT_IS = Calibration()


def test_plain_claims_are_single_and_every_second_text_stands_among_others(tmp_path: Path) -> None:
    contexts = [f"Shop {n} is red. It sells tea." for n in range(12)]
    rows = [
        {
            "id": str(n),
            "domain": "own-claims",
            "context": [context],
            "question": None,
            "answer": f"Shop {n} is {{{{red||blue||subtle}}}}. It sells {{{{tea||ink||subtle}}}}.",
        }
        for n, context in enumerate(contexts)
    ]
    for name in ("tabfact", "cad_nli"):
        write(tmp_path / "pairs" / f"{name}.jsonl.gz", [])
    write(tmp_path / "slots" / "validation-claims.jsonl", rows)
    found = plain_claims(tmp_path)
    assert [len(record.sources) > 1 for record in found] == [False, True] * 6
    texts = [[answer.text for answer in record.answers] for record in found]
    assert texts[3] == ["Shop 3 is red.", "It sells tea.", "Shop 3 is blue.", "It sells ink."]
    assert [bool(a.spans) for a in found[3].answers] == [False, False, True, True]
    assert all(
        context in {source.text for source in record.sources}
        for context, record in zip(contexts, found, strict=True)
    )


def scored(
    probabilities: Sequence[float] | NDArray[np.float64],
    labels: Sequence[int] | NDArray[np.int64],
    *,
    context: str = "1",
    task: str = "QA",
    n_passages: int = 1,
    contradicted: Sequence[float] | None = None,
) -> Scored:
    """An answer of words of one letter, each a word piece with this P(not supported)."""
    n = len(probabilities)
    p, marks = np.asarray(probabilities, np.float64), np.asarray(labels, np.int64)
    spans = tuple((2 * i, 2 * i + 1, int(label)) for i, label in enumerate(marks) if label)
    return Scored(
        context=context,
        task=task,
        n_passages=n_passages,
        answer=MarkedAnswer(" ".join("x" * n), spans),
        logits=np.log(p / (1 - p)),
        labels=marks,
        contradicted=np.full(n, 0.5) if contradicted is None else np.asarray(contradicted),
        offsets=np.array([(2 * i, 2 * i + 1) for i in range(n)], np.int32),
    )


def without_characters(answer: Scored) -> Scored:
    """The same answer, of which no character can be found: only whole answers count."""
    empty = MarkedAnswer(answer.answer.text, ())
    return replace(answer, answer=empty, offsets=np.zeros_like(answer.offsets))


def drawn(n: int, *, scale: float = 1.0, n_pieces: int = 1, seed: int = 0) -> list[Scored]:
    """Answers whose probabilities are true once their log-odds are multiplied by ``scale``."""
    rng = np.random.default_rng(seed)
    answers = []
    for i in range(n):
        odds = rng.normal(-1, 2, n_pieces)
        labels = (rng.random(n_pieces) < 1 / (1 + np.exp(-odds))).astype(np.int64)
        answer = scored(np.full(n_pieces, 0.5), labels, context=str(i))
        answers.append(replace(answer, logits=odds / scale))
    return answers


def fixed(threshold: float = 0.5, *, steeper: float = 1.0) -> Fitted:
    """Takes probabilities as they are, or the answer's for surer than it is."""
    return Fitted(
        pieces=AS_IT_IS,
        answers=AnswerCalibration(steeper, 0.0),
        thresholds={"balanced": threshold},
    )


# Reading.


def test_answers_are_scored_through_the_engine_and_before_calibration(reader: Reader) -> None:
    judge = looking_up(reader, LookupGraph()).backend
    assert isinstance(judge, Reader)
    record = LabelledContext(
        id="7",
        task="slots-towers",
        sources=read_sources(["The tower is tall.", "The bridge is long."]),
        question=None,
        answers=(
            MarkedAnswer("The tower is red.", ((13, 16, 2),)),
            MarkedAnswer("The bridge is long.", ()),
        ),
    )
    wrong, right = score(replace(judge, calibration=Calibration(scale=-1.0, offset=3.0)), [record])
    assert (wrong.context, wrong.task, wrong.n_passages) == ("7", "slots", 2)
    words = [wrong.answer.text[a:b].strip() for a, b in wrong.offsets.tolist()]
    assert words == ["The", "tower", "is", "red", "."]
    assert (wrong.logits > 0).tolist() == [False, False, False, True, False]
    assert wrong.labels.tolist() == [0, 0, 0, 2, 0]
    assert ((wrong.contradicted >= 0) & (wrong.contradicted <= 1)).all()
    assert wrong.is_hallucinated
    assert not right.is_hallucinated
    assert [claim.label for answer in (wrong, right) for claim in answer.claims] == [2, 0]
    assert wrong.claims[0].doubt == pytest.approx(wrong.logits.max(), abs=1e-4)
    assert right.logits.max() < 0


def test_an_answer_that_cannot_be_read_is_left_out(reader: Reader) -> None:
    judge = looking_up(reader, LookupGraph()).backend
    assert isinstance(judge, Reader)
    sources = read_sources(["The tower is tall."])
    answers = (MarkedAnswer("😀", ()), MarkedAnswer("The tower is tall.", ()))
    (kept,) = score(judge, [LabelledContext("1", "QA", sources, None, answers)])
    assert kept.answer == answers[1]


def test_validation_answers_are_those_that_training_holds_out(
    loader: Loader, tmp_path: Path
) -> None:
    records = list(validation_records(tmp_path / "data"))
    assert records[: len(loader.validation)] == loader.validation
    variants = records[len(loader.validation) :]
    assert [record.id for record in variants] == [r.id for r in loader.slots_validation]
    assert all(record.answers[0].spans == () for record in variants)
    assert any(answer.spans for record in variants for answer in record.answers)
    assert not {record.id for record in records} & {record.id for record in loader.ragtruth}


@pytest.fixture
def loader(tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> Loader:
    for module in (loop, calibrate):
        monkeypatch.setattr(module, "VALIDATION_CONTEXTS", 2)
    write_records(tmp_path / "data")
    return Loader(tmp_path / "data", reader.pieces, reader.words, RECIPE)


# Fitting.


def test_log_odds_become_those_of_what_was_wrong_as_often() -> None:
    # At log-odds of 0 one answer of four is wrong, at 2 three of four: -log(3) and log(3).
    answers = [scored([0.5], [k]) for k in (0, 0, 0, 1)]
    answers += [replace(scored([0.5], [k]), logits=np.array([2.0])) for k in (0, 1, 1, 1)]
    fitted = Fitted.on(answers)
    assert fitted.pieces.scale == pytest.approx(np.log(3), rel=0.01)
    assert fitted.pieces.offset == pytest.approx(-np.log(3), rel=0.01)
    # Answers of one piece are as doubtful as it.
    assert fitted.answers.scale == pytest.approx(1, rel=0.01)
    assert fitted.answers.offset == pytest.approx(0, abs=0.01)
    assert fitted.thresholds == choose(answers, fitted.pieces)


def test_the_highest_piece_of_many_is_high_by_chance() -> None:
    # In each answer one of ten pieces is doubted, and in half of the answers it is wrong.
    answers = [scored([0.01] * 9 + [0.9], [0] * 9 + [i % 2], context=str(i)) for i in range(40)]
    fitted = Fitted.on(answers)
    highest = calibrate.piece_probabilities(answers[0], fitted.pieces).max()
    assert fitted.answers.probability(highest) == pytest.approx(0.5, abs=0.01)


def test_answers_of_one_kind_cannot_be_fitted_on() -> None:
    right, wrong = scored([0.1, 0.2], [0, 0]), scored([0.1, 0.8], [0, 2])
    assert can_fit([right, wrong])
    for answers in ([], [right, right], [wrong]):
        assert not can_fit(answers)


def test_probabilities_follow_from_log_odds_however_steep_the_map() -> None:
    answer = scored([0.25, 0.5, 0.75], [0, 0, 1])
    assert calibrate.piece_probabilities(answer, AS_IT_IS) == pytest.approx([0.25, 0.5, 0.75])
    steep = calibrate.piece_probabilities(answer, Calibration(scale=1e6))
    assert steep == pytest.approx([0, 0.5, 1])


# Thresholds.


def test_balanced_weighs_answers_as_though_35_in_100_were_hallucinated() -> None:
    # Flagged from 0.505 on, all of the 35 are found and 26 of 65 wrongly: F1 is 70 / 96. From 0.905
    # on, 21 of the 35 and nothing else: 42 / 56, which is more. As they are, half and half, it
    # would be 10 / 12 against 6 / 8. Any threshold up to the highest score does the same.
    wrong = [scored([p], [1]) for p in [0.905] * 3 + [0.505] * 2]
    right = [scored([p], [0]) for p in [0.505] * 2 + [0.105] * 3]
    answers = [without_characters(answer) for answer in (*wrong, *right)]
    assert choose(answers, AS_IT_IS) == {"precision": 0.9, "balanced": 0.9, "recall": 0.5}
    more = [*answers, *answers[:5], *answers[:5]]
    assert choose(more, AS_IT_IS)["balanced"] == 0.9


def test_balanced_heeds_the_characters_too() -> None:
    # Each answer is found by its 0.905; where the mistake is longer, only a lower threshold
    # marks the rest of it.
    short = [scored([0.905, 0.305], [1, 0]), scored([0.105], [0])]
    long = [scored([0.905, 0.305], [1, 1]), scored([0.105], [0])]
    assert choose(short, AS_IT_IS)["balanced"] == 0.9
    assert choose(long, AS_IT_IS)["balanced"] == 0.3


def test_balanced_is_the_highest_threshold_that_loses_at_most_a_hundredth() -> None:
    # Below 0.5 one more answer of 1,000 is found: F1 is higher by about 0.0005.
    wrong = [scored([p], [1]) for p in [0.905] * 999 + [0.495]]
    answers = [without_characters(a) for a in (*wrong, *(scored([0.105], [0]) for _ in range(999)))]
    assert choose(answers, AS_IT_IS)["balanced"] == 0.9


def test_precision_flags_at_most_1_and_a_half_and_recall_finds_at_least_90_of_100() -> None:
    right = [scored([(i + 0.5) / 100], [0]) for i in range(100)]
    tops = [0.955] * 30 + [0.505] * 14 + [0.305] * 6
    answers = [without_characters(a) for a in (*right, *(scored([p], [1]) for p in tops))]
    # 1 of 100 is over 0.99 and 2 over 0.98; 44 of 50 are over 0.5 and all over 0.3.
    assert choose(answers, AS_IT_IS) == {"precision": 0.99, "balanced": 0.95, "recall": 0.3}


shares = st.floats(0.02, 0.98)
kinds = st.tuples(
    st.lists(shares, min_size=1, max_size=5), st.lists(shares, min_size=1, max_size=5)
)


@settings(max_examples=15)
@given(kinds)
def test_the_stricter_point_is_never_below_the_wider_one(
    found: tuple[list[float], list[float]],
) -> None:
    right, wrong = (np.array(tops) for tops in found)
    answers = [scored([p], [k]) for k, tops in enumerate(found) for p in tops]
    points = choose(answers, AS_IT_IS)
    assert 1 >= points["precision"] >= points["balanced"] >= points["recall"] > 0
    assert (right >= points["precision"] + 1e-9).mean() <= 0.02
    assert (wrong >= points["recall"] - 1e-9).mean() >= 0.9


# Characters.


def test_characters_are_flagged_without_outer_space_and_once() -> None:
    answer = Scored(
        context="1",
        task="QA",
        n_passages=1,
        answer=MarkedAnswer("It is red.", ((5, 9, 2), (6, 9, 1))),
        logits=np.array([-1.0, 2.0, 2.0, 2.0, -1.0, 9.0]),
        labels=np.array([0, 0, 2, 2, 0, 0]),
        contradicted=np.zeros(6),
        # As the tokenizer cuts: with the space before, twice the same range, and one of no width.
        offsets=np.array([(0, 2), (2, 5), (5, 9), (5, 9), (9, 10), (10, 10)], np.int32),
    )
    assert characters(answer, AS_IT_IS, 0.5) == (3, 5, 3)  # "red", "is" and "red", "red"
    assert characters(answer, AS_IT_IS, 0.99) == (0, 0, 3)
    assert characters(answer, AS_IT_IS, 0.01) == (3, 8, 3)


def test_characters_of_all_answers_are_added_up_before_they_are_shared() -> None:
    one, other = scored([0.9, 0.9, 0.9], [1, 0, 0]), scored([0.1], [1])
    assert calibrate.character_f1([one, other], AS_IT_IS, 0.5) == pytest.approx(2 / (3 + 2))
    assert calibrate.character_f1([scored([0.1], [0])], AS_IT_IS, 0.5) == 0


# Fitted on the others.


def contexts(n: int = 10) -> list[Scored]:
    """Two right and two wrong answers to each, wrong ones a little more doubtful."""
    rng = random.Random(1)
    return [
        scored([rng.uniform(0.05, 0.6 + 0.3 * k), 0.1], [k, 0], context=str(i))
        for i in range(n)
        for k in (0, 1, 0, 1)
    ]


def other_labels(answer: Scored) -> Scored:
    labels = 1 - answer.labels
    spans = tuple((2 * i, 2 * i + 1, 1) for i, label in enumerate(labels) if label)
    return replace(answer, labels=labels, answer=MarkedAnswer(answer.answer.text, spans))


@pytest.mark.parametrize("context", ["0", "5"])
def test_labels_of_a_context_change_nothing_by_which_it_is_judged(context: str) -> None:
    before = cross_fitted(contexts())
    changed = [a if a.context != context else other_labels(a) for a in contexts()]
    after = cross_fitted(changed)
    own = [a.context == context for a, _ in after]
    assert sum(own) == 4
    same = [one == other for (_, one), (_, other) in zip(before, after, strict=True)]
    assert all(is_same for is_same, is_own in zip(same, own, strict=True) if is_own)
    # They do change those that others are judged by: all but the contexts of the same fold.
    assert same.count(True) == 8
    assert [answer.answer for answer, _ in after] == [answer.answer for answer in changed]


def test_cross_fitting_needs_both_kinds_in_more_than_one_part() -> None:
    answers = contexts()
    assert can_cross_fit(answers)
    alone = [a for a in answers if a.context == "3" or not a.is_hallucinated]
    assert can_fit(alone)
    assert not can_cross_fit(alone)
    assert not can_cross_fit([a for a in answers if a.context == "3"])
    assert not can_cross_fit([])


# What it is worth.


def four(threshold: float = 0.5) -> list[tuple[Scored, Fitted]]:
    """One is found, one missed, one rightly left alone, one wrongly flagged."""
    tops = [(0.9, 2), (0.2, 1), (0.1, 0), (0.8, 0)]
    return [(scored([p], [k], context=str(i)), fixed(threshold)) for i, (p, k) in enumerate(tops)]


def test_scores_are_those_worked_out_by_hand() -> None:
    found = measure(four())
    assert (found["n"], found["hallucinated"]) == (4, 0.5)
    assert found["flag_all_f1"] == pytest.approx(2 / 3)
    assert found["auroc"] == found["piece_auroc"] == 0.75  # 0.2 against 0.8 is the wrong way
    assert found["answer_ece"] == pytest.approx((0.1 + 0.8 + 0.1 + 0.8) / 4)
    squares = (0.01 + 0.64 + 0.01 + 0.64) / 4
    assert found["answer_brier_skill"] == pytest.approx(1 - squares / 0.25)
    assert found["piece_brier_skill"] == pytest.approx(1 - squares / 0.25)
    point = found["points"]["balanced"]
    assert point["precision"] == point["recall"] == point["false_positive_rate"] == 0.5
    assert point["f1"] == point["characters"]["f1"] == 0.5
    assert isnan(point["low"])  # of four contexts there is no interval


def test_each_answer_is_judged_by_its_own_numbers() -> None:
    judged = four()
    judged[1] = (judged[1][0], fixed(0.15))
    judged[3] = (judged[3][0], fixed(0.85))
    point = measure(judged)["points"]["balanced"]
    assert (point["precision"], point["recall"], point["false_positive_rate"]) == (1, 1, 0)
    assert point["characters"]["f1"] == 1


def test_true_probabilities_have_a_low_calibration_error_and_others_have_not() -> None:
    answers = drawn(4000)
    true = measure([(answer, fixed()) for answer in answers])
    assert true["answer_ece"] < 0.03
    assert true["piece_ece_from_0.1"] < 0.04
    assert true["answer_brier_skill"] > 0.3
    too_sure = measure([(answer, fixed(steeper=4.0)) for answer in answers])
    assert too_sure["answer_ece"] > 0.1


def test_what_is_fitted_on_others_makes_probabilities_true() -> None:
    found = measure(cross_fitted(drawn(100, scale=3.0, n_pieces=3)))
    assert found["answer_ece"] < 0.12
    assert found["answer_brier_skill"] > 0.1


def mixed() -> list[Scored]:
    """Questions with one passage, slots with five, and right summaries with ten."""
    rng = random.Random(2)
    made = []
    for i in range(6):
        for task, n_passages, labels in (("QA", 1, (0, 2)), ("slots", 5, (0, 1))):
            made += [
                scored(
                    [0.05, rng.uniform(0.1, 0.6) + 0.35 * (k > 0)],
                    [0, k],
                    context=f"{task}{i}",
                    task=task,
                    n_passages=n_passages,
                    contradicted=[0.5, 0.4 * k],
                )
                for k in labels
            ]
        made.append(scored([0.1], [0], context=f"s{i}", task="Summary", n_passages=10))
    return made


def test_a_report_has_groups_by_task_and_by_passages() -> None:
    found = report(mixed())
    groups = found["groups"]
    # Summaries, and so what has over 6 passages, are all right: there is nothing to score.
    assert list(groups) == ["all", "RAGTruth", "QA", "slots", "1-1 passages", "4-6 passages"]
    assert [group["n"] for group in groups.values()] == [30, 18, 12, 12, 12, 12]
    assert groups["QA"] == groups["1-1 passages"]
    assert groups["all"]["hallucinated"] == 0.4
    assert list(groups["all"]["points"]) == ["precision", "balanced", "recall"]
    assert found["contradicted_auroc"] == 1  # 0.8 where contradicted, 0.4 where unsupported
    json.dumps(found)


def test_answers_of_ones_own_are_not_called_ragtruth() -> None:
    groups = report([replace(answer, task="own") for answer in contexts()])["groups"]
    assert list(groups) == ["all", "own", "1-1 passages"]


def test_a_table_tells_the_report_in_per_cent() -> None:
    found = {"groups": {"all": measure(four()), "QA": measure(four())}, "contradicted_auroc": 0.75}
    header, first, second, *rest = table(found).splitlines()
    assert header.split()[:4] == ["group", "n", "halluc.", "AUROC"]
    assert first.split()[:5] == ["all", "4", "50.0%", "0.750", "50.0"]
    assert second.split()[:2] == ["QA", "4"]
    assert first.split()[6:10] == ["50.0", "50.0", "50.0", "66.7"]
    assert "0.450 (0.500)/0.450" in first
    assert rest == [
        "balanced   finds 50.0%, flags 50.0% of grounded answers",
        "contradicted against unsupported: AUROC 0.750",
    ]


# The folder.


def test_what_was_fitted_is_written_where_the_detector_reads_it(
    model_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "mine")
    fitted = calibrate.calibrate(folder, contexts())
    manifest = Manifest.read(folder)
    verify(manifest)
    assert manifest.version == Manifest.read(model_folder).version
    assert manifest.revision == Manifest.read(model_folder).revision
    assert manifest.operating_points == fitted.thresholds
    assert manifest.raw["feature_rules"] == FEATURE_RULES
    assert manifest.raw["answer_calibration"] == {
        "scale": fitted.answers.scale,
        "offset": fitted.answers.offset,
    }
    opened = open_reader(folder, 1)
    assert (opened.calibration, opened.answers) == (fitted.pieces, fitted.answers)
    # These answers have no claims, so nothing is known of claims as a whole.
    assert (fitted.whole, fitted.lines) == (None, None)
    assert manifest.raw["sentence_calibration"] is None
    assert opened.sentences == SentenceCalibration()
    with Detector.load(folder, threads=1) as detector:
        found = detector.detect(sources=["The tower is red."], answer="The tower is blue.")
    (claim,) = found.claims
    assert claim.probability is not None
    assert found.detector.threshold == fitted.thresholds["balanced"]
    expected = fitted.answers.probability(claim.probability)
    assert found.probability == pytest.approx(expected, abs=1e-6)


def test_the_maps_for_claims_are_written_too(model_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "mine")
    shares = np.log(np.array([0.5, 0.3, 0.2]))
    said = [ScoredClaim(label=k, doubt=9.0, whole=shares, lines=shares) for k in (0, 0, 1, 2)]
    answers = [replace(answer, claims=tuple(said)) for answer in contexts()]
    fitted = calibrate.calibrate(folder, answers)
    opened = open_reader(folder, 1)
    assert (opened.sentences, opened.lines) == (fitted.whole, fitted.lines)
    assert opened.sentences != SentenceCalibration()
    told = report(answers)
    assert list(told["claims"]) == ["whole, all", "whole, marked", "lines, all", "lines, marked"]
    assert "claims, lines, marked " in table(told)


def test_without_both_kinds_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ValueError, match="class"):
        calibrate.calibrate(tmp_path, [scored([0.1], [0])] * 4)
    assert (tmp_path / "manifest.json").read_text() == "{}"


def test_chance_alone_makes_an_error_and_less_of_it_with_more_outcomes() -> None:
    few, many = (calibrate.ece_by_chance(np.tile([0.15, 0.45, 0.75], n)) for n in (10, 1000))
    assert few.shape == many.shape == (200,)
    assert few.mean() > 5 * many.mean() > 0


def test_probabilities_that_are_too_sure_have_more_than_chance() -> None:
    rng = np.random.default_rng(1)
    true = rng.random(2000)
    so = rng.random(2000) < true
    limit = float(np.quantile(calibrate.ece_by_chance(true), 0.95))
    assert reliability(true, so).ece < limit < reliability(np.where(true > 0.5, 1, 0), so).ece


def test_what_is_certain_has_no_error_by_chance() -> None:
    assert not calibrate.ece_by_chance([0, 1, 1], n_draws=3).any()
