"""Cuts sources into passages, each of which the model reads in one pass.

A passage ends at the end of a sentence, a data field or a table row, unless that sentence, field or
row alone is too long for a passage. A passage begins with a breadcrumb: the title of its source and
the headings above the passage, if there are any.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groundwire.detection.example import Source
from groundwire.text.lines import Line, lines_of
from groundwire.text.quantities import QuantityIndex, quantities
from groundwire.text.writing_system import is_readable

#: Limit on the word pieces of a passage, breadcrumb included. With [CLS] and [SEP], it is 256.
PASSAGE_PIECES = 254
#: Limit on the word pieces of a breadcrumb: the title and headings at the beginning of a passage.
BREADCRUMB_PIECES = 40
# Values of yes-or-no fields → their codes: 1 yes, 2 no, 4 nothing.
_SWITCHES = {"true": 1, "yes": 1, "free": 1, "false": 2, "no": 2, "none": 4, "null": 4, "": 4}
_SWITCH = re.compile(
    r"[^:]{1,80}:\s*u?['\"]?(true|yes|free|false|no|none|null|)['\"]?", re.IGNORECASE
)
#: Version of the rules by which sources are cut into passages. It is part of the cache key: raise
#: the version when the rules change.
PASSAGE_RULES = 2


class WordPieces(Protocol):
    """A tokenizer: cuts texts into word pieces."""

    def encode_ids(self, texts: Sequence[str]) -> Sequence[NDArray[np.int32]]:
        """Return the ids of the word pieces of each text, shape ``(n,)``."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageLine:
    """A line of a passage: a sentence, a data field or a table row.

    A line that is too long for one passage is in several passages. ``start``, ``end`` and
    ``reading`` are then those of the whole line, and the passage has only a part of its word
    pieces.

    Attributes:
        start: Offset of the first character in the source's text.
        end: Offset after the last character.
        first: Index of the first word piece of the line in the passage's ``ids``.
        reading: The line as the model reads it, such as a table row with the names of its columns.
    """

    start: int
    end: int
    first: int
    reading: str


