"""Published token classifiers: pins, labels, windows, and what the graph says of each word."""

import itertools
import json
import shutil
import sys
import threading
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors

from groundwire.engine.checkpoints import (
    PINS,
    DeviceWarning,
    cache_folder,
    load_checkpoint,
    pinned_revision,
)
from groundwire.engine.classifier import Frame
from groundwire.engine.scores import TokenScores
from groundwire.engine.windowing import (
    TokenClassifier,
    Window,
    not_supported_labels,
    plan_windows,
)
from groundwire.errors import (
    MissingExtraError,
    ModelError,
    SettingError,
    UnknownModelError,
    UnpinnedModelError,
)
from tests.tiny import byte_tokenizer, lookup_graph, word_tokenizer, write_checkpoint

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# In these models "rome" is doubtful, and a window with "italy" in it supports everything.
DOUBTFUL = {"rome": (0.0, 3.0)}
SUPPORTING = {"italy": (6.0, 0.0)}


def tiny(
    folder: Path, *, config: Mapping[str, Any] | None = None, max_length: int | None = None
) -> TokenClassifier:
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own=DOUBTFUL, helps=SUPPORTING)
    write_checkpoint(folder, tokenizer=tokenizer, config=config, graph=graph)
    return load_checkpoint(folder, max_length=max_length)


def words(scores: TokenScores, answer: str) -> dict[str, float]:
    return {
        answer[start:end]: round(float(p), 3)
        for (start, end), p in zip(scores.offsets.tolist(), scores.probabilities, strict=True)
    }


# --- which model --------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [None, "main", "v1.0", "0123456", COMMIT.upper()])
def test_a_hub_model_without_a_commit_is_refused_before_anything_is_fetched(
    revision: str | None,
) -> None:
    with pytest.raises(UnpinnedModelError, match="Pass revision= with a full commit hash"):
        load_checkpoint("someone/some-model", revision=revision)


def test_a_model_that_we_pin_needs_no_revision_and_the_users_wins() -> None:
    model = "anulum/director-ragtruth-token-modernbert"
    assert pinned_revision(model, None) == PINS[model]
    assert pinned_revision(model, COMMIT) == COMMIT


@pytest.mark.parametrize("model", ["modernbert", "./no/such/folder", "../a/b", "a/b/c", "a b/c"])
def test_what_is_neither_a_folder_nor_a_hub_id_is_unknown(model: str) -> None:
    with pytest.raises(UnknownModelError, match="There is no model"):
        load_checkpoint(model, revision=COMMIT)


def test_a_hub_out_of_reach_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"could not be fetched.*pass its local folder") as caught:
        load_checkpoint("someone/some-model", revision=COMMIT, cache_dir=tmp_path)
    assert not isinstance(caught.value, UnpinnedModelError)


def test_only_files_without_code_are_fetched_and_weights_only_for_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "snapshot"
    tiny(source)
    asked: list[tuple[str, list[str]]] = []

    def snapshot(
        model: str, *, revision: str, cache_dir: Path | None, allow_patterns: list[str]
    ) -> str:
        del model, cache_dir
        asked.append((revision, allow_patterns))
        return str(source)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    model = load_checkpoint("someone/some-model", revision=COMMIT)
    assert (model.name, model.revision) == ("someone/some-model", COMMIT)
    assert [revision for revision, _ in asked] == [COMMIT]
    patterns = asked[0][1]
    for wanted in ("config.json", "tokenizer.json", "onnx/model.onnx", "onnx/model.onnx_data"):
        assert any(fnmatch(wanted, pattern) for pattern in patterns)
    for unwanted in ("modeling.py", "pytorch_model.bin", "model.pt", "x.pkl", "model.safetensors"):
        assert not any(fnmatch(unwanted, pattern) for pattern in patterns)

    monkeypatch.setitem(sys.modules, "torch", None)
    for missing in ("tokenizer.json", "onnx"):
        (source / missing).rename(tmp_path / missing)
        asked.clear()
        with pytest.raises(MissingExtraError, match=r"'\.\[train\]"):
            load_checkpoint("someone/some-model", revision=COMMIT, cache_dir=tmp_path)
        assert [patterns for _, patterns in asked[1:]] == [["*.safetensors"]], missing
        (tmp_path / missing).rename(source / missing)


