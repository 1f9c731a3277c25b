"""LettuceDetect's package as a detector.

A stand-in for the package marks years; its shape is that of the real one, which a test with mark
"torch" uses if it is installed.
"""

import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

import pytest

from groundwire import Detection
from groundwire.detection.example import Example
from groundwire.detection.values import Outcome, Reason
from groundwire.errors import AnswerFailedError, SettingError, UnpinnedModelError
from groundwire.evaluation.adapters.adapter import adapter
from groundwire.evaluation.adapters.lettuce import NoLettuceDetectError

STAND_IN = """
import re

class _Inner:
    max_length = 160

    def tokenizer(self, text, add_special_tokens):
        assert add_special_tokens is False
        return {"input_ids": text.split()}

class HallucinationDetector:
    def __init__(self, method, model_path, device, revision=None):
        if "broken" in model_path:
            raise OSError("no such model")
        assert method == "transformer"
        self.detector = _Inner()

    def predict(self, context, question, answer, output_format):
        assert output_format == "spans"
        if "BOOM" in answer:
            raise RuntimeError(answer)
        there = " ".join(context)
        return [
            {"start": m.start() - 1, "end": m.end(), "confidence": 0.9, "text": m.group()}
            for m in re.finditer("[0-9]{4}", answer) if m.group() not in there
        ]
"""
SOURCES = ["The bridge was opened in 1932."]


def install(folder: Path, version: str) -> None:
    package = folder / "lettucedetect" / "models"
    package.mkdir(parents=True)
    (folder / "lettucedetect" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "inference.py").write_text(STAND_IN)
    info = folder / f"lettucedetect-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: lettucedetect\nVersion: {version}\n"
    )


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model, and a package that reads it."""
    install(tmp_path / "site", "0.2.3")
    monkeypatch.syspath_prepend(tmp_path / "site")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "lettucedetect"]:
        del sys.modules[name]


def check(model: Path, answer: str, sources: list[str] = SOURCES) -> Detection:
    with adapter(f"lettucedetect:{model}") as detector:
        return detector.detect(sources=sources, answer=answer)


def test_what_the_package_marks_is_marked_without_the_space_before_it(model: Path) -> None:
    answer = "It was opened in 1932. It was painted in 1950."
    found = check(model, answer)
    assert found.outcome is Outcome.HALLUCINATED
    assert [(span.text, span.probability) for span in found.spans] == [("1950", 0.9)]
    assert answer[found.spans[0].start : found.spans[0].end] == "1950"
    assert [claim.probability for claim in found.claims] == [0, 0.9]
    assert found.coverage.is_complete
    assert found.detector.revision.endswith("-0.2.3")


def test_a_passage_that_the_package_cuts_off_is_told(model: Path) -> None:
    found = check(model, "It was opened in 1932.", [*SOURCES, "word " * 200])
    assert found.outcome is Outcome.PARTIAL
    assert found.coverage.reasons[Reason.DROPPED_LONG] == 1
    assert 0 < found.coverage.indexed < 1


def test_a_failure_of_the_package_is_a_failed_row_that_quotes_nothing(model: Path) -> None:
    examples = [Example.of(sources=SOURCES, answer=text) for text in ("A SECRET BOOM.", "Fine.")]
    with adapter(f"lettucedetect:{model}") as detector:
        first, second = detector.detect_batch(examples)
    assert isinstance(first, AnswerFailedError)
    assert str(first) == "LettuceDetect failed: RuntimeError."
    assert isinstance(second, Detection)


def test_a_higher_threshold_marks_less(model: Path) -> None:
    with adapter(f"lettucedetect:{model}", operating_point=0.95) as detector:
        assert not detector.detect(sources=SOURCES, answer="In 1950.").spans


def test_a_lower_threshold_than_that_of_the_package_is_refused(model: Path) -> None:
    with pytest.raises(SettingError, match=r"from 0\.5"):
        adapter(f"lettucedetect:{model}", operating_point=0.3)


def test_a_hub_model_needs_its_commit(model: Path) -> None:
    del model  # the package is there
    with pytest.raises(UnpinnedModelError):
        adapter("lettucedetect:KRLabsOrg/lettucedect-base-modernbert-en-v1")


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(NoLettuceDetectError, match=r"pip install 'lettucedetect>=0\.2'"):
        adapter("lettucedetect:x/y")


def test_an_old_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: "0.1.8")
    with pytest.raises(NoLettuceDetectError, match=r"0\.1\.8 is too old"):
        adapter(f"lettucedetect:{tmp_path}")


@pytest.mark.torch
@pytest.mark.skipif(
    util.find_spec("lettucedetect") is None, reason="LettuceDetect's package is not installed"
)
def test_the_real_package_loads_a_model_and_marks_with_it(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from tests.tiny import word_tokenizer

    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer(),
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        model_max_length=256,
    )
    fast.save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(fast),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=2,
    )
    model = transformers.BertForTokenClassification(config)
    model.classifier.bias.data[:] = model.classifier.bias.data.new_tensor([-9.0, 9.0])
    model.save_pretrained(tmp_path)
    answer = "paris is the capital of france ."
    found = check(tmp_path, answer, ["berlin is big."])
    assert [span.text for span in found.spans] == [answer]
