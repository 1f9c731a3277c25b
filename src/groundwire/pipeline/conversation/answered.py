"""Questions that a prompt answers itself: examples for the model, and lists in its evidence."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.labels import Label, is_filled, label_at
from groundwire.pipeline.conversation.material import PastedMaterial
from groundwire.pipeline.conversation.roles import Names, Role
from groundwire.pipeline.conversation.wording import states_something


@dataclass(frozen=True, slots=True)
class Pair:
    """A question that a prompt answers itself, before it asks another.

    ``has_context`` tells whether it comes with a context of its own, as an example does.
    """

    start: int
    end: int
    has_context: bool


class AnsweredQuestions:
    """All questions of a prompt that it answers itself."""

    def __init__(self, text: str, names: Names, material: PastedMaterial) -> None:
        self._pairs = list(_answered_questions(text, names, material)) if ":" in text else []
        self._starts = [pair.start for pair in self._pairs]
        #: Where the last of them ends.
        self.end = self._pairs[-1].end if self._pairs else 0

    def at(self, position: int) -> Pair | None:
        """The one that a position is in."""
        i = bisect_right(self._starts, position) - 1
        return self._pairs[i] if i >= 0 and position < self._pairs[i].end else None


def _answered_questions(text: str, names: Names, material: PastedMaterial) -> Iterator[Pair]:
    labels = list(_labels_of(text, names, material))
    last_question = max((each.start for each in labels if each.role is Role.ASK), default=-1)
    last_context = max((each.start for each in labels if each.role is Role.INFORM), default=-1)
    group: list[Label] = []
    for i, label in enumerate(labels):
        group.append(label)
        if label.role is not Role.ANSWER:
            continue
        questions = [each for each in group if each.role is Role.ASK]
        if questions and label.start < last_question and is_filled(text, label, names):
            is_with_context = any(each.role is Role.INFORM for each in group)
            has_context = is_with_context and label.start < last_context
            start = group[0].start if has_context else questions[-1].start
            end = labels[i + 1].start if i + 1 < len(labels) else len(text)
            paragraph_end = text.find("\n\n", label.value, end)
            end = end if paragraph_end < 0 else paragraph_end
            if _cites(text, labels[i + 1 : i + 3]):
                end = labels[i + 2].start
            yield Pair(start, end, has_context)
        group = []


def _cites(text: str, labels: list[Label]) -> bool:
    """Whether the first of two labels of evidence names the sources of the answer before it."""
    if [label.role for label in labels] != [Role.INFORM, Role.INFORM]:
        return False
    line = text[labels[0].value : text.find("\n", labels[0].value)].lower().split()
    return bool(line) and not states_something(line)


def _labels_of(text: str, names: Names, material: PastedMaterial) -> Iterator[Label]:
    """The lines that begin with the label of a question, an answer or a context."""
    position = 0
    while position < len(text):
        if (pasted := material.at(position)) is not None:
            position = pasted.end
            continue
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        line = text[position:line_end]
        start = position + len(line) - len(line.lstrip())
        if start < line_end and ":" in text[start : start + 64]:
            label = label_at(text, start, line_end, names)
            if label is not None and label.role in (Role.ASK, Role.ANSWER, Role.INFORM):
                yield label
        position = line_end + 1
