"""A graph whose verdicts can be worked out by hand, and which tells what it was asked to read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock

import numpy as np
from numpy.typing import NDArray

from groundwire import Detector
from groundwire.engine.architecture import MINILM, Architecture
from groundwire.engine.cache import ByteCache
from groundwire.engine.features import N_FEATURES
from groundwire.engine.part_scores import Calibration
from groundwire.engine.reader import Reader
from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import KeysValues, RawScores, ReaderGraph
from groundwire.engine.shared import SharedResources
from groundwire.engine.work import Work

SURE = 20.0


@dataclass(frozen=True)
class Text:
    """A text that was read: its role and its word pieces, special tokens left out."""

    role: TextRole
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence that was judged, and the texts it attended to, in order."""

    ids: tuple[int, ...]
    past: tuple[Text, ...]

    @property
    def n_past(self) -> int:
        """Word pieces it attended to beside its own, special tokens included."""
        return sum(len(text.ids) + 2 for text in self.past)

    def roles(self) -> list[TextRole]:
        """Of the texts it attended to."""
        return [text.role for text in self.past]


@dataclass
class LookupGraph(ReaderGraph):
    """Supports a word piece if some source it attends to has it.

    Attributes:
        sizes: Of the keys and values it gives.
        fails_on: A text or sentence with this word piece cannot be read.
        logits: Changes the logits of a sentence.
        whole: Logits of the sentence as a whole, from how many of its word pieces no source has.
        go_on: Texts are read only while it is set.
        texts: What was read.
        sentences: What was judged.
    """

    sizes: Architecture = MINILM
    fails_on: int = -1
    logits: Callable[[NDArray[np.float32]], NDArray[np.float32]] = lambda found: found
    whole: Callable[[int], Sequence[float]] = lambda n_doubtful: (0.0, 0.0, 0.0)
    go_on: Event = field(default_factory=Event)
    texts: list[Text] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.go_on.set()

    def read_source(self, ids: Sequence[int] | NDArray[np.int32], role: TextRole) -> KeysValues:
        """Write the word pieces and the role of a text where its keys would be."""
        self.go_on.wait(10)
        self._fail(ids)
        with self._lock:
            self.texts.append(Text(role, tuple(ids)[1:-1]))
        keys = np.zeros((6, 12, len(ids), 32), np.float16)
        # Float16 counts to 2,048.
        keys[0, 0, :, 0], keys[0, 0, :, 1] = np.divmod(np.asarray(ids), 256)
        keys[0, 0, :, 2] = role
        return KeysValues(keys, np.zeros_like(keys))

    def read_sentence(
        self,
        ids: Sequence[int] | NDArray[np.int32],
        features: NDArray[np.int64],
        past: KeysValues,
    ) -> RawScores:
        """Look the word pieces up."""
        self._fail(ids)
        assert features.shape == (len(ids), N_FEATURES)
        own = tuple(ids)[1:-1]
        texts = self._texts(past)
        with self._lock:
            self.sentences.append(Sentence(own, texts))
        known = {i for text in texts if text.role is TextRole.SOURCE for i in text.ids}
        doubt = np.array([i not in known for i in own], np.float32)
        pieces = np.column_stack([SURE * (1 - 2 * doubt), 0 * doubt, -SURE + 0 * doubt])
        whole = np.array(self.whole(int(doubt.sum())), np.float32)
        return RawScores(self.logits(pieces.astype(np.float32)), whole)

    def _texts(self, past: KeysValues) -> tuple[Text, ...]:
        codes = past.keys[0, 0].astype(int)
        ids, roles = (256 * codes[:, 0] + codes[:, 1]).tolist(), codes[:, 2].tolist()
        texts, begun = [], 0
        for place, id_ in enumerate(ids):
            if id_ == self._end:
                texts.append(Text(TextRole(roles[place]), tuple(ids[begun + 1 : place])))
                begun = place + 1
        return tuple(texts)

    def _fail(self, ids: Sequence[int] | NDArray[np.int32]) -> None:
        self._end = int(ids[-1])
        if self.fails_on in list(ids):
            raise RuntimeError("out of memory")


def looking_up(
    reader: Reader, graph: ReaderGraph, *, cache_bytes: int = 1_000_000_000, threads: int = 2
) -> Detector:
    """A detector with another graph, and a cache of its own."""
    shared = SharedResources(threads, cache=ByteCache(cache_bytes), sources=ByteCache(cache_bytes))
    judge = replace(
        reader,
        graph=graph,
        calibration=Calibration(),
        operating_points={"balanced": 0.5},
        answers=None,
        shared=shared,
        counter=Work(),
    )
    return Detector(judge, shared=shared, threads=threads)