def test_a_folder_is_known_by_the_hash_of_its_files(tmp_path: Path) -> None:
    one, same = tiny(tmp_path / "one"), tiny(tmp_path / "same")
    other = tiny(tmp_path / "other", config={"max_position_embeddings": 63})
    assert one.revision == same.revision != other.revision
    assert len(one.revision) == 64


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GROUNDWIRE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == Path.home() / ".cache" / "groundwire"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/groundwire")
    monkeypatch.setenv("GROUNDWIRE_CACHE", "/own")
    assert cache_folder() == Path("/own")


# --- what is no token classifier ----------------------------------------------------------------


def test_a_sequence_classifier_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, config={"architectures": ["BertForSequenceClassification"]})
    with pytest.raises(ModelError, match="a token classifier is needed"):
        load_checkpoint(tmp_path)


def test_a_folder_without_a_configuration_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no config\.json"):
        load_checkpoint(tmp_path)


def test_a_graph_with_other_classes_than_the_configuration_is_refused_at_once(
    tmp_path: Path,
) -> None:
    labels = {"0": "supported", "1": "unsupported", "2": "contradicted"}
    with pytest.raises(ModelError, match=r"returned shape \(1, 5, 2\).*3 classes"):
        tiny(tmp_path, config={"id2label": labels})


def test_a_graph_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own={}, inputs=("input_ids", "pixel_values"))
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph)
    with pytest.raises(ModelError, match=r"takes \['input_ids', 'pixel_values'\]"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "onnx/model.onnx"])
def test_a_broken_file_is_named(tmp_path: Path, file: str) -> None:
    tiny(tmp_path)
    (tmp_path / file).write_text("{")
    with pytest.raises(ModelError, match=file.split("/")[-1].replace(".", r"\.")):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("device", "gpu"), ("device", "cuda:x"), ("threads", 0), ("max_length", 15)],
)
def test_a_setting_outside_its_range_is_refused(
    tmp_path: Path, setting: str, value: object
) -> None:
    arguments: dict[str, Any] = {setting: value}
    with pytest.raises(SettingError, match=setting):
        load_checkpoint(tmp_path, **arguments)


@pytest.mark.skipif(
    "CUDAExecutionProvider" in ort.get_available_providers(), reason="this machine may have one"
)
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_device_that_is_not_there_warns_and_the_cpu_judges(tmp_path: Path, device: str) -> None:
    tiny(tmp_path)
    with pytest.warns(DeviceWarning, match=f"device = '{device}'.*runs on the CPU"):
        model = load_checkpoint(tmp_path, device=device)
    assert words(model.read("paris", None, "rome"), "rome") == {"rome": 0.953}


# --- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, (1,)),
        ({"0": "LABEL_0", "1": "LABEL_1"}, (1,)),
        ({"0": "supported", "1": "hallucinated"}, (1,)),
        ({"0": "HALLUCINATION", "1": "NOT_HALLUCINATION"}, (0,)),
        ({"0": "non-factual", "1": "factual"}, (0,)),
        ({"0": "contradicted", "1": "LABEL_1"}, (0,)),
        ({"0": "LABEL_0", "1": "faithful"}, (0,)),
        ({"0": "supported", "1": "unsupported", "2": "contradicted"}, (1, 2)),
        ({"0": "contradiction", "1": "neutral", "2": "entailment"}, (0, 1)),
        ({"0": "O", "1": "B-HAL", "2": "I-HAL"}, (1, 2)),
    ],
)
def test_the_configuration_says_which_classes_are_not_supported(
    labels: dict[str, str] | None, expected: tuple[int, ...]
) -> None:
    assert not_supported_labels({"id2label": labels}) == expected


@pytest.mark.parametrize(
    "labels",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "unsupported", "1": "contradicted"},
        {"0": "supported", "1": "entailed"},
        {"0": "hallucinated"},
    ],
)
def test_classes_that_do_not_say_are_never_guessed(labels: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="do not say which of them"):
        not_supported_labels({"id2label": labels})


