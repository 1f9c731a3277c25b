"""Finds sentences of RAGTruth's summaries that may have a mistake without a mark.

A third of the numbers in these summaries that are not in the article are not marked as wrong. A
model trained on them would learn to accept wrong numbers. So sentences with an unmarked number or
name that the article does not have are left out of training.
"""

import re
from dataclasses import replace

from groundwire.evaluation.datasets.slots import DOUBTFUL, MarkedAnswer
from groundwire.text.segment import segment
from groundwire_training.sets import LabelledContext

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
#: A capitalised word within a sentence, which in summaries is nearly always part of a name.
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")


def without_unlabelled(record: LabelledContext) -> LabelledContext:
    """Mark sentences of a summary as doubtful if they may have a mistake without a mark."""
    article = " ".join(source.text for source in record.sources)
    if record.task != "Summary":
        return record
    numbers = {_plain(found) for found in _NUMBER.findall(article)}
    words = article.lower()
    return replace(
        record, answers=tuple(_doubted(answer, numbers, words) for answer in record.answers)
    )


def _doubted(answer: MarkedAnswer, numbers: set[str], article: str) -> MarkedAnswer:
    doubts = list(answer.doubts)
    for piece in segment(answer.text):
        text = answer.text[piece.start : piece.end]
        if any(start < piece.end and piece.start < end for start, end, _ in answer.spans):
            continue
        is_absent = any(_plain(found) not in numbers for found in _NUMBER.findall(text))
        if is_absent or any(name.lower() not in article for name in _NAME.findall(text)):
            doubts.append((piece.start, piece.end, DOUBTFUL))
    return replace(answer, doubts=tuple(doubts))


def _plain(number: str) -> str:
    return number.replace(",", "").rstrip(".")
