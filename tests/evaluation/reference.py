"""Scores as one would write them down first: slow, and plain to read."""

from collections.abc import Sequence
from math import nan

Range = tuple[int, int]
#: Whether an answer was flagged, whether it is hallucinated, and whether its check failed.
Answer = tuple[bool, bool, bool]
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


def decisions(answers: Sequence[Answer]) -> dict[str, float]:
    """Scores of answers as wholes, by the four kinds of verdicts; all ``nan`` if all failed."""
    names = ("precision", "recall", "f1", "balanced_accuracy", "fpr")
    if all(failed for _, _, failed in answers):
        return dict.fromkeys(names, nan)
    hits = alarms = misses = passes = 0
    for flagged, hallucinated, failed in answers:
        if failed:
            # What was not checked was not found. It was not let pass either.
            misses += hallucinated
        elif hallucinated:
            hits += flagged
            misses += not flagged
        else:
            alarms += flagged
            passes += not flagged
    found = ratios(hits, hits + alarms, hits + misses)
    fpr = alarms / (alarms + passes) if alarms + passes else nan
    return {**found, "fpr": fpr, "balanced_accuracy": (found["recall"] + 1 - fpr) / 2}


def auroc(scores: Sequence[float], answers: Sequence[Answer]) -> float:
    """How often a hallucinated answer scores above a grounded one, of those that were checked."""
    checked = [
        (score, so) for score, (_, so, failed) in zip(scores, answers, strict=True) if not failed
    ]
    wrong = [score for score, so in checked if so]
    right = [score for score, so in checked if not so]
    wins = sum((a > b) + (a == b) / 2 for a in wrong for b in right)
    return wins / (len(wrong) * len(right)) if wrong and right else nan
