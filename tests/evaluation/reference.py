"""Scores of characters as one would write them down first: slow, and plain to read."""

from collections.abc import Sequence
from math import nan

Range = tuple[int, int]
#: An answer, what was marked in it, and what people marked.
Marked = tuple[str, Sequence[Range], Sequence[Range]]


def characters(text: str, ranges: Sequence[Range]) -> set[int]:
    """The characters that ranges hold, each once; outer white space of a range is not meant."""
    found = set()
    for start, end in ranges:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        found |= set(range(start, end))
    return found


def corrected(answers: Sequence[Marked]) -> dict[str, float]:
    """Precision, recall and F1 of characters over all answers, and intersection over union."""
    both = predicted = gold = 0
    for text, said, so in answers:
        found, wanted = characters(text, said), characters(text, so)
        both += len(found & wanted)
        predicted += len(found)
        gold += len(wanted)
    union = predicted + gold - both
    return {**ratios(both, predicted, gold), "iou": both / union if union else 1.0}


def lettucedetect(answers: Sequence[Marked]) -> dict[str, float]:
    """The same as LettuceDetect's evaluator counts: range against range."""
    both = predicted = gold = 0
    for _, said, so in answers:
        for start, end in said:
            predicted += end - start
            for other_start, other_end in so:
                both += len(range(max(start, other_start), min(end, other_end)))
        for start, end in so:
            gold += end - start
    return ratios(both, predicted, gold)


def ratios(both: int, predicted: int, gold: int) -> dict[str, float]:
    """Precision, recall and F1; ``nan`` of nothing."""
    precision = both / predicted if predicted else nan
    recall = both / gold if gold else nan
    f1 = 2 * both / (predicted + gold) if predicted + gold else nan
    return {"precision": precision, "recall": recall, "f1": f1}
