"""What a prompt wants, in numbers: the input of the gate's head, and the head.

The embedding tells what a prompt is about; whether it asks for facts often hangs on few words, so
these are counted beside it.
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

from groundwire.text.cues import WIDE, cues, is_english, plain, words

#: Raise it when the same prompt gets other features.
PROMPT_RULES = 2
#: Places that counted features are hashed to.
N_HASHED = 1 << 15
#: Characters from each end of a prompt whose words are counted. What is wanted stands at one of
#: the ends of a long prompt; the embedding reads all of it.
EDGE_CHARS = 600
#: Weight of the embedding in each of its views; see :func:`_view_weights`.
_VIEWS = (5.0, 1.5, 3.0, 3.0, 3.0)
N_VIEWS = len(_VIEWS)
#: Linear maps of a head.
N_MAPS = 3
_WORDS, _PARTS, _CUES = 2.0, 2.0, 3.0
#: Tells parts of words from words.
_PART = crc32(b"#")
_MAX_PAIRED = 14
_MAKES = {"write", "invent", "rewrite", "translate", "poem", "story", "joke", "role"}
_EXPLAINS = {"explain", "list", "compare", "define", "summary"}
_QUOTES = frozenset('"“”„«»「」')
_CODE = frozenset("{}=<>();_`")

Floats = NDArray[np.float32]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PromptFeatures:
    """What is counted in one prompt.

    Attributes:
        views: How much its embedding counts in each view, shape ``(5,)``.
        places: Hashed features, each once, ascending, in ``[0, N_HASHED)``.
        values: Their values, each kind of feature brought to one length.
    """

    views: Floats
    places: NDArray[np.int64]
    values: Floats


def prompt_features(text: str) -> PromptFeatures:
    """Count the words, parts of words, cues and marks of a prompt."""
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
        # One after the other and in double precision, so every machine computes the same bits.
        length = math.sqrt(sum(n * n for n in capped.values()))
        for place, n in capped.items():
            sums[place] = sums.get(place, 0.0) + weight * n / length
    places = sorted(sums)
    values = np.array([sums[place] for place in places], np.float32)
    return PromptFeatures(_view_weights(found, text, placed), np.array(places, np.int64), values)


def _view_weights(found: list[str], text: str, placed: list[tuple[int, str]]) -> Floats:
    """English as a whole, other languages, English that asks, that has made, that has explained.

    The encoder reads English: its embedding of another language says less, and other things.
    """
    if not is_english(found):
        return np.array([0, _VIEWS[1], 0, 0, 0], np.float32)
    begins = {cue for place, cue in placed if place < 3}
    held = (True, False, _asks(text), bool(begins & _MAKES), bool(begins & _EXPLAINS))
    return np.array([w if h else 0 for w, h in zip(_VIEWS, held, strict=True)], np.float32)


def _asks(text: str) -> bool:
    return text.rstrip()[-1:] in {"?", "？"}


# A feature is known by the checksum of its bytes alone. That of a longer one goes on from that of
# its beginning.


def _hashed(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace"))


def _word_runs(found: list[str]) -> list[int]:
    """Words, alone and in runs of two and three."""
    runs = [_hashed(word) for word in found]
    following = [f" {word}".encode("utf-8", "replace") for word in found]
    every = list(runs)
    for n in (1, 2):
        runs = [crc32(word, run) for run, word in zip(runs, following[n:], strict=False)]
        every += runs
    return every


def _word_parts(found: list[str]) -> list[int]:
    """Parts of words: 3 to 5 characters with the ends marked, or 1 to 3 where words are not cut."""
    every: list[int] = []
    for word in found:
        if word.isascii():  # a character is a byte
            held = b"<%b>" % word.encode()
            for n in (3, 4, 5):
                every += [crc32(held[i : i + n], _PART) for i in range(len(held) - n + 1)]
            continue
        marked, sizes = (word, (1, 2, 3)) if WIDE.search(word) else (f"<{word}>", (3, 4, 5))
        for n in sizes:
            every += [_hashed(f"#{marked[i : i + n]}") for i in range(len(marked) - n + 1)]
    return every


def _marks(text: str, found: list[str], placed: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Cues, pairs of cues, how it begins and ends, and its shape."""
    placed = list(placed)
    names = sorted({cue for _, cue in placed})
    yield from (f"q:{cue}" for cue in names)
    yield from (f"q1:{cue}" for place, cue in placed if place < 3)
    yield from (f"q0:{cue}" for place, cue in placed if place == 0)
    if len(names) < _MAX_PAIRED:
        yield from (f"qq:{a}|{b}" for a, b in combinations(names, 2))
    numbers = min(sum(word.isdigit() for word in found), 8).bit_length()
    quotes = any(mark in text for mark in _QUOTES)
    # "How many" of two numbers is a sum, "who" beside a quotation asks about it.
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
    """From a prompt's embedding and features to P(needs a check), calibrated.

    Three linear maps. One knows prompts near the border, as people write them; one knows public
    sets, which are told apart by other signs; the third says which of the two to believe.

    Attributes:
        views: Weights of the embedding in each view, shape ``(3, 5, 384)``.
        hashed: Weights of the counted features, shape ``(3, N_HASHED)``.
        offsets: Added to the sums, shape ``(3,)``.
        scale: Slope of Platt's map.
        offset: Its offset.
    """

    views: Floats
    hashed: Floats
    offsets: Floats
    scale: float
    offset: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the weights.

        Raises:
            OSError: If the file cannot be read.
            ValueError: If it holds other weights.
        """
        with np.load(path, allow_pickle=False) as held:
            views, hashed, offsets = (
                held[name].astype(np.float32) for name in ("views", "hashed", "offsets")
            )
            # What belongs to one feature lies side by side: few lines of memory are looked at.
            hashed = np.asfortranarray(hashed)
            head = cls(views, hashed, offsets, float(held["scale"]), float(held["offset"]))
            rules = int(held["rules"])
        if rules != PROMPT_RULES:
            raise ValueError(f"its features follow rules {rules}, and these are {PROMPT_RULES}")
        if head.hashed.shape != (N_MAPS, N_HASHED) or head.views.shape[:2] != (N_MAPS, N_VIEWS):
            raise ValueError(f"its weights have shapes {head.views.shape} and {head.hashed.shape}")
        return head

    def write(self, path: Path) -> None:
        """Write the weights in half precision, the same bytes each time."""
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
        """Log odds of P(needs a check); not finite if a number was not."""
        # OpenBLAS now and then flags a product of good numbers as invalid, by lanes that it does
        # not use. The caller looks at what came out.
        with np.errstate(invalid="ignore"):
            seen = (self.views @ embedding) @ features.views
            sums = seen + self.hashed[:, features.places] @ features.values + self.offsets
        near, far, switch = sums.astype(np.float64)[:, None]
        return self.scale * float(blended(near, far, switch)[0]) + self.offset


def blended(near: Values, far: Values, switch: Values) -> Values:
    """What two maps say, each believed as far as the third tells."""
    share = 1 / (1 + np.exp(-np.clip(switch, -30, 30)))
    return share * near + (1 - share) * far
