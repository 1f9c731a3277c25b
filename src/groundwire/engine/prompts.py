"""The model of the gate: features of a prompt, and a head that maps them to P(needs a check).

The gate decides whether the answer to a prompt needs a check. A prompt's embedding shows what the
prompt is about. Whether a prompt asks for facts often depends on a few words, so words are counted
too.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from groundwire.text.cues import WIDE, cues, language, plain, words

#: Version of the features. Raise it when the same prompt gets other features.
PROMPT_RULES = 2
#: Number of components that counted features are hashed to.
N_HASHED = 1 << 15
#: In a long prompt, words are counted in this many characters at each end only: nearly all long
#: prompts make their request at one end.
EDGE_CHARS = 600
#: Weight of the embedding in each view. A view is a class of prompts; see :func:`_view_weights`.
_VIEWS = (5.0, 1.5, 3.0, 3.0, 3.0)
N_VIEWS = len(_VIEWS)
#: Number of linear maps of a head; see :class:`PromptHead`.
N_MAPS = 3
#: Weights of the three kinds of counted features: words, parts of words, and the features that
#: :func:`_marks` names.
_WORDS, _PARTS, _CUES = 2.0, 2.0, 3.0
#: Pairs of cues (words that hint at the kind of request) are counted only in prompts with fewer
#: different cues than this.
_MAX_PAIRED = 14
_MAKES = {"write", "invent", "rewrite", "translate", "poem", "story", "joke", "role"}
_EXPLAINS = {"explain", "list", "compare", "define", "summary"}
_QUOTES = frozenset('"“”„«»「」')
_CODE = frozenset("{}=<>();_`")

Floats = NDArray[np.float32]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PromptFeatures:
    """Features of one prompt, except its embedding.

    Attributes:
        views: Weight of the embedding in each view, shape ``(5,)``; see :func:`_view_weights`.
        places: Indices of the components that counted features are hashed to, each once, ascending,
            in ``[0, N_HASHED)``.
        values: Values of these components. Three kinds of features are counted: words and runs of
            words, parts of words, and the features of :func:`_marks`. A count above 2 is taken as
            2. The counts of each kind are scaled to a vector of fixed length, and the three vectors
            are added.
    """

    views: Floats
    places: NDArray[np.int64]
    values: Floats


def prompt_features(text: str) -> PromptFeatures:
    """Compute the features of a prompt, except its embedding."""
    folded = plain(text.strip())
    if len(folded) > 2 * EDGE_CHARS:
        folded = f"{folded[:EDGE_CHARS]} \n {folded[-EDGE_CHARS:]}"
    found = words(folded)
    placed = sorted(set(cues(found)))
    sums: dict[int, float] = {}
    for weight, kind in (
        (_WORDS, _word_runs(found)),
        (_PARTS, _word_parts(found)),
        (_CUES, map(_hashed, _marks(text, found, placed))),
    ):
        counts = Counter([value % N_HASHED for value in kind])
        capped = {place: 1 if n == 1 else 2 for place, n in counts.items()}
        # The sums are computed in a fixed order and in double precision, so that every machine gets
        # the same bits.
        length = math.sqrt(sum(n * n for n in capped.values()))
        for place, n in capped.items():
            sums[place] = sums.get(place, 0.0) + weight * n / length
    places = sorted(sums)
    values = np.array([sums[place] for place in places], np.float32)
    return PromptFeatures(_view_weights(found, text, placed), np.array(places, np.int64), values)


def _view_weights(found: list[str], text: str, placed: list[tuple[int, str]]) -> Floats:
    """Return the embedding's weight in each of five views; 0 in views that the prompt is not in.

    A view is a class of prompts for which a head has parameters of its own. A prompt can be in
    several views. The language is guessed (:func:`.cues.language`). The views are, in this order:

    0. All English prompts.
    1. Prompts in other languages.
    2. English prompts with a question mark at the end.
    3. English prompts with a cue of ``_MAKES`` in the first three words: they ask for a text, such
       as a poem or a translation.
    4. English prompts with a cue of ``_EXPLAINS`` in the first three words: they ask, for example,
       for an explanation or a list.
    """
    if language(found) != "en":
        return np.array([0, _VIEWS[1], 0, 0, 0], np.float32)
    begins = {cue for place, cue in placed if place < 3}
    holds = (True, False, _asks(text), bool(begins & _MAKES), bool(begins & _EXPLAINS))
    return np.array([w if h else 0 for w, h in zip(_VIEWS, holds, strict=True)], np.float32)


def _asks(text: str) -> bool:
    return text.rstrip()[-1:] in {"?", "？"}


# A feature is identified by the CRC-32 of its bytes. The checksum of a run of words is computed
# from the checksum of the run without its last word.


def _hashed(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace"))


def _word_runs(found: list[str]) -> list[int]:
    """Return the hashes of words, alone and in runs of two and three."""
    runs = [_hashed(word) for word in found]
    following = [f" {word}".encode("utf-8", "replace") for word in found]
    every = list(runs)
    for n in (1, 2):
        runs = [crc32(word, run) for run, word in zip(runs, following[n:], strict=False)]
        every += runs
    return every


def _word_parts(found: list[str]) -> list[int]:
    """Return hashes of word parts: 3 to 5 characters, counting ``<`` and ``>`` at a word's ends.

    If a word has a Chinese or Japanese character, its parts have 1 to 3 characters, without ``<``
    and ``>``.
    """
    every: list[int] = []
    for word in found:
        marked, sizes = (word, (1, 2, 3)) if WIDE.search(word) else (f"<{word}>", (3, 4, 5))
        for n in sizes:
            every += [_hashed(f"#{marked[i : i + n]}") for i in range(len(marked) - n + 1)]
    return every


def _marks(text: str, found: list[str], placed: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Yield the names of features: cues, pairs of cues, first and last words, and a prompt's form.

    ``found`` has the words of the prompt, ``placed`` its cues, each with the index of its first
    word. The form of a prompt is, for example, its length and its number of line breaks.
    """
    placed = list(placed)
    names = sorted({cue for _, cue in placed})
    yield from (f"q:{cue}" for cue in names)
    yield from (f"q1:{cue}" for place, cue in placed if place < 3)
    yield from (f"q0:{cue}" for place, cue in placed if place == 0)
    if len(names) < _MAX_PAIRED:
        yield from (f"qq:{a}|{b}" for a, b in combinations(names, 2))
    numbers = min(sum(word.isdigit() for word in found), 8).bit_length()
    quotes = any(mark in text for mark in _QUOTES)
    # A cue may mean something else beside numbers or quotation marks: "how many" beside two numbers
    # may ask for a sum.
    yield from (f"qn:{cue}|{numbers}" for cue in names)
    yield from (f"qu:{cue}|{quotes}" for cue in names)
    if found:
        yield from (f"first:{found[0]}", f"first2:{' '.join(found[:2])}", f"last:{found[-1]}")
    yield f"len:{len(found).bit_length()}"
    yield f"ask:{_asks(text)}"
    yield f"anyask:{'?' in text or '？' in text}"
    yield f"code:{min(sum(map(text.count, _CODE)), 16).bit_length()}"
    yield f"dig:{numbers}"
    yield f"quote:{quotes}"
    yield f"nl:{min(text.count(chr(10)), 4)}"
    yield f"wide:{bool(WIDE.search(text))}"


