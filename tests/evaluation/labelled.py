"""Labelled answers for tests."""

from groundwire.detection.example import Example
from groundwire.detection.values import Label
from groundwire.evaluation.datasets.labelled import GoldSpan, LabelledAnswer


def labelled(
    answer: str, *marked: str, task: str = "QA", context: str = "c", id_: str = "1"
) -> LabelledAnswer:
    """An answer in which some words are marked."""
    starts = [answer.index(words) for words in marked]
    return LabelledAnswer(
        id=id_,
        task=task,
        context_id=context,
        example=Example.of(sources=["What is good, right, wrong or odd."], answer=answer),
        spans=tuple(
            GoldSpan(start=start, end=start + len(words), label=Label.UNSUPPORTED)
            for start, words in zip(starts, marked, strict=True)
        ),
    )
