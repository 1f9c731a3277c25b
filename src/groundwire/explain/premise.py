"""Shortens a premise of any length to lines that a model can read at once.

The lines are chosen by the words and the kinds of quantities that they share with the hypothesis;
words and kinds that few lines have weigh more.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log1p

from groundwire.detection.comparison.aligned_span import ComparedText
from groundwire.detection.values import EvidenceRef
from groundwire.explain.nearby import MAX_LINES, measure
from groundwire.text.lines import lines_of

#: Limit on the characters of the chosen lines: about as many as the reader reads at once.
MAX_PREMISE_CHARS = 4_000
#: Limit on the characters of a line; a longer line is cut into parts, so that one line cannot use
#: up :data:`MAX_PREMISE_CHARS`.
MAX_LINE_CHARS = 1_000
#: Source id of the premise in references to it.
PREMISE = "premise"
# Neighbouring lines are joined if at most this many characters lie between them.
_MAX_GAP_CHARS = 20


def best_lines(
    premise: str, hypothesis: str, *, max_chars: int = MAX_PREMISE_CHARS
) -> tuple[EvidenceRef, ...]:
    """Choose the lines of a premise to judge a hypothesis by.

    >>> [(line.start, line.end) for line in best_lines("It is 330 m tall.", "It is tall.")]
    [(0, 17)]

    Args:
        premise: Any text that a source may be: prose, Markdown or JSON.
        hypothesis: The claim. The lines that have most in common with it are chosen.
        max_chars: Limit on the characters of the chosen lines together. It must be at least
            :data:`MAX_LINE_CHARS`.

    Returns:
        For a premise within the limit, one reference to all of it; empty if the premise is blank.
        For a longer premise, references to at most six lines or parts of long lines, in reading
        order, with neighbours joined; empty if the premise has no lines.
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
    """Yield the ranges of the lines of a premise; long lines are cut into parts."""
    for line in lines_of(premise):
        start = line.start
        while line.end - start > MAX_LINE_CHARS:
            space = premise.rfind(" ", start + MAX_LINE_CHARS // 2, start + MAX_LINE_CHARS)
            end = space if space > 0 else start + MAX_LINE_CHARS
            yield start, end
            start = end
        yield start, line.end


def _ranked(premise: str, lines: Sequence[tuple[int, int]], hypothesis: str) -> list[int]:
    """Rank the lines that have something in common with the hypothesis, best first.

    Other lines are left out, since they might change the verdict. If no line has anything in common
    with the hypothesis, all lines are returned.
    """
    wanted = _signs(ComparedText(hypothesis))
    common = [_signs(ComparedText(premise[start:end])) & wanted for start, end in lines]
    # A word or kind of quantity in many lines is worth less: every record of a list may have a
    # "name".
    n_lines = Counter(sign for signs in common for sign in signs)
    worth = {sign: log1p(len(lines) / n) for sign, n in n_lines.items()}
    scores = [round(sum(worth[sign] for sign in sorted(signs)), 6) for signs in common]
    bearing = [index for index, score in enumerate(scores) if score] or range(len(lines))
    return sorted(bearing, key=lambda index: -scores[index])


def _signs(text: ComparedText) -> frozenset[str]:
    """Return the signs that show what a text is about: content words and kinds of quantities."""
    return text.content | {str(measure(quantity)) for quantity in text.quantities}


def _joined(lines: Sequence[tuple[int, int]], chosen: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of the chosen lines, with neighbouring lines joined."""
    stretches: list[tuple[int, int]] = []
    last = -1
    for index in chosen:
        start, end = lines[index]
        # Lines are not joined across a long gap, such as a page of dashes.
        if stretches and index == last + 1 and start - stretches[-1][1] <= _MAX_GAP_CHARS:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
        last = index
    return stretches


def _quote(premise: str, start: int, end: int) -> EvidenceRef:
    return EvidenceRef(source_id=PREMISE, start=start, end=end, text=premise[start:end])