@dataclass(frozen=True, slots=True, eq=False)
class PromptHead:
    """The map from a prompt's embedding and features to the calibrated log-odds of "needs a check".

    A head has three linear maps. The first two give log-odds, and the third decides how much each
    of the two counts (:func:`blended`).

    Attributes:
        views: Weights of the embedding for each map and view, shape ``(3, 5, 384)``.
        hashed: Weights of the counted features for each map, shape ``(3, N_HASHED)``.
        offsets: Constant term of each map, shape ``(3,)``.
        scale: Slope of the calibration (Platt scaling).
        offset: Offset of the calibration.
    """

    views: Floats
    hashed: Floats
    offsets: Floats
    scale: float
    offset: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the weights of a head from an ``.npz`` file.

        Raises:
            OSError: If the file cannot be read.
            EOFError: If the file is empty.
            zipfile.BadZipFile: If the file is damaged.
            zlib.error: If the compressed weights are damaged.
            KeyError: If weights are missing.
            ValueError: If the file is not a zip file, or the weights have wrong shapes or belong to
                another version of the features.
        """
        with np.load(path, allow_pickle=False) as file:
            views, hashed, offsets = (
                file[name].astype(np.float32) for name in ("views", "hashed", "offsets")
            )
            # The weights of one feature lie side by side, so little memory is read for a prompt.
            hashed = np.asfortranarray(hashed)
            head = cls(views, hashed, offsets, float(file["scale"]), float(file["offset"]))
            rules = int(file["rules"])
        if rules != PROMPT_RULES:
            raise ValueError(f"its features follow rules {rules}, and {PROMPT_RULES} are needed")
        if head.hashed.shape != (N_MAPS, N_HASHED) or head.views.shape[:2] != (N_MAPS, N_VIEWS):
            raise ValueError(f"its weights have shapes {head.views.shape} and {head.hashed.shape}")
        return head

    def write(self, path: Path) -> None:
        """Write the weights to an ``.npz`` file, most in half precision.

        Equal weights give equal bytes.
        """
        np.savez_compressed(
            path,
            views=self.views.astype(np.float16),
            hashed=self.hashed.astype(np.float16),
            offsets=self.offsets.astype(np.float32),
            scale=np.float64(self.scale),
            offset=np.float64(self.offset),
            rules=np.int64(PROMPT_RULES),
        )

    def logit(self, embedding: Floats, features: PromptFeatures) -> float:
        """Return the log-odds of P(needs a check); not finite if an input is not finite."""
        # OpenBLAS at times warns of an invalid product although all inputs are finite: ignore it.
        with np.errstate(invalid="ignore"):
            seen = (self.views @ embedding) @ features.views
            sums = seen + self.hashed[:, features.places] @ features.values + self.offsets
        near, far, switch = sums.astype(np.float64)[:, None]
        return self.scale * float(blended(near, far, switch)[0]) + self.offset


def blended(near: Values, far: Values, switch: Values) -> Values:
    """Blend two logits of a head: the share of ``near`` is the sigmoid of the logit ``switch``."""
    share = 1 / (1 + np.exp(-np.clip(switch, -30, 30)))
    return share * near + (1 - share) * far
