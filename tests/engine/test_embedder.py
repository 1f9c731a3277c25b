"""Texts as vectors. Whether the graph computes what the weights say: ``tests/training``."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from groundwire.engine.embedder import (
    HASH_DIMENSION,
    WINDOW_PIECES,
    Embedder,
    Encoder,
    HashEmbedder,
    NeuralEmbedder,
)
from groundwire.engine.models import ENCODER, READER_BASE, find_model, list_models
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import ModelError

HASH = HashEmbedder()
TRUE = "The Eiffel Tower is 330 metres tall."


@pytest.fixture(scope="module")
def neural(pieces: WordPieces) -> NeuralEmbedder:
    return NeuralEmbedder.load(find_model(ENCODER), pieces, threads=1)


@pytest.fixture(params=["hash", "neural"])
def embedder(request: pytest.FixtureRequest, neural: NeuralEmbedder) -> Embedder:
    return neural if request.param == "neural" else HASH


def lengths(rows: NDArray[np.float32]) -> list[float]:
    return [float(length) for length in np.linalg.norm(rows.astype(np.float64), axis=1)]


def cosine(embedder: Embedder, one: str, other: str) -> float:
    first, second = embedder.embed([one, other]).astype(np.float64)
    return float(first @ second)


# Both.


def test_rows_have_length_1_and_a_text_with_nothing_in_it_0(embedder: Embedder) -> None:
    rows = embedder.embed([TRUE, "", " \n", "word " * 600])
    assert rows.dtype == np.float32
    assert lengths(rows) == pytest.approx([1, 0, 0, 1], abs=1e-6)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape[0] == 0


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(embedder: Embedder) -> None:
    texts = [TRUE, "Bread is made of flour.", "x " * 300, TRUE]
    together = embedder.embed(texts)
    for row, text in zip(together, texts, strict=True):
        assert row.tobytes() == embedder.embed([text])[0].tobytes()


def test_the_same_text_is_most_like_itself(embedder: Embedder) -> None:
    assert cosine(embedder, TRUE, TRUE) == pytest.approx(1, abs=1e-6)
    assert cosine(embedder, TRUE, "Bread is made of flour and water.") < 0.2


# The embedded encoder.


def test_both_encoders_together_have_at_most_55_megabytes() -> None:
    embedded = [model for model in list_models() if model.name != READER_BASE]
    assert sum(model.total_bytes for model in embedded) <= 55_000_000


def test_the_tokenizer_is_that_of_the_reader() -> None:
    named = find_model(ENCODER).raw["tokenizer"]
    assert find_model(named["model"]).files["tokenizer.json"].sha256 == named["sha256"]


def test_it_knows_that_other_words_can_say_the_same(neural: NeuralEmbedder) -> None:
    said, meant = "The cat sat on the mat.", "A kitten was sitting on the rug."
    assert cosine(neural, said, meant) > 0.5 > cosine(HASH, said, meant)


def test_a_window_of_254_word_pieces_is_read_at_once(
    neural: NeuralEmbedder, pieces: WordPieces
) -> None:
    text = "tower " * WINDOW_PIECES
    ids = [pieces.cls_id, *pieces.encode(text).ids.tolist(), pieces.sep_id]
    assert neural.embed([text])[0].tobytes() == neural.encoder.read(ids).tobytes()


def test_a_longer_text_is_the_mean_of_even_windows(neural: NeuralEmbedder) -> None:
    words = [("tower", "bread", "river")[i % 3] for i in range(2 * WINDOW_PIECES + 1)]
    third = len(words) // 3 + 1  # 509 = 170 + 170 + 169
    parts = [" ".join(words[i : i + third]) for i in range(0, len(words), third)]
    weights = [len(part.split()) for part in parts]
    assert weights == [170, 170, 169]
    mean = np.average(neural.embed(parts), axis=0, weights=weights)
    expected = mean / np.linalg.norm(mean)
    np.testing.assert_allclose(neural.embed([" ".join(words)])[0], expected, atol=1e-6)


def test_the_end_of_a_long_text_is_not_cut(neural: NeuralEmbedder) -> None:
    filler = "The harbour is quiet in winter. " * 60
    assert cosine(neural, filler + TRUE, TRUE) > cosine(neural, filler, TRUE)


def test_it_reads_latin_script_only(neural: NeuralEmbedder) -> None:
    assert neural.reads("Straße")
    assert not neural.reads("Башня стоит в Париже.")


def test_what_is_no_graph_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "minilm.onnx"
    path.write_bytes(b"no graph")
    with pytest.raises(ModelError, match="groundwire doctor"):
        Encoder(path, threads=1)


# Hashed words.

# Another machine, another process and another version of numpy give these bits too.
GOLDEN_TEXTS = ["The tower is 330 metres tall.", "Ein Straßenfest in ＴＯＫＹＯ, №5!", ""]
GOLDEN = "86d18dbe42aaa64b3c1e65ba4d391b704feab58e1f4a9749b20aead4325f7144"


def digest(rows: NDArray[np.float32]) -> str:
    return hashlib.sha256(rows.astype("<f4").tobytes()).hexdigest()


def test_hashed_vectors_are_these_bits() -> None:
    rows = HASH.embed(GOLDEN_TEXTS)
    assert rows.shape == (3, HASH_DIMENSION) == (3, 2048)
    assert digest(rows) == GOLDEN


def test_another_process_computes_the_same_bits() -> None:
    code = (
        "import sys, hashlib; from groundwire.engine.embedder import HashEmbedder;"
        f"rows = HashEmbedder().embed({GOLDEN_TEXTS!r});"
        "print(hashlib.sha256(rows.astype('<f4').tobytes()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == GOLDEN


def test_case_punctuation_and_width_of_letters_do_not_count() -> None:
    same = ["The tower, is TALL!", "the tower is tall", "ｔｈｅ tower — is\ntall"]
    assert len({row.tobytes() for row in HASH.embed(same)}) == 1


def test_near_verbatim_is_near_and_paraphrase_is_not() -> None:
    assert cosine(HASH, TRUE, "The Eiffel Tower stands 330 metres tall.") > 0.7
    assert cosine(HASH, TRUE, "Paris's landmark reaches a height of 330 m.") < 0.5


def test_a_word_in_another_form_is_nearer_than_another_word() -> None:
    forms = cosine(HASH, "They measured towers.", "They measured the tower.")
    assert forms > cosine(HASH, "They measured towers.", "They measured the bridge.")


def test_the_order_of_words_counts_a_little() -> None:
    assert 0.8 < cosine(HASH, "the dog bit the man", "the man bit the dog") < 0.999


def test_it_reads_any_script() -> None:
    assert HASH.reads("Башня стоит в Париже.")
    assert cosine(HASH, "Башня стоит в Париже.", "Башня стоит в Риме.") > 0.4


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_has_length_1_or_0(one: str, other: str) -> None:
    for length in lengths(HASH.embed([one, other])):
        assert length == pytest.approx(1, abs=1e-6) or length == 0
