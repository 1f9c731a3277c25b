"""Cuts an answer into parts by who marked them: people, the detector, both, or nobody."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Self

from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.metrics import Range, mask
from groundwire.evaluation.reports.kinds import ReportRow
from groundwire.render import visible


class WordMark(StrEnum):
    """The mark of a part of an answer, which says who marked the part.

    Attributes:
        meaning: Explanation for people.
    """

    meaning: str

    FOUND = "found", "marked by people and by the detector"
    MISSED = "missed", "marked by people alone"
    EXTRA = "extra", "marked by the detector alone"
    FLAGGED = "flagged", "marked by the detector; it is not known which words are hallucinated"

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member that is equal to the text ``value``."""
        mark = str.__new__(cls, value)
        mark._value_, mark.meaning = value, meaning
        return mark


def marked(example: ReportRow) -> Iterator[tuple[str, WordMark | None]]:
    """Cut the answer of a row into parts, each with its mark, or ``None`` if nobody marked it."""
    answer, detection = example.row.answer, example.detection
    predicted = [] if detection is None else [(span.start, span.end) for span in detection.spans]
    if example.row.known != Known.SPANS and example.row.hallucinated is not False:
        return cut(answer, [], predicted, alone=WordMark.FLAGGED)
    return cut(answer, [(mark["start"], mark["end"]) for mark in example.row.gold], predicted)


def cut(
    answer: str, gold: Sequence[Range], found: Sequence[Range], *, alone: WordMark = WordMark.EXTRA
) -> Iterator[tuple[str, WordMark | None]]:
    """Cut a text where its mark changes; yield each part with its mark.

    ``gold`` are the ranges that people marked, ``found`` those that the detector marked. Ranges may
    overlap. White space at the ends of a range is not marked.

    >>> list(cut("in 1950 by Eve", [(3, 14)], [(3, 7)]))
    [('in ', None), ('1950', <WordMark.FOUND: 'found'>), (' by Eve', <WordMark.MISSED: 'missed'>)]

    ``alone`` is the mark of parts that only the detector marked.
    """
    names = {
        (True, True): WordMark.FOUND,
        (True, False): WordMark.MISSED,
        (False, True): alone,
        (False, False): None,
    }
    sides = zip(mask(gold, answer).tolist(), mask(found, answer).tolist(), strict=True)
    marked = zip(answer, map(names.__getitem__, sides), strict=True)
    for mark, letters in groupby(marked, key=itemgetter(1)):
        yield "".join(letter for letter, _ in letters), mark


def marked_text(example: ReportRow, *, width: int | None = None) -> str:
    """Return the answer of a row with its marks as text, such as ``⟦missed: 1950⟧``.

    With a ``width``, a long unmarked part keeps only that many characters at each end.
    """
    return "".join(
        _shortened(visible(text), width) if mark is None else f"⟦{mark}: {visible(text)}⟧"
        for text, mark in marked(example)
    )


def _shortened(text: str, width: int | None) -> str:
    if width is None or len(text) <= 2 * width + 1:
        return text
    return f"{text[:width]}…{text[-width:]}"
