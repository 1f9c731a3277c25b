"""Finds questions that a prompt answers itself: examples for the model, and FAQs in evidence."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.labels import PromptLabel, is_filled, label_at
from groundwire.pipeline.conversation.material import PastedMaterial
from groundwire.pipeline.conversation.roles import Names, PartRole, end_of_line
from groundwire.pipeline.conversation.wording import states_something


@dataclass(frozen=True, slots=True)
class Pair:
    """The range of a question and its answer in a prompt.

    ``has_context`` is true if the range includes a context for the question, and the prompt has
    another context after the answer.
    """

    start: int
    end: int
    has_context: bool


class AnsweredQuestions:
    """The questions that one prompt answers itself, each as a pair with its answer."""

    def __init__(self, text: str, names: Names, material: PastedMaterial, *, is_user: bool) -> None:
        """Find the pairs in a prompt.

        Args:
            text: The prompt.
            names: The known names of parts of a prompt, such as "Question".
            material: The pasted material of the prompt, in which no pairs are looked for.
            is_user: Whether a user wrote the prompt. If so, its last question is the user's own,
                and belongs to no pair.
        """
        labels = list(_labels_of(text, names, material)) if ":" in text else []
        self._pairs = list(_answered_questions(text, names, labels, is_user=is_user))
        #: Offset at which the last pair ends; 0 if there is none.
        self.end = self._pairs[-1].end if self._pairs else 0

    def at(self, position: int) -> Pair | None:
        """Return the pair whose range contains a position; ``None`` if there is none."""
        i = bisect_right(self._pairs, position, key=lambda pair: pair.start) - 1
        return self._pairs[i] if i >= 0 and position < self._pairs[i].end else None


def _answered_questions(
    text: str, names: Names, labels: list[PromptLabel], *, is_user: bool
) -> Iterator[Pair]:
    last_question = max((each.start for each in labels if each.role is PartRole.ASK), default=-1)
    last_question = last_question if is_user else len(text)
    last_context = max((each.start for each in labels if each.role is PartRole.INFORM), default=-1)
    group: list[PromptLabel] = []
    for i, label in enumerate(labels):
        group.append(label)
        if label.role is not PartRole.ANSWER:
            continue
        questions = [each for each in group if each.role is PartRole.ASK]
        if questions and label.start < last_question and is_filled(text, label, names):
            is_with_context = any(each.role is PartRole.INFORM for each in group)
            has_context = is_with_context and label.start < last_context
            start = group[0].start if has_context else questions[-1].start
            end = labels[i + 1].start if i + 1 < len(labels) else len(text)
            paragraph_end = text.find("\n\n", label.value, end)
            end = end if paragraph_end < 0 else paragraph_end
            if _cites(text, labels[i + 1 : i + 3]):
                end = labels[i + 2].start
            yield Pair(start, end, has_context)
        group = []


def _cites(text: str, labels: list[PromptLabel]) -> bool:
    """Return whether ``labels`` are two labels of evidence, of which the first only cites sources.

    A line that only cites, such as "Sources: visitor handbook", has words but states nothing. It
    belongs to the answer before it.
    """
    if [label.role for label in labels] != [PartRole.INFORM, PartRole.INFORM]:
        return False
    line = text[labels[0].value : end_of_line(text, labels[0].value)].lower().split()
    return bool(line) and not states_something(line)


def _labels_of(text: str, names: Names, material: PastedMaterial) -> Iterator[PromptLabel]:
    """Yield labels of questions, answers and contexts at line starts, except in ``material``."""
    position = 0
    while position < len(text):
        if (pasted := material.at(position)) is not None:
            position = pasted.end
            continue
        line_end = end_of_line(text, position)
        line = text[position:line_end]
        start = position + len(line) - len(line.lstrip())
        if start < line_end and ":" in text[start : start + 64]:
            label = label_at(text, start, line_end, names)
            if label is not None and label.role in (PartRole.ASK, PartRole.ANSWER, PartRole.INFORM):
                yield label
        position = line_end + 1