@dataclass(frozen=True, eq=False)  # no slots: cached_property needs a __dict__
class Passage:
    """A part of a source that the model reads in one pass.

    Attributes:
        key: Hash of the content, 16 bytes.
        ids: Word pieces, at most 254, without special tokens, shape ``(n,)``, int32.
        n_breadcrumb: Number of word pieces at the beginning that belong to the breadcrumb, which is
            not evidence.
        lines: The lines of the passage, in order.
        n_own_chars: Number of characters of the lines that begin in this passage. A line that is
            repeated or continued from the passage before does not count.
    """

    key: bytes
    ids: NDArray[np.int32]
    n_breadcrumb: int
    lines: tuple[PassageLine, ...]
    n_own_chars: int

    @property
    def n_read(self) -> int:
        """Number of word pieces that the model reads, [CLS] and [SEP] included."""
        return len(self.ids) + 2

    @cached_property
    def line_starts(self) -> NDArray[np.intp]:
        """Index in ``ids`` of the first word piece of each line."""
        return np.array([line.first for line in self.lines], np.intp)

    @cached_property
    def quantities(self) -> QuantityIndex:
        """The numbers, times and dates that the passage states."""
        return QuantityIndex.of(q for line in self.lines for q in quantities(line.reading))

    def line_weights(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sum the weights of the distinct word pieces of each line, shape ``(n_lines,)``.

        ``weights`` has the weight of each word piece, shape ``(vocabulary,)``.
        """
        lines, ids = self.line_pieces
        return np.bincount(lines, weights[ids], len(self.lines)).astype(np.float32)

    @cached_property
    def switches(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The word pieces of fields that say yes, no or nothing, such as "wifi: free".

        Values such as "true" and "free" count as yes, "false" as no, and "none" as nothing.

        Returns:
            The ids of the word pieces of all such fields, and for each id the code of its field's
            value: 1 (yes), 2 (no) or 4 (nothing). Both have the shape ``(n,)``.
        """
        ids, values = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        bounds = [*self.line_starts.tolist(), len(self.ids)]
        for line, start, end in zip(self.lines, bounds[:-1], bounds[1:], strict=True):
            field = _SWITCH.fullmatch(line.reading)
            if field is not None:
                # The word pieces of the value are included too, which does no harm.
                ids.append(self.ids[start:end])
                values.append(np.full(end - start, _SWITCHES[field[1].lower()]))
        return np.concatenate(ids), np.concatenate(values)

    @cached_property
    def line_pieces(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The distinct word pieces of each line: an array of line numbers and an array of ids."""
        bounds = np.append(self.line_starts, len(self.ids))
        lines = np.repeat(np.arange(len(self.lines)), np.diff(bounds))
        ids = self.ids[bounds[0] :].astype(np.int64)
        _, firsts = np.unique((lines << 32) + ids, return_index=True)
        return lines[firsts], ids[firsts]


@dataclass(frozen=True, slots=True, eq=False)
class CutSource:
    """A source cut into passages.

    Attributes:
        passages: The passages, in the order of the text.
        offered_chars: Characters of all lines of the source.
        indexed_chars: Of these, characters that lie in a passage; the model cannot read the others.
    """

    passages: tuple[Passage, ...]
    offered_chars: int
    indexed_chars: int

    @property
    def nbytes(self) -> int:
        """Estimated size in memory, in bytes."""
        n_lines = sum(len(passage.lines) for passage in self.passages)
        n_pieces = sum(len(passage.ids) for passage in self.passages)
        return 900 * len(self.passages) + 400 * n_lines + 4 * n_pieces + 2 * self.offered_chars


def cut_source(
    source: Source, pieces: WordPieces, *, reads: Callable[[str], bool] = is_readable
) -> CutSource:
    """Cut a source into passages of at most 254 word pieces, with at most one line of overlap.

    Args:
        source: The source to cut.
        pieces: The tokenizer.
        reads: Function that returns whether the model can read a line. Lines that it cannot read
            are left out of the passages, but count in ``offered_chars``.
    """
    lines = lines_of(source.text)
    readable = [line for line in lines if reads(line.reading)]
    return CutSource(
        tuple(_passages(source.title, readable, pieces)),
        sum(line.end - line.start for line in lines),
        sum(line.end - line.start for line in readable),
    )


def _passages(title: str | None, lines: Sequence[Line], pieces: WordPieces) -> Iterator[Passage]:
    """Pack lines of the same group and heading into passages; cut a line that is too long.

    Groups are the parts of a source that must not share a passage (:class:`.lines.Line`). A passage
    repeats the last line of the passage before, if that line is short enough and has the same group
    and heading. A passage that continues a cut line repeats no line.
    """
    encoded = pieces.encode_ids([line.reading for line in lines])
    crumbs: dict[str, NDArray[np.int32]] = {}
    packed = _Pack((0, ""), np.empty(0, np.int32))
    for line, ids in zip(lines, encoded, strict=True):
        if line.heading not in crumbs:
            text = " > ".join(part for part in (title, line.heading) if part)
            found = pieces.encode_ids([text])[0] if text else np.empty(0, np.int32)
            crumbs[line.heading] = found[:BREADCRUMB_PIECES]
        crumb = crumbs[line.heading]
        room, place = PASSAGE_PIECES - len(crumb), (line.group, line.heading)
        if packed.lines and (place != packed.place or packed.n_pieces + len(ids) > room):
            yield packed.passage()
            last, last_ids = packed.lines[-1]
            most = min(room - min(len(ids), room), PASSAGE_PIECES // 3)
            carries = place == packed.place and len(last_ids) <= most
            packed = _Pack(place, crumb)
            if carries:
                packed.add(last, last_ids, is_new=False)
        packed.place, packed.crumb = place, crumb
        for start in range(0, max(len(ids), 1), room):
            part = ids[start : start + room]
            if packed.lines and packed.n_pieces + len(part) > room:
                yield packed.passage()
                packed = _Pack(place, crumb)
            packed.add(line, part, is_new=start == 0)
    if packed.lines:
        yield packed.passage()


class _Pack:
    """A passage under construction; ``place`` is the group and heading of all its lines."""

    def __init__(self, place: tuple[int, str], crumb: NDArray[np.int32]) -> None:
        self.place, self.crumb = place, crumb
        self.lines: list[tuple[Line, NDArray[np.int32]]] = []
        self.n_pieces = self.n_own_chars = 0

    def add(self, line: Line, ids: NDArray[np.int32], *, is_new: bool) -> None:
        self.lines.append((line, ids))
        self.n_pieces += len(ids)
        self.n_own_chars += (line.end - line.start) if is_new else 0

    def passage(self) -> Passage:
        firsts = np.cumsum([len(self.crumb), *(len(ids) for _, ids in self.lines)])
        ids = np.concatenate([self.crumb, *(ids for _, ids in self.lines)]).astype(np.int32)
        lines = tuple(
            PassageLine(line.start, line.end, int(first), line.reading)
            for (line, _), first in zip(self.lines, firsts, strict=False)
        )
        layout = np.array([len(self.crumb), *firsts], np.int32)
        # The key covers the texts of the lines too: "5 mW" and "5 MW" have the same word pieces,
        # because the tokenizer lower-cases texts.
        readings = "\n".join(line.reading for line in lines).encode()
        content = b"|".join((ids.tobytes(), layout.tobytes(), readings))
        key = blake2b(content, digest_size=16).digest()
        return Passage(key, ids, len(self.crumb), lines, self.n_own_chars)