def test_the_label_order_of_the_configuration_decides(tmp_path: Path) -> None:
    usual = tiny(tmp_path / "usual", config={"id2label": {"0": "supported", "1": "hallucinated"}})
    turned = tiny(tmp_path / "turned", config={"id2label": {"0": "hallucinated", "1": "supported"}})
    assert words(usual.read("paris", None, "rome"), "rome") == {"rome": 0.953}  # e³ / (1 + e³)
    assert words(turned.read("paris", None, "rome"), "rome") == {"rome": 0.047}


def test_of_three_classes_all_but_supported_count(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own={"rome": (1.0, 2.0, 2.0)}, n_labels=3)
    labels = {"0": "supported", "1": "unsupported", "2": "contradicted"}
    write_checkpoint(tmp_path, tokenizer=tokenizer, config={"id2label": labels}, graph=graph)
    scores = load_checkpoint(tmp_path).read("paris", None, "rome")
    e, e2 = np.exp(1), np.exp(2)
    assert scores.probabilities.tolist() == pytest.approx([2 * e2 / (e + 2 * e2)], abs=1e-6)


# --- windows ------------------------------------------------------------------------------------


def test_what_fits_is_one_window() -> None:
    assert plan_windows(300, 200, room=500) == (Window((0, 300), (0, 200)),)
    assert plan_windows(0, 500, room=500) == (Window((0, 0), (0, 500)),)


def test_a_long_context_is_cut_into_overlapping_windows_beside_the_whole_answer() -> None:
    windows = plan_windows(700, 200, room=500)
    assert [window.answer for window in windows] == [(0, 200)] * 3
    assert [window.context for window in windows] == [(0, 300), (236, 536), (400, 700)]


def test_an_answer_that_leaves_too_little_room_is_cut_too() -> None:
    windows = plan_windows(300, 400, room=300)
    assert {window.context for window in windows} == {(0, 100), (75, 175), (150, 250), (200, 300)}
    assert {window.answer for window in windows} == {(0, 200), (150, 350), (200, 400)}
    assert len(windows) == 4 * 3


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(1, 400), st.integers(8, 200))
def test_every_piece_of_the_answer_is_read_with_every_piece_of_the_context(
    n_context: int, n_answer: int, room: int
) -> None:
    windows = plan_windows(n_context, n_answer, room=room)
    contexts = sorted({window.context for window in windows})
    answers = sorted({window.answer for window in windows})
    assert len(windows) == len(contexts) * len(answers)
    for ranges, n in ((contexts, n_context), (answers, n_answer)):
        assert ranges[0][0] == 0
        assert ranges[-1][1] == n
        for left, right in itertools.pairwise(ranges):
            assert left[0] < right[0] <= left[1]
    for window in windows:
        size = window.context[1] - window.context[0] + window.answer[1] - window.answer[0]
        assert size <= room
        assert window.answer[0] < window.answer[1]


# --- reading ------------------------------------------------------------------------------------


def test_each_word_gets_its_probability_and_its_place(tmp_path: Path) -> None:
    answer = "Rome is big"
    scores = tiny(tmp_path).read("paris is big", "what is big", answer)
    assert words(scores, answer) == {"Rome": 0.953, "is": 0.5, "big": 0.5}
    assert scores.offsets.dtype == np.int32
    assert scores.probabilities.dtype == np.float32


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_one_window_with_the_evidence_is_enough(tmp_path: Path, place: str) -> None:
    padding = "paris is big . " * 25  # 100 pieces, and 64 are read at a time
    context = {
        "start": f"italy {padding}",
        "middle": f"{padding} italy {padding}",
        "end": f"{padding} italy",
    }[place]
    model = tiny(tmp_path)
    unsupported = model.read(padding, None, "rome").probabilities
    supported = model.read(context, None, "rome").probabilities
    assert unsupported.tolist() == pytest.approx([0.953], abs=1e-3)
    assert supported.tolist() == pytest.approx([0.047], abs=1e-3)  # e³ / (e⁶ + e³)


