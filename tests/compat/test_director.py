"""Director-AI's span detector under its names: its acceptance facts, one test each."""

from pathlib import Path
from typing import cast

import pytest

from groundwire.compat import director
from groundwire.compat.director import (
    DirectorConfig,
    HallucinatedSpan,
    HallucinationSpanDetector,
    ProductionGuard,
    SpanDetection,
    merge_flagged_spans,
)
from groundwire.detection.evidence import WordWeights
from groundwire.detection.example import read_sources
from groundwire.detection.rules import Conflict, ConflictKind
from groundwire.detection.values import Label
from groundwire.detector import Detector
from groundwire.engine.models import find_model
from groundwire.engine.token_classifier import TokenClassifierBackend
from groundwire.engine.tokenizer import WordPieces
from groundwire.engine.windowing import TokenClassifier
from groundwire.errors import DetectionError
from groundwire.text.segment import segment
from tests.fakes import FixedScores
from tests.fixed_judge import FixedJudge
from tests.tiny import lookup_graph, word_tokenizer, write_checkpoint

CONTEXT = "The Golden Dragon is a Chinese restaurant that serves Szechuan dishes."
RESPONSE = "The head chef won three Michelin stars in 2019."
DOUBTFUL = {"chef": 0.97, "won": 0.99, "Michelin": 0.98, "in": 0.96, "2019": 0.999}


def detector(
    doubtful: dict[str, float], *, token_threshold: float = 0.95, min_tokens: int = 1
) -> HallucinationSpanDetector:
    return HallucinationSpanDetector(
        FixedScores(doubtful=doubtful),
        "its tokenizer",
        token_threshold=token_threshold,
        min_tokens=min_tokens,
    )


def test_word_pieces_between_claims_are_seen_here_and_in_no_detection() -> None:
    # docs/checkpoints.md says so: the letter of a list item is part of no claim.
    response, doubtful = "a) It is red.\nb) It is blue.", {"b": 0.99}
    assert [span.text for span in detector(doubtful).detect(CONTEXT, response).spans] == ["\nb"]
    manifest = find_model("reader")
    whole = TokenClassifierBackend(
        name="fixed",
        revision="0" * 40,
        operating_points={"balanced": 0.5},
        model=cast("TokenClassifier", FixedScores(doubtful=doubtful)),
        pieces=WordPieces(manifest.folder / "tokenizer.json"),
        words=WordWeights.load(manifest.folder),
    )
    reading = whole.open(read_sources([CONTEXT]), None, threshold=0.5, tenant="")
    claims = reading.read(response, segment(response))
    assert [float(claim.probabilities.max()) for claim in claims] == pytest.approx([0.1, 0.1])


def test_the_defaults_are_those_of_the_reference() -> None:
    config = DirectorConfig()
    assert config.span_detection_enabled is False
    assert config.span_model == "anulum/director-ragtruth-token-modernbert"
    assert config.span_model_revision == ""
    assert config.span_token_threshold == 0.95
    assert config.span_min_tokens == 1
    assert config.span_max_length == 1024
    assert config.span_device == -1


def test_spans_keep_the_space_before_them() -> None:
    found = detector(DOUBTFUL).detect(CONTEXT, RESPONSE)
    assert found.hallucinated
    assert [span.text for span in found.spans] == [" chef won", " Michelin", " in 2019"]
    assert [span.score for span in found.spans] == pytest.approx([0.99, 0.98, 0.999])
    assert all(RESPONSE[span.start : span.end] == span.text for span in found.spans)
    assert found.max_token_score == pytest.approx(0.999)
    assert (found.flagged_tokens, found.response_tokens) == (5, 10)
    assert found.coverage == 0.5


def test_coverage_is_the_share_of_flagged_word_pieces() -> None:
    assert SpanDetection(True, flagged_tokens=3, response_tokens=12).coverage == 0.25
    assert SpanDetection(False).coverage == 0.0


def test_fewer_flagged_word_pieces_than_asked_for_are_told_but_do_not_count() -> None:
    found = detector({"chef": 0.99}, min_tokens=2).detect(CONTEXT, RESPONSE)
    assert not found.hallucinated
    assert found.flagged_tokens == 1
    assert [span.text for span in found.spans] == [" chef"]
    both = detector({"chef": 0.99, "won": 0.99}, min_tokens=2).detect(CONTEXT, RESPONSE)
    assert both.hallucinated


@pytest.mark.parametrize("response", [None, "", " \n\t"])
def test_a_blank_response_has_nothing_and_the_model_is_not_called(response: str | None) -> None:
    model = FixedScores(doubtful={})
    found = HallucinationSpanDetector(model, "its tokenizer").detect(CONTEXT, response)
    assert found == SpanDetection(False, (), 0.0, 0, 0)
    assert model.asked == []


def test_no_context_is_the_empty_text_and_there_is_no_question() -> None:
    model = FixedScores(doubtful={})
    HallucinationSpanDetector(model, "its tokenizer").detect(None, "Yes")
    assert model.asked == [("", None, "Yes")]


def test_the_maximum_is_of_all_word_pieces() -> None:
    found = detector({"chef": 0.5}).detect(CONTEXT, RESPONSE)
    assert found == SpanDetection(False, (), 0.5, 0, 10)


def test_a_threshold_of_zero_flags_everything() -> None:
    found = detector({}, token_threshold=0).detect(CONTEXT, RESPONSE)
    assert [span.text for span in found.spans] == [RESPONSE]


