"""Removes the evidence of a sentence from its sources, so that the sentence becomes unsupported.

The sentence is still on the topic of its sources, so topic and common words do not tell its label.
MiniCheck makes training data in this way (https://arxiv.org/abs/2404.10774).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.evaluation.datasets.slots import DOUBTFUL, MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import stems
from groundwire_training.sets import LabelledContext

# Limits on the share of the stems of an answer's sentence that a sentence of the sources has. With
# a share of at least ``_EVIDENCE``, the source's sentence counts as evidence. The evidence is lost
# if the best share after the removal is at most ``_LEFT``, and lower by at least ``_LOSS``.
_EVIDENCE, _LEFT, _LOSS = 0.4, 0.4, 0.3
# If the best share falls by no more than this, a sentence keeps its label.
_SLACK = 0.1
# The least number of stems of a sentence whose evidence is looked for, and stems that do not count,
# such as the one of the heading "passage 2:".
_STEMS, _HEADING = 4, frozenset({"passa"})
# The most sentences of the sources to remove.
_MOST = 4


@dataclass(frozen=True, slots=True)
class _Line:
    source: int
    start: int
    end: int
    stems: frozenset[str]


def withheld(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Remove the evidence of one sentence of an answer from the sources.

    Args:
        record: The record; its answers may have spans.
        rng: Chooses the sentence.

    Returns:
        The record with shorter sources. A sentence that lost its evidence is labelled unsupported
        as a whole. A sentence that lost a part of its evidence, or that had a mistake already, is
        labelled doubtful. ``None`` if a source is JSON data, or every sentence has its evidence in
        too many places.
    """
    texts = [source.text for source in record.sources]
    if Grounds(texts).has_data:
        return None
    lines = [
        _Line(i, piece.start, piece.end, _content_stems(text[piece.start : piece.end]))
        for i, text in enumerate(texts)
        for piece in segment(text)
    ]
    candidates = [
        (answer, piece.start, piece.end)
        for answer in record.answers
        for piece in segment(answer.text)
        if not _is_marked(answer, piece.start, piece.end)
    ]
    for answer, start, end in rng.sample(candidates, len(candidates)):
        wanted = _content_stems(answer.text[start:end])
        best = _best_share(wanted, lines)
        if len(wanted) < _STEMS or best < _EVIDENCE:
            continue
        gone = [line for line in lines if _share(wanted, line) >= best / 2]
        rest = [line for line in lines if _share(wanted, line) < best / 2]
        if len(gone) <= _MOST and _loses(wanted, lines, rest) and any(line.stems for line in rest):
            return _without(record, texts, lines, gone, rest)
    return None


def _without(
    record: LabelledContext,
    texts: Sequence[str],
    lines: Sequence[_Line],
    gone: Sequence[_Line],
    rest: Sequence[_Line],
) -> LabelledContext:
    cut = list(texts)
    for line in sorted(gone, key=lambda line: -line.start):
        text = cut[line.source]
        cut[line.source] = text[: line.start] + text[line.end :].lstrip(" ")
    sources = tuple(
        replace(source, text=text)
        for source, text in zip(record.sources, cut, strict=True)
        if text.strip()
    )
    answers = tuple(_relabelled(answer, lines, rest) for answer in record.answers)
    return replace(record, sources=sources, answers=answers)


def _relabelled(
    answer: MarkedAnswer, before: Sequence[_Line], after: Sequence[_Line]
) -> MarkedAnswer:
    doubts = list(answer.doubts)
    for piece in segment(answer.text):
        wanted = _content_stems(answer.text[piece.start : piece.end])
        if _best_share(wanted, before) - _best_share(wanted, after) <= _SLACK:
            continue
        is_known = not _is_marked(answer, piece.start, piece.end) and _loses(wanted, before, after)
        doubts.append((piece.start, piece.end, 1 if is_known else DOUBTFUL))
    return replace(answer, doubts=tuple(doubts))


def _loses(wanted: frozenset[str], before: Sequence[_Line], after: Sequence[_Line]) -> bool:
    left = _best_share(wanted, after)
    return len(wanted) >= _STEMS and left <= _LEFT and _best_share(wanted, before) - left >= _LOSS


def _content_stems(text: str) -> frozenset[str]:
    return stems(text) - _HEADING


def _best_share(wanted: frozenset[str], lines: Sequence[_Line]) -> float:
    return max((_share(wanted, line) for line in lines), default=0.0)


def _share(wanted: frozenset[str], line: _Line) -> float:
    return len(wanted & line.stems) / len(wanted) if wanted else 0.0


def _is_marked(answer: MarkedAnswer, start: int, end: int) -> bool:
    return any(s < end and start < e for s, e, _ in (*answer.spans, *answer.doubts))
