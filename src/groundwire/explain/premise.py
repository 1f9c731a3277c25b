"""Shortens a premise of any length to the lines that a model reads at once.

A request for entailment alone has no detection that would name lines. They are chosen by the words
and kinds of quantities that they share with the hypothesis; rare ones weigh more.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log1p

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.values import EvidenceRef
from groundwire.explain.nearby import MAX_LINES, measure
from groundwire.text.lines import lines_of

#: Characters that are read at once: about the 1,024 word pieces that the reader has for a claim.
MAX_PREMISE_CHARS = 4_000
#: A longer line is cut at spaces, so that one line is never all there is.
MAX_LINE_CHARS = 1_000
#: Source id of the premise in references to it.
PREMISE = "premise"
# Most characters between two lines that are joined.
_MAX_GAP_CHARS = 20


def best_lines(
    premise: str, hypothesis: str, *, max_chars: int = MAX_PREMISE_CHARS
) -> tuple[EvidenceRef, ...]:
    """Choose the lines of a premise to judge a hypothesis by.

    >>> [(line.start, line.end) for line in best_lines("It is 330 m tall.", "It is tall.")]
    [(0, 17)]

    Args:
        premise: Any text, read as a source is: prose, Markdown, JSON.
        hypothesis: The claim. Lines that have most in common with it come first.
        max_chars: Most characters of the lines, :data:`MAX_LINE_CHARS` or more. A premise with no
            more is taken as it is.

    Returns:
        The whole premise, or of a longer one at most six lines in reading order, where neighbours
        are joined; empty if the premise is blank or empty data, such as ``[]``.
    """
    if len(premise) <= max_chars:
        return (_quote(premise, 0, len(premise)),) if premise.strip() else ()
    lines = list(_ranges(premise))
    chosen, room = [], max_chars
    for index in _ranked(premise, lines, hypothesis)[:MAX_LINES]:
        start, end = lines[index]
        if end - start <= room:
            chosen.append(index)
            room -= end - start
    return tuple(_quote(premise, *stretch) for stretch in _joined(lines, sorted(chosen)))


def _ranges(premise: str) -> Iterator[tuple[int, int]]:
    """The lines of a premise, long ones in parts."""
    for line in lines_of(premise):
        start = line.start
        while line.end - start > MAX_LINE_CHARS:
            space = premise.rfind(" ", start + MAX_LINE_CHARS // 2, start + MAX_LINE_CHARS)
            end = space if space > 0 else start + MAX_LINE_CHARS
            yield start, end
            start = end
        yield start, line.end


def _ranked(premise: str, lines: Sequence[tuple[int, int]], hypothesis: str) -> list[int]:
    """Rank the lines that have something in common with the hypothesis; if none has, all lines.

    Unrelated lines are left out even where there is room, since they would change the verdict.
    """
    wanted = _signs(ComparedText(hypothesis))
    common = [_signs(ComparedText(premise[start:end])) & wanted for start, end in lines]
    # A sign that few lines have says more: every record of a list has a "name".
    n_lines = Counter(sign for signs in common for sign in signs)
    worth = {sign: log1p(len(lines) / n) for sign, n in n_lines.items()}
    scores = [round(sum(worth[sign] for sign in sorted(signs)), 6) for signs in common]
    bearing = [index for index, score in enumerate(scores) if score] or range(len(lines))
    return sorted(bearing, key=lambda index: -scores[index])


def _signs(text: ComparedText) -> frozenset[str]:
    """Signs that two texts are about the same: content words and kinds of quantities."""
    return text.content | {str(measure(quantity)) for quantity in text.quantities}


def _joined(lines: Sequence[tuple[int, int]], chosen: Sequence[int]) -> list[tuple[int, int]]:
    """Join chosen lines that are neighbours."""
    stretches: list[tuple[int, int]] = []
    last = -1
    for index in chosen:
        start, end = lines[index]
        # Between two lines there may be a page of dashes.
        if stretches and index == last + 1 and start - stretches[-1][1] <= _MAX_GAP_CHARS:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
        last = index
    return stretches


def _quote(premise: str, start: int, end: int) -> EvidenceRef:
    return EvidenceRef(source_id=PREMISE, start=start, end=end, text=premise[start:end])
