"""LettuceDetect's interface: the keys and calls of its tutorials."""

from pathlib import Path

import pytest

from groundwire.compat.lettucedetect import HallucinationDetector
from groundwire.detector import Detector
from groundwire.errors import DetectionError, SettingError, UnpinnedModelError
from tests.fixed_judge import FixedJudge
from tests.tiny import byte_tokenizer, lookup_graph, word_tokenizer, write_checkpoint

CONTEXT = [
    "France is a country in Europe. The capital of France is Paris.",
    "The population of France is 67 million.",
]
QUESTION = "What is the capital of France? What is the population of France?"
ANSWER = "The capital of France is Paris. The population of France is 69 million."


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> HallucinationDetector:
    fixed = Detector(FixedJudge(doubtful={"69": 0.99, "million": 0.75}))
    monkeypatch.setattr(Detector, "load", lambda: fixed)
    return HallucinationDetector(method="transformer")


@pytest.fixture
def checkpoint(tmp_path: Path) -> HallucinationDetector:
    """Doubts "rome" unless "italy" is in what it reads."""
    tokenizer = word_tokenizer()
    graph = lookup_graph(tokenizer, own={"rome": (0.0, 3.0)}, helps={"italy": (6.0, 0.0)})
    write_checkpoint(
        tmp_path, tokenizer=tokenizer, graph=graph, config={"max_position_embeddings": 512}
    )
    return HallucinationDetector(method="transformer", model_path=tmp_path)


def test_the_call_of_the_tutorial_gives_its_keys(embedded: HallucinationDetector) -> None:
    spans = embedded.predict(
        context=CONTEXT, question=QUESTION, answer=ANSWER, output_format="spans"
    )
    assert spans == [
        {"start": 60, "end": 70, "text": "69 million", "confidence": pytest.approx(0.99, abs=1e-5)}
    ]


def test_tokens_are_all_word_pieces_of_the_answer(embedded: HallucinationDetector) -> None:
    tokens = embedded.predict(CONTEXT, ANSWER, QUESTION)
    assert [token["token"] for token in tokens][-4:] == ["is", "69", "million", "."]
    assert [token["pred"] for token in tokens][-4:] == [0, 1, 1, 0]
    assert [token["prob"] for token in tokens][-4:] == pytest.approx([0.1, 0.99, 0.75, 0.1])
    assert all(token.keys() == {"token", "pred", "prob"} for token in tokens)


def test_a_prompt_stands_for_context_and_question(embedded: HallucinationDetector) -> None:
    prompt = "\n".join(CONTEXT)
    spans = embedded.predict_prompt(prompt, ANSWER, output_format="spans")
    assert [span["text"] for span in spans] == ["69 million"]
    batch = embedded.predict_prompt_batch([prompt, prompt], [ANSWER, "Yes."], "spans")
    assert batch == [spans, []]
    with pytest.raises(ValueError, match=r"shorter|longer"):
        embedded.predict_prompt_batch([prompt], [ANSWER, ANSWER])


@pytest.mark.parametrize("answer", ["", " \n"])
def test_a_blank_answer_has_nothing(embedded: HallucinationDetector, answer: str) -> None:
    assert embedded.predict(CONTEXT, answer, QUESTION, "spans") == []
    assert embedded.predict_prompt("The prompt.", answer) == []


def test_an_answer_that_claims_nothing_has_no_spans(embedded: HallucinationDetector) -> None:
    assert embedded.predict(CONTEXT, "Hello! I hope this helps.", QUESTION, "spans") == []


@pytest.mark.parametrize("output_format", ["spans", "tokens"])
def test_no_list_is_empty_because_nothing_was_read(
    monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    fixed = Detector(FixedJudge(doubtful={}, cannot_read="Paris"))
    monkeypatch.setattr(Detector, "load", lambda: fixed)
    detector = HallucinationDetector()
    for context in (CONTEXT, []):
        with pytest.raises(DetectionError, match=r"nothing is wrong|not judged|no text"):
            detector.predict(context, ANSWER, QUESTION, output_format)


def test_a_checkpoint_flags_at_one_half_and_keeps_the_space_before_a_word(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer()
    graph = lookup_graph(tokenizer, own={"Ġrome": (0.0, 3.0), "Ġis": (0.0, -0.1)})
    config = {"max_position_embeddings": 1024}
    write_checkpoint(tmp_path, tokenizer=tokenizer, graph=graph, config=config)
    detector = HallucinationDetector(model_path=str(tmp_path))
    answer = "paris is rome is"
    spans = detector.predict(CONTEXT, answer, output_format="spans")
    # "paris" has exactly one half, and that is flagged.
    assert [(span["start"], span["end"], span["text"]) for span in spans] == [
        (0, 5, "paris"),
        (8, 13, " rome"),
    ]
    tokens = detector.predict(CONTEXT, answer)
    assert "".join(token["token"] for token in tokens) == answer


def test_a_checkpoint_reads_the_question_and_every_passage(
    checkpoint: HallucinationDetector,
) -> None:
    def flagged(context: list[str] | str, question: str | None = None) -> list[str]:
        tokens = checkpoint.predict(context, "rome", question)
        return [token["token"] for token in tokens if token["prob"] > 0.5]

    assert flagged("paris") == ["rome"]
    assert flagged("italy") == []
    assert flagged("paris", "what is italy") == []
    # 30 passages of some 40 pieces do not fit into 512: they are read in groups.
    padding = ["paris is the capital of france . " * 5] * 30
    assert flagged(padding) == ["rome"]
    for place in (0, 15, 30):
        assert flagged([*padding[:place], "italy", *padding[place:]]) == []
    assert flagged(["paris is big . " * 300 + "italy"]) == []


def test_a_hub_model_needs_a_commit() -> None:
    with pytest.raises(UnpinnedModelError, match="Pass revision="):
        HallucinationDetector(model_path="KRLabsOrg/lettucedect-base-modernbert-en-v1")


@pytest.mark.parametrize(("setting", "value"), [("method", "llm"), ("lang", "de")])
def test_what_is_not_offered_is_refused(setting: str, value: str) -> None:
    with pytest.raises(SettingError, match=setting):
        HallucinationDetector(**{setting: value})  # type: ignore[arg-type]


def test_an_unknown_format_is_refused(embedded: HallucinationDetector) -> None:
    with pytest.raises(SettingError, match="'spans' or 'tokens'"):
        embedded.predict(CONTEXT, ANSWER, QUESTION, "html")


@pytest.mark.nightly
@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_a_checkpoint_saved_by_transformers_works_from_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(
        "bert",
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=256,
        id2label={0: "supported", 1: "hallucinated"},
    )
    model = transformers.AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():
        model.classifier.weight.mul_(50)
    model.save_pretrained(tmp_path / "model")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_tokenizer(), cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    ).save_pretrained(tmp_path / "model")
    monkeypatch.setenv("GROUNDWIRE_CACHE", str(tmp_path / "cache"))
    detector = HallucinationDetector(model_path=tmp_path / "model")
    tokens = detector.predict(CONTEXT, ANSWER, QUESTION)
    spans = detector.predict(CONTEXT, ANSWER, QUESTION, "spans")
    assert {token["pred"] for token in tokens} == {0, 1}
    assert spans
    for span in spans:
        assert ANSWER[span["start"] : span["end"]] == span["text"]
        assert 0.5 <= span["confidence"] <= 1