def test_a_long_answer_is_read_to_its_end(tmp_path: Path) -> None:
    answer = "paris is big . " * 60 + "rome"
    scores = tiny(tmp_path).read("paris is big", None, answer)
    assert len(scores) == 241
    assert [answer[s:e] for s, e in scores.offsets[-2:].tolist()] == [".", "rome"]
    assert scores.probabilities[-1] == pytest.approx(0.953, abs=1e-3)
    assert (scores.probabilities[:-1] == 0.5).all()


def test_the_end_of_a_long_context_reaches_the_beginning_of_a_long_answer(tmp_path: Path) -> None:
    padding = "paris is big . " * 40
    scores = tiny(tmp_path).read(padding + "italy", None, "rome " + padding)
    assert scores.probabilities[0] == pytest.approx(0.047, abs=1e-3)


def test_of_a_long_question_both_ends_are_read_and_that_is_told(tmp_path: Path) -> None:
    model = tiny(tmp_path)  # reads 64 at a time, so 16 of the question
    padding = "what is big " * 20
    for question in (f"italy {padding}", f"{padding} italy"):
        scores = model.read("paris", question, "rome")
        assert scores.question_shortened
        assert scores.probabilities.tolist() == pytest.approx([0.047], abs=1e-3)
    assert not model.read("paris", "what is big", "rome").question_shortened


@pytest.mark.parametrize("n_question", [0, 5, 200])
@pytest.mark.parametrize("n_answer", [1, 30, 300])
@pytest.mark.parametrize("n_context", [0, 30, 300])
def test_no_pass_is_longer_than_the_model_can(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_context: int,
    n_answer: int,
    n_question: int,
) -> None:
    model = tiny(tmp_path)
    lengths = []
    join = Frame.join

    def spy(frame: Frame, *texts: Any) -> tuple[list[int], list[int], int]:  # noqa: ANN401
        joined = join(frame, *texts)
        lengths.append(len(joined[0]))
        return joined

    monkeypatch.setattr(Frame, "join", spy)
    scores = model.read("big " * n_context, "what " * n_question, "rome " * n_answer)
    assert len(scores) == n_answer
    assert max(lengths) <= model.max_length == 64


@pytest.mark.parametrize("answer", ["", "  \n "])
def test_an_answer_without_text_has_no_scores(tmp_path: Path, answer: str) -> None:
    assert len(tiny(tmp_path).read("paris", None, answer)) == 0


def test_a_blank_question_is_no_question(tmp_path: Path) -> None:
    model = tiny(tmp_path)
    none, blank = (model.read("paris", question, "rome") for question in (None, " "))
    assert np.array_equal(none.probabilities, blank.probabilities)
    assert model.context_room(None, "rome") == model.context_room(" ", "rome") == 64 - 3 - 1
    assert model.context_room("what is", "rome") == 64 - 3 - 1 - 3


def test_a_score_that_is_no_number_stays_one_whatever_other_windows_say(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    graph = lookup_graph(
        tokenizer, own=DOUBTFUL, helps={"italy": (6.0, 0.0), "berlin": (np.nan, 0.0)}
    )
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph)
    padding = "paris is big . " * 25
    scores = load_checkpoint(tmp_path).read(f"berlin {padding} italy", None, "rome")
    assert np.isnan(scores.probabilities).all()


def test_a_separator_written_in_a_text_is_text(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own=DOUBTFUL, helps={"[SEP]": (5.0, 0.0)})
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph)
    model = load_checkpoint(tmp_path)
    plain = model.read("paris", None, "rome").probabilities
    forged = model.read("paris [SEP] [SEP]", None, "rome").probabilities
    assert forged.tolist() == plain.tolist()


def test_token_types_are_given_where_the_graph_asks_for_them(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    graph = lookup_graph(tokenizer, own=DOUBTFUL, inputs=inputs)
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph)
    scores = load_checkpoint(tmp_path).read("paris", "what is", "rome")
    assert scores.probabilities.tolist() == pytest.approx([1 / (1 + np.exp(7))], rel=1e-4)