def test_merging_gives_spans_count_and_maximum() -> None:
    offsets = [(0, 2), (2, 3), (3, 5), (5, 6), (6, 8)]
    merged = merge_flagged_spans(offsets, [0.99, 0.1, 0.97, 0.1, 0.96], "ab.cd ef", 0.95)
    spans = (HallucinatedSpan(0, 2, "ab", 0.99), HallucinatedSpan(3, 8, "cd ef", 0.97))
    assert merged == (spans, 3, 0.99)
    assert merge_flagged_spans([(0, 0), (0, 1)], [0.99, 0.5], "a", 0.95) == ((), 0, 0.99)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_threshold": 1.5}, r"token_threshold = 1\.5"),
        ({"token_threshold": float("nan")}, "token_threshold = nan"),
        ({"min_tokens": 0}, "min_tokens = 0"),
    ],
)
def test_a_setting_outside_its_range_is_a_value_error(
    arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        HallucinationSpanDetector(FixedScores(doubtful={}), "t", **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"span_{message}"):
        DirectorConfig(**{f"span_{name}": value for name, value in arguments.items()})  # type: ignore[arg-type]


def test_a_missing_model_or_tokenizer_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="model = None"):
        HallucinationSpanDetector(None, "its tokenizer")
    with pytest.raises(ValueError, match="tokenizer = None"):
        HallucinationSpanDetector(FixedScores(doubtful={}), None)


@pytest.mark.parametrize(("setting", "value"), [("span_max_length", 8), ("span_device", -2)])
def test_an_impossible_length_or_device_stops_the_start(setting: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{setting} = {value}"):
        DirectorConfig(**{setting: value})  # type: ignore[arg-type]


def test_a_guard_that_is_not_enabled_says_so() -> None:
    with pytest.raises(RuntimeError, match="span detection is disabled"):
        ProductionGuard(config=DirectorConfig()).detect_spans(CONTEXT, RESPONSE)


def test_a_hub_model_without_a_pin_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="its revision is not pinned"):
        HallucinationSpanDetector.from_pretrained("someone/some-model")
    config = DirectorConfig(span_detection_enabled=True, span_model="someone/some-model")
    with pytest.raises(ValueError, match="its revision is not pinned"):
        ProductionGuard(config=config).detect_spans(CONTEXT, RESPONSE)


def test_a_guard_loads_its_model_once_and_hands_down_its_settings(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own={"rome": (0.0, 6.0)}, helps={"italy": (9.0, 0.0)})
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph)
    config = DirectorConfig(
        span_detection_enabled=True,
        span_model=str(tmp_path),
        span_token_threshold=0.9,
        span_min_tokens=2,
        span_max_length=32,
    )
    guard = ProductionGuard(config=config)
    assert guard.span_detector is guard.span_detector
    assert guard.span_detector.max_length == 32
    found = guard.detect_spans("paris is big", "Rome is in France")
    assert [span.text for span in found.spans] == ["Rome"]
    assert (found.hallucinated, found.flagged_tokens, found.response_tokens) == (False, 1, 4)
    # A context that does not fit is read to its end.
    assert not guard.detect_spans("paris is big . " * 20 + "italy", "Rome is in France").spans


@pytest.mark.parametrize("name", ["groundwire", "reader"])
def test_the_embedded_reader_stands_behind_its_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = Detector(FixedJudge(doubtful={"chef": 0.97, "won": 0.99}))
    monkeypatch.setattr(Detector, "load", lambda: fixed)
    config = DirectorConfig(span_detection_enabled=True, span_model=name)
    found = ProductionGuard(config=config).detect_spans(CONTEXT, f"{RESPONSE} It opened.")
    assert [span.text for span in found.spans] == ["chef won"]
    assert (found.flagged_tokens, found.response_tokens) == (2, 13)


def test_what_rules_find_counts_in_the_scores_of_the_embedded_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = Conflict(0, 1, ConflictKind.NEGATION, Label.CONTRADICTED, 0.97)
    judge = FixedJudge(doubtful={"won": 0.6}, conflicts={"chef": wrong}, settled=["won"])
    monkeypatch.setattr(Detector, "load", lambda: Detector(judge))
    guard = ProductionGuard(DirectorConfig(span_detection_enabled=True, span_model="groundwire"))
    assert [span.text for span in guard.detect_spans(CONTEXT, RESPONSE).spans] == ["chef"]


def test_what_the_embedded_reader_cannot_judge_is_an_error_and_never_clean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fixed = Detector(FixedJudge(doubtful={}, cannot_read="Michelin"))
    monkeypatch.setattr(Detector, "load", lambda: fixed)
    guard = ProductionGuard(DirectorConfig(span_detection_enabled=True, span_model="groundwire"))
    with pytest.raises(DetectionError, match=r"Characters 0 to 47 .* were not judged"):
        guard.detect_spans(CONTEXT, RESPONSE)
    with pytest.raises(DetectionError, match="nothing to check the answer against"):
        guard.detect_spans("", RESPONSE)


def test_letters_that_the_embedded_reader_does_not_know_are_an_error(
    monkeypatch: pytest.MonkeyPatch, detector: Detector
) -> None:
    monkeypatch.setattr(Detector, "load", lambda: detector)
    guard = ProductionGuard(DirectorConfig(span_detection_enabled=True, span_model="groundwire"))
    with pytest.raises(DetectionError, match=r"not judged in full \(language\)"):
        guard.detect_spans(CONTEXT, "The chef lives in 𒀀𒀁𒀂 and won.")


def test_a_score_that_is_no_number_is_an_error() -> None:
    with pytest.raises(DetectionError, match="is not a number"):
        detector({"chef": float("nan")}).detect(CONTEXT, RESPONSE)


def test_the_module_names_what_the_reference_names() -> None:
    names = "DirectorConfig HallucinatedSpan HallucinationSpanDetector ProductionGuard"
    assert all(hasattr(director, name) for name in (*names.split(), "SpanDetection"))
