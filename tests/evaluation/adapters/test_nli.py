"""An NLI checkpoint as a detector, with a model whose verdicts can be worked out by hand."""

from pathlib import Path

import pytest

from groundwire.detection.values import Label, Outcome
from groundwire.errors import ModelError, UnpinnedModelError
from groundwire.evaluation.adapters.adapter import adapter
from tests.tiny import pair_graph, word_tokenizer, write_checkpoint

NAMES = {"0": "entailment", "1": "neutral", "2": "contradiction"}
#: "italy" in the sources entails, "rome" in the claim contradicts more, "berlin" is not said.
ROWS = {"italy": (3.0, 0.0, 0.0), "rome": (0.0, 0.0, 6.0), "berlin": (0.0, 6.0, 0.0)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tokenizer = word_tokenizer()
    return write_checkpoint(
        tmp_path / "nli",
        tokenizer=tokenizer,
        config={"architectures": ["BertForSequenceClassification"], "id2label": NAMES},
        graph=pair_graph(tokenizer, ROWS, n_labels=3),
    )


def test_each_sentence_is_a_hypothesis_and_all_sources_are_the_premise(model: Path) -> None:
    answer = "Paris is big. Rome is big. Berlin is big."
    with adapter(f"nli:{model}", threads=1) as detector:
        found = detector.detect(sources=["Paris is big, in Italy.", "What?"], answer=answer)
    assert found.outcome is Outcome.HALLUCINATED
    assert [claim.label for claim in found.claims] == [
        *(Label.SUPPORTED, Label.CONTRADICTED, Label.UNSUPPORTED)
    ]
    assert [span.text for span in found.spans] == ["Rome is big.", "Berlin is big."]
    for claim in found.claims:
        assert claim.entailment is not None
        assert claim.probability == pytest.approx(1 - claim.entailment.entailment, abs=1e-5)
    assert found.detector.name == f"nli:{model}"
    assert len(found.detector.revision) == 64


def test_sources_longer_than_a_pass_are_read_to_their_end(model: Path) -> None:
    sources = ["what " * 200 + "big italy"]  # 64 word pieces fit
    with adapter(f"nli:{model}", threads=1) as detector:
        found = detector.detect(sources=sources, answer="Paris is big.")
    assert found.outcome is Outcome.GROUNDED
    assert found.coverage.is_complete


def test_a_batch_keeps_its_order(model: Path) -> None:
    from groundwire.detection.example import Example

    answers = ["Rome is big.", "Paris is big."] * 4
    examples = [Example.of(sources=["Italy."], answer=answer) for answer in answers]
    with adapter(f"nli:{model}", threads=2) as detector:
        found = [bool(getattr(each, "spans", ())) for each in detector.detect_batch(examples)]
    assert found == [True, False] * 4


def test_a_model_of_another_kind_or_without_a_commit_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "tokens")
    with pytest.raises(ModelError, match="a sequence classifier is needed"):
        adapter(f"nli:{tmp_path / 'tokens'}")
    with pytest.raises(UnpinnedModelError):
        adapter("nli:cross-encoder/nli-deberta-v3-base")