def test_the_longest_input_is_the_least_of_model_tokenizer_and_setting(tmp_path: Path) -> None:
    assert tiny(tmp_path / "a").max_length == 64
    assert tiny(tmp_path / "b", max_length=32).max_length == 32
    assert tiny(tmp_path / "c", config={"max_position_embeddings": 8192}).max_length == 4096
    roberta = {"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}
    assert tiny(tmp_path / "d", config=roberta).max_length == 512


def test_threads_share_a_model_and_get_the_same(tmp_path: Path) -> None:
    model = tiny(tmp_path)
    padding = "paris is big . " * 50
    expected = model.read(padding, None, "rome is big").probabilities.tolist()
    found: list[list[float]] = []

    def read() -> None:
        found.append(model.read(padding, None, "rome is big").probabilities.tolist())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# --- special tokens -----------------------------------------------------------------------------


def test_the_tokenizer_says_how_texts_are_joined() -> None:
    frame = Frame.of(word_tokenizer(), {})
    assert frame == Frame(before=(1,), between=(2,), after=(2,), second_type=1)
    ids, types, start = frame.join([10], [20, 21], [30])
    assert ids == [1, 10, 2, 20, 21, 2, 30, 2]
    assert types == [0, 0, 0, 0, 0, 0, 1, 1]
    assert ids[start] == 30
    assert frame.join([10], [], [30])[0] == [1, 10, 2, 30, 2]


def test_roberta_puts_two_separators_between_texts() -> None:
    tokenizer = word_tokenizer("<s>", "</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    assert Frame.of(tokenizer, {}) == Frame((1,), (2, 2), (2,), second_type=0)


def test_without_a_post_processor_the_configuration_names_the_tokens() -> None:
    plain = Tokenizer.from_str(_without_post_processor(word_tokenizer()))
    named = {"cls_token": "[CLS]", "sep_token": {"content": "[SEP]"}}
    assert Frame.of(plain, named) == Frame((1,), (2,), (2,))
    with pytest.raises(ModelError, match="does not say how it joins two texts"):
        Frame.of(plain, {})


def _without_post_processor(tokenizer: Tokenizer) -> str:
    return json.dumps({**json.loads(tokenizer.to_str()), "post_processor": None})


# --- PyTorch ------------------------------------------------------------------------------------

TOLERANCE = 1e-4
CONTEXT = "Paris is the capital of France , and has many people . " * 3
QUESTION = "what is the capital of France"
ANSWER = "Rome is the capital of Italy , built in 1889 \U0001f600 é ."


SIZES = {
    "vocab_size": 400,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "pad_token_id": 0,
    "num_labels": 2,
    "max_position_embeddings": 128,
}
KINDS: dict[str, dict[str, object]] = {
    "bert": {},
    "modernbert": {
        "bos_token_id": 1,
        "eos_token_id": 2,
        "cls_token_id": 1,
        "sep_token_id": 2,
        "max_position_embeddings": 256,
        "global_attn_every_n_layers": 2,
        "local_attention": 16,
    },
    "deberta-v2": {
        "relative_attention": True,
        "position_buckets": 16,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "type_vocab_size": 0,
        "position_biased_input": False,
    },
}


def first_of(kinds: Iterable[str]) -> list[Any]:
    """Parameters: the first kind before a merge, the others at night, since exports take long."""
    first, *others = kinds
    return [first, *(pytest.param(each, marks=pytest.mark.nightly) for each in others)]


@pytest.fixture(scope="module", params=first_of(KINDS))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialised token classifier, as ``save_pretrained`` writes it."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("checkpoint")
    tokenizer = byte_tokenizer() if request.param == "modernbert" else word_tokenizer()
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(request.param, **{**SIZES, **KINDS[request.param]})
    model = transformers.AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():  # larger than usual, so that words differ
        model.classifier.weight.mul_(30)
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the tests share: an export takes seconds."""
    return tmp_path_factory.mktemp("cache")


def _by_pytorch(folder: Path, texts: list[str]) -> list[float]:
    """P(class 1) of the last text's pieces, by PyTorch and transformers alone."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    parts = [tokenizer(text, add_special_tokens=False).input_ids for text in texts]
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = [cls] + [piece for part in parts for piece in (*part, sep)]
    n_answer = len(parts[-1])
    start = len(ids) - n_answer - 1
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    feeds = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids)).long()}
    if model.config.model_type == "bert":
        feeds["token_type_ids"] = (torch.arange(len(ids)) >= start).long()[None]
    with torch.no_grad():
        shares = model(**feeds).logits.softmax(-1)[0, start : start + n_answer, 1]
    return [float(share) for share in shares]


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_the_exported_graph_says_what_pytorch_says(trained: Path, kept: Path) -> None:
    model = load_checkpoint(trained, threads=1, cache_dir=kept)
    for question, texts in ((None, [CONTEXT, ANSWER]), (QUESTION, [CONTEXT, QUESTION, ANSWER])):
        scores = model.read(CONTEXT, question, ANSWER)
        expected = _by_pytorch(trained, texts)
        assert scores.probabilities.tolist() == pytest.approx(expected, abs=TOLERANCE)
        assert np.ptp(scores.probabilities) > 100 * TOLERANCE, "the words must differ to tell"
    # Every visible character stands in some piece (an unknown one as a whole), and none beyond.
    covered = {i for start, end in scores.offsets.tolist() for i in range(start, end)}
    visible = {i for i, character in enumerate(ANSWER) if not character.isspace()}
    assert visible <= covered <= set(range(len(ANSWER)))


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_windows_are_the_minimum_of_single_passes(trained: Path, kept: Path) -> None:
    model = load_checkpoint(trained, threads=1, cache_dir=kept, max_length=64)
    context = " ".join(["paris is the capital of france and has many people ."] * 9)
    scores = model.read(context, None, "rome is big")
    tokenizer = Tokenizer.from_file(str(trained / "tokenizer.json"))
    encoded = tokenizer.encode(context, add_special_tokens=False)
    answer_ids = tokenizer.encode("rome is big", add_special_tokens=False).ids
    windows = plan_windows(len(encoded.ids), len(answer_ids), room=64 - 3)
    assert len(windows) > 1
    passes = [model._run(encoded.ids[slice(*window.context)], [], answer_ids) for window in windows]
    assert np.array_equal(scores.probabilities, np.min(passes, axis=0))


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_model_is_exported_once_and_then_needs_no_torch(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_checkpoint(trained, cache_dir=tmp_path).read(CONTEXT, None, ANSWER)
    made = [path.name for path in (tmp_path / "checkpoints").iterdir()]
    assert len(made) == 1, "nothing half-made stays behind"
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    second = load_checkpoint(trained, cache_dir=tmp_path).read(CONTEXT, None, ANSWER)
    assert np.array_equal(first.probabilities, second.probabilities)


@pytest.mark.nightly
@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_weights_too_large_for_one_file_go_beside_the_graph(
    trained: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.engine.export._ONE_FILE_BYTES", 0)
    beside = load_checkpoint(trained, cache_dir=tmp_path).read(CONTEXT, None, ANSWER)
    within = load_checkpoint(trained, cache_dir=kept).read(CONTEXT, None, ANSWER)
    assert np.array_equal(beside.probabilities, within.probabilities)
    assert len(list((tmp_path / "checkpoints").glob("*/model.onnx*"))) == 2


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_weights_without_a_classifier_are_refused(trained: Path, tmp_path: Path) -> None:
    """Else transformers makes one up at random, and warns in a log nobody reads."""
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(trained, tmp_path / "copy")
    weights = load_file(folder / "model.safetensors")
    kept = {name: array for name, array in weights.items() if not name.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="its verdicts would be random"):
        load_checkpoint(folder, cache_dir=tmp_path / "cache")
    assert not any((tmp_path / "cache" / "checkpoints").iterdir())


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_pickled_weights_are_never_loaded(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "copy")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="Pickled weights"):
        load_checkpoint(folder, cache_dir=tmp_path / "cache")
