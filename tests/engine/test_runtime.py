"""The graph in ONNX Runtime. Whether it computes what the weights say: ``tests/training``."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire.engine.architecture import MINILM
from groundwire.engine.features import NEUTRAL
from groundwire.engine.reader import Reader
from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import KeysValues, ReaderGraph
from groundwire.engine.tokenizer import WordPieces
from groundwire.errors import ModelError


class Graph:
    """The embedded graph, fed with texts."""

    def __init__(self, reader: Reader) -> None:
        self.graph, self.pieces = reader.graph, reader.pieces

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.pieces.encode(text).ids.tolist()
        return [self.pieces.cls_id, *ids, self.pieces.sep_id]

    def read(self, text: str, role: TextRole = TextRole.SOURCE) -> KeysValues:
        return self.graph.read_source(self.ids(text), role)

    def judge(self, text: str, *past: KeysValues) -> NDArray[np.float32]:
        ids = self.ids(text)
        features = np.tile(np.array(NEUTRAL, np.int64), (len(ids), 1))
        return self.graph.read_sentence(
            ids, features, KeysValues.join([self.graph.nothing, *past])
        ).pieces


@pytest.fixture(scope="module")
def graph(reader: Reader) -> Graph:
    return Graph(reader)


def values(n: int, start: int) -> KeysValues:
    shape = (6, 12, n, 32)
    return KeysValues(np.full(shape, start, np.float16), np.full(shape, -start, np.float16))


def test_texts_are_joined_side_by_side_in_order() -> None:
    joined = KeysValues.join([values(2, 1), values(0, 5), values(1, 3)])
    assert joined.keys.shape == joined.values.shape == (6, 12, 3, 32)
    assert joined.keys[2, 3, :, 4].tolist() == [1, 1, 3]
    assert joined.values[2, 3, :, 4].tolist() == [-1, -1, -3]
    assert joined.keys.dtype == np.float16


def test_a_word_piece_takes_9216_bytes(graph: Graph) -> None:
    read = graph.read("The tower is tall.")
    assert read.nbytes == 9_216 * len(graph.ids("The tower is tall."))
    assert read.keys.shape == (6, 12, 7, 32)


def test_each_word_piece_gets_three_logits_special_tokens_none(graph: Graph) -> None:
    logits = graph.judge("The tower is tall.", graph.read("The tower is red."))
    assert logits.shape == (5, 3)
    assert np.isfinite(logits).all()


def test_a_sentence_can_be_read_with_nothing_beside_it(graph: Graph) -> None:
    logits = graph.judge("The tower is tall.")
    assert logits.shape == (5, 3)
    assert np.isfinite(logits).all()


def test_reading_again_gives_the_same_bits(graph: Graph) -> None:
    first = graph.read("The tower is tall.")
    graph.read("Something else, and longer, in between.")
    second = graph.read("The tower is tall.")
    assert first.keys.tobytes() == second.keys.tobytes()
    assert first.values.tobytes() == second.values.tobytes()
    one, other = (graph.judge("It is tall.", past) for past in (first, second))
    assert one.tobytes() == other.tobytes()


def test_what_a_sentence_is_read_with_matters(graph: Graph) -> None:
    with_evidence = graph.judge("It is tall.", graph.read("The tower is tall."))
    assert not np.array_equal(with_evidence, graph.judge("It is tall."))


def test_the_longest_texts_fit(graph: Graph) -> None:
    text = "tower " * 254
    past = graph.read(text)
    assert past.keys.shape[2] == 256
    assert graph.judge(text, past, past, past).shape == (254, 3)


def test_what_is_no_graph_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "reader.onnx"
    path.write_bytes(b"no graph")
    with pytest.raises(ModelError) as raised:
        ReaderGraph(path, MINILM, threads=1)
    message = str(raised.value)
    assert message.startswith(f"{path} cannot be opened as a model (")
    assert "Run `groundwire doctor`" in message


# The tokenizer.


def test_pieces_know_their_characters(pieces: WordPieces) -> None:
    text = "Tōkyō\0 is 𝔘nusual \U0001f5fc!"
    found = pieces.encode(text)
    words = [text[a:b] for a, b in found.offsets.tolist()]
    assert words == ["Tōkyō", "is", "𝔘nusual", "\U0001f5fc", "!"]
    assert found.ids.dtype == found.offsets.dtype == np.int32


def test_a_batch_is_cut_as_its_texts_one_by_one(pieces: WordPieces) -> None:
    texts = [f"Text {i} " * (i % 5) for i in range(1100)]  # more than are cut at a time
    batch = pieces.encode_ids(texts)
    assert len(batch) == len(texts)
    for i in (0, 1, 511, 512, 513, 1099):
        assert batch[i].tolist() == pieces.encode(texts[i]).ids.tolist()


def test_an_empty_text_has_no_pieces(pieces: WordPieces) -> None:
    assert len(pieces.encode("")) == 0
    assert pieces.encode("").offsets.shape == (0, 2)
