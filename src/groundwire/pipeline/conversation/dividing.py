"""A prompt → its parts: what asks, what instructs, what informs.

Two things tell. *Structure* comes first: tags, fences, rules, quotes, marked blocks, headings and
labels, each with the role that its name gives it, and sentences that announce what follows ("Use
the following pieces of context..."). Where structure says nothing, *wording* does: questions,
orders and what is said to the model about its task are told from sentences that state something.

No shape is known as a whole: a template that nobody has seen is read by the same rules. The time
is linear in the text.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from groundwire.pipeline.conversation.answered import AnsweredQuestions
from groundwire.pipeline.conversation.labels import (
    Label,
    first_label,
    inline_labels,
    introduction_before,
    label_at,
)
from groundwire.pipeline.conversation.parts import Part, joined
from groundwire.pipeline.conversation.roles import Names, Role
from groundwire.pipeline.conversation.structure import Block, Structure, is_code, is_data
from groundwire.pipeline.conversation.wording import (
    Wording,
    concerns_the_task,
    goes_on,
    informs_as_block,
    instructs_the_model,
    is_form,
    is_judged,
    n_before_question,
    points_back,
    sentences_of,
    speaks_of_us,
    states_something,
    wording_of,
)

#: A longer paragraph is no short question or order at the edge of a section.
_MAX_ASIDE_CHARS = 300
#: A paragraph that only states something is evidence from so many words on.
_OWN_WORDS = 8
#: Such a paragraph with a figure in it counts from so many words on.
_OWN_WORDS_WITH_FIGURE = 5
#: Such a paragraph below a heading of a user counts from so many words on.
_HEADED_WORDS = 3
#: How many paragraphs later a question may ask whether a paragraph is true.
_JUDGED_CHARS = 40
#: How lines of JSON begin, which have colons and no labels.
_JSON = ('{"', '[{"', '["')
#: Tags of these roles hold more structure, and are read as what stands between them.
_TRANSPARENT = (None, Role.INSTRUCT, Role.OPEN)


def divide(text: str, *, is_user: bool, names: Names | None = None) -> tuple[Part, ...]:
    """Divide a prompt into its parts, in order.

    Args:
        text: What somebody says to the model.
        is_user: Whether it is a user, who asks; else it is the system, which instructs.
        names: The names of parts that are known; ``None``: those of ``words.txt``.
    """
    return _Walk(text, is_user=is_user, names=names or Names()).parts()


class _Walk:
    """One reading of a prompt, from its top to its end."""

    def __init__(self, text: str, *, is_user: bool, names: Names) -> None:
        self._text, self._is_user, self._names = text, is_user, names
        self._structure = Structure(text, names)
        self._parts: list[Part] = []
        self._pairs = AnsweredQuestions(text, names)
        self._paragraph: int | None = None
        self._asides: list[int] = []  # parts of this section that may be a question beside it
        self._has_evidence = False
        self._enter(Role.OPEN)

    def _enter(
        self,
        role: Role,
        *,
        is_announced: bool = False,
        is_once: bool = False,
        is_structured: bool = False,
    ) -> None:
        """Begin a section.

        Args:
            role: What its text is for.
            is_announced: Whether a sentence says so, and no name.
            is_once: Whether it ends with its paragraph.
            is_structured: Whether something sets it apart from what stands before.
        """
        self._role, self._is_announced, self._is_once = role, is_announced, is_once
        self._is_structured = is_structured
        self._is_pending = True  # nothing of it was read
        self._level = 0  # of the heading that it stands under
        self._leave_asides()
        self._section_start = len(self._parts)
        self._had_evidence = self._has_evidence

    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        position, n = 0, len(self._text)
        while position < n:
            position = self._read_line(position)
        self._flush(n)
        self._leave_asides()
        self._mark_what_is_pointed_at()
        return tuple(joined(self._without_examples(), self._text))

    # Methods that read one line.

    def _read_line(self, position: int) -> int:
        """Read the line, or the rest of it, from here; where the next begins."""
        text = self._text
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        start = position + len(text[position:line_end]) - len(text[position:line_end].lstrip())
        if start >= line_end:
            self._flush(position)
            return line_end + 1
        is_whole = position == 0 or text[position - 1] == "\n"
        if (behind := self._read_block(start, line_end)) is not None:
            return behind
        if is_whole and (behind := self._read_rule(position, line_end)) is not None:
            return behind
        is_json = text.startswith(_JSON, start)
        if not is_json and (label := self._label(start, line_end)) is not None:
            is_evidence = self._role is Role.INFORM
            self._flush(introduction_before(text, position) if is_evidence else position)
            self._follow(label)
            return label.value if label.value < line_end else line_end + 1
        if self._paragraph is None:
            self._paragraph = position
        if is_json or (self._role is not Role.INFORM and self._read_inline(start, line_end)):
            return line_end + 1
        return self._to_tag_within(start, line_end)

    def _to_tag_within(self, start: int, line_end: int) -> int:
        """The next line, or a tag within this one that opens a block of evidence."""
        tag = self._text.find("<", start + 1, line_end)
        while tag >= 0:
            block = self._structure.tag_at(tag)
            if block is not None and block.role in (Role.INFORM, Role.ASK):
                before = self._text[start:tag].rstrip()
                if before.endswith(":") or not self._text[block.inner : line_end].strip():
                    return tag
            tag = self._text.find("<", tag + 1, line_end)
        return line_end + 1

    def _read_block(self, start: int, line_end: int) -> int | None:
        structure = self._structure
        first = self._text[start]
        if first == "<" and (behind := structure.closing_tag_at(start)) is not None:
            self._flush(start)
            if self._role is not Role.INFORM:
                self._enter(Role.OPEN)
            return behind
        block = structure.tag_at(start) if first == "<" else None
        if block is None and first in "`~\"'":
            line_start = self._text.rfind("\n", 0, start) + 1
            block = structure.fence_at(line_start if first in "`~" else start)
            if block is None and first in "`~":
                return None
        if block is None:
            block = structure.marked_at(start, line_end)
        if block is None:
            return None
        if block.is_tag and (block.role in _TRANSPARENT or structure.has_roles_within(block)):
            if self._role is Role.INFORM and block.role is None:
                return None  # tags of the evidence itself
            self._flush(start)
            role = Role.INSTRUCT if block.role is Role.INSTRUCT else Role.OPEN
            self._enter(role, is_structured=True)
            return block.inner
        if not block.is_tag and self._role is Role.INFORM and not self._is_pending:
            return None  # a fence within a section of evidence
        self._flush(start)
        self._add_block(block)
        return block.end

    def _read_rule(self, position: int, line_end: int) -> int | None:
        found = self._structure.rule_at(position)
        if found is None:
            return None
        end, block = found
        if self._role is Role.INFORM and not self._is_pending:
            return None  # between passages
        was = self._role
        self._flush(position)
        role = self._role
        if role in (Role.HISTORY, Role.EXAMPLE):
            return end
        if block is not None and self._label_of(block) is None:
            text = self._text[block.inner : block.inner_end]
            is_told = self._is_announced and instructs_the_model(text)
            is_evidence = role is Role.INFORM and not is_told
            if is_evidence or (was is not Role.INSTRUCT and self._informs(block)):
                self._add_block(replace(block, role=Role.INFORM))
                return block.end
            if role is Role.ASK:
                self._enter(Role.OPEN)
        elif role in (Role.ASK, Role.ANSWER):
            self._enter(Role.OPEN)
        return end

    def _label_of(self, block: Block) -> Label | None:
        """The label with which the text of a block begins, unless it names evidence."""
        label = first_label(self._text, block.inner, block.inner_end, self._names)
        return None if label is None or label.role in (Role.INFORM, Role.OPEN) else label

    def _add_block(self, block: Block) -> None:
        role = block.role
        if role is None or role is Role.OPEN:
            role = self._role
            if role not in (Role.INFORM, Role.EXAMPLE, Role.HISTORY):
                role = Role.INFORM if self._informs(block) else Role.INSTRUCT
        elif self._role is Role.EXAMPLE and self._pairs.at(block.start) is not None:
            role = Role.EXAMPLE
        elif self._role is Role.HISTORY and not block.is_tag:
            role = Role.HISTORY
        does = {Role.INFORM: Wording.INFORMS, Role.ASK: Wording.ASKS}.get(role, Wording.INSTRUCTS)
        self._add(does, block.inner, block.inner_end, is_marked=True, attributes=block.attributes)
        self._enter(Role.OPEN)

    def _informs(self, block: Block) -> bool:
        """Whether the text of a block without a name states something."""
        if block.is_code or self._role is Role.INSTRUCT:
            return False
        text = self._text[block.inner : block.inner_end]
        if is_data(text):
            return True
        return not is_code(text) and informs_as_block(text)

    # Methods that read labels.

    def _label(self, start: int, line_end: int) -> Label | None:
        """The label that a line begins with, if it begins another section here."""
        label = label_at(self._text, start, line_end, self._names)
        if label is None:
            return None
        role = self._role
        if role is Role.INFORM:
            if label.role is Role.INFORM:
                is_given = self._is_pending or not label.is_heading
                return label if self._is_announced and is_given else None
            if label.role is Role.OPEN or self._is_within_evidence(label):
                return None
            is_told = label.is_heading and concerns_the_task(label.name)
            is_next = 0 < self._level_of(label) <= self._level
            return label if is_told or is_next or self._names.ends_evidence(label.name) else None
        if role is Role.EXAMPLE and start < self._pairs.end:
            return None
        if role is Role.HISTORY and label.role in (Role.ANSWER, Role.OPEN):
            return None
        if role is Role.HISTORY and label.name.lower() in ("human", "user", "system"):
            return None
        return label

    def _is_within_evidence(self, label: Label) -> bool:
        """Whether it is a question that the evidence itself answers, as a list of them does."""
        pair = self._pairs.at(label.start)
        return pair is not None and not pair.has_context

    def _level_of(self, label: Label) -> int:
        """The level of a heading with signs of number, such as 2 of ``## Rules``; else 0."""
        text = self._text[label.start : label.value]
        return len(text) - len(text.lstrip("#"))

    def _follow(self, label: Label) -> None:
        is_line = not label.is_heading and label.role in (Role.INSTRUCT, Role.ANSWER)
        is_once = is_line or label.role is Role.ASK
        is_announced = label.is_heading and self._names.announced_role(label.name) is label.role
        self._enter(
            label.role,
            is_announced=is_announced and label.role is not Role.INFORM,
            is_once=is_once,
            is_structured=True,
        )
        self._level = self._level_of(label)
        if label.is_heading and label.role is not Role.INFORM and concerns_the_task(label.name):
            self._add(Wording.INSTRUCTS, label.start, label.value)

    def _read_inline(self, start: int, line_end: int) -> bool:
        """Follow labels within a line: "Be brief. Context: ..."."""
        found = False
        if self._role is Role.EXAMPLE and start < self._pairs.end:
            return found
        for label in inline_labels(self._text, start, line_end, self._names):
            if self._role is Role.INFORM and not self._names.ends_evidence(label.name):
                continue
            if label.start > start or label.role is Role.INFORM:
                self._flush(label.start)
                self._follow(label)
                self._paragraph = label.value
                found = True
        return found

    # Methods that read a paragraph.

    def _flush(self, end: int) -> None:
        """Read the paragraph that ends here."""
        start, self._paragraph = self._paragraph, None
        if start is None or not self._text[start:end].strip():
            return
        match self._role:
            case Role.INFORM:
                self._read_evidence(start, end)
            case Role.OPEN:
                self._read_by_wording(start, end)
            case Role.ASK:
                self._add(Wording.ASKS, start, end)
                self._enter(Role.OPEN)
            case Role.INSTRUCT:
                self._add(Wording.INSTRUCTS, start, end)
                if not self._announce(start, end) and self._is_once:
                    self._enter(Role.OPEN)
            case Role.ANSWER:
                self._add(Wording.INSTRUCTS, start, end)
                self._enter(Role.OPEN)
            case _:
                self._add(Wording.INSTRUCTS, start, end)
                if self._is_once:
                    self._enter(Role.OPEN)

    def _announce(self, start: int, end: int) -> bool:
        """Enter the section that a paragraph announces, if it does."""
        for first, last in reversed(sentences_of(self._text[start:end])):
            role = self._names.announced_role(self._text[start + first : start + last])
            if role in (Role.INFORM, Role.EXAMPLE):
                self._enter(role, is_announced=True, is_once=role is Role.EXAMPLE)
                return True
        return False

    def _read_evidence(self, start: int, end: int) -> None:
        """A paragraph of a section of evidence: evidence, but for what speaks to the model."""
        text = self._text[start:end]
        ranges = [(start + first, start + last) for first, last in sentences_of(text)]
        of_task = [False] * len(ranges)
        if concerns_the_task(text):
            of_task = [concerns_the_task(self._text[first:last]) for first, last in ranges]
        if self._is_announced and self._is_pending and of_task[0]:
            self._add(Wording.INSTRUCTS, start, end)
            return
        is_introduced = of_task[0] and text.lstrip().lower().startswith("you are ")
        is_short = len(text) <= _MAX_ASIDE_CHARS and len(ranges) <= 3 and not is_introduced
        if is_short and self._states_nothing(ranges):
            self._asides.append(len(self._parts))
            self._add(Wording.INFORMS, start, end, is_marked=True)
            return
        if of_task[-1] or is_introduced or sum(of_task) * 2 > len(of_task):
            # The template goes on: what precedes is evidence, the rest is not.
            first_of_task = of_task.index(True)
            if first_of_task:
                self._add(Wording.INFORMS, start, ranges[first_of_task][0], is_marked=True)
            self._add(Wording.INSTRUCTS, ranges[first_of_task][0], end)
            if not self._announce(ranges[first_of_task][0], end):
                self._enter(Role.OPEN)
            return
        if self._is_announced and len(ranges) > 1 and self._states_nothing(ranges):
            self._add(Wording.INSTRUCTS, start, end)
            return
        n_told = n_before_question(self._text, ranges)
        self._add_told(start, ranges[:n_told], of_task[:n_told])
        if n_told < len(ranges):
            # It belongs to the evidence if that goes on, and else is what is asked about it.
            self._asides.append(len(self._parts))
            self._add(Wording.INFORMS, ranges[n_told][0], end, is_marked=True)
        self._is_pending = False

    def _add_told(self, start: int, ranges: list[tuple[int, int]], of_task: list[bool]) -> None:
        """Add sentences of evidence, and single ones between them that speak to the model."""
        if not ranges:
            return
        first = start
        for (begin, last), is_of_task in zip(ranges, of_task, strict=True):
            if is_of_task:
                self._add(Wording.INFORMS, first, begin, is_marked=True)
                self._add(Wording.INSTRUCTS, begin, last)
                first = last
        self._add(Wording.INFORMS, first, ranges[-1][1], is_marked=True)

    def _states_nothing(self, ranges: list[tuple[int, int]]) -> bool:
        """Whether sentences may be the question, or orders, beside the evidence."""
        sentences = (self._text[first:last] for first, last in ranges)
        wordings = (wording_of(each, is_user=self._is_user) for each in sentences)
        return all(each is not Wording.INFORMS for each in wordings)

    def _leave_asides(self) -> None:
        """A section ends: questions and orders at its edges are no evidence."""
        asides, self._asides = set(self._asides), []
        if not asides:
            return
        informing = [
            i
            for i in range(self._section_start, len(self._parts))
            if self._parts[i].does is Wording.INFORMS and i not in asides
        ]
        last = informing[-1] if informing else -1
        is_first = not self._had_evidence and min(asides) == self._section_start
        for i in asides:
            if i > last or (is_first and i == self._section_start):
                self._parts[i] = replace(self._parts[i], does=Wording.ASKS, is_marked=False)

    def _read_by_wording(self, start: int, end: int) -> None:
        text = self._text[start:end]
        if is_mail := self._structure.is_head_of_mail(text):
            self._enter(Role.INFORM, is_structured=True)
        if is_mail or is_data(text):
            self._add(Wording.INFORMS, start, end, is_marked=True)
            return
        is_bare = self._is_user and not self._is_structured and len(text) <= _MAX_ASIDE_CHARS
        is_claim = is_bare and is_judged(text, self._text[end : end + _JUDGED_CHARS])
        announced: Role | None = None
        wordings: list[tuple[int, int, Wording]] = []
        for first, last in sentences_of(text):
            sentence = text[first:last]
            wording = wording_of(sentence, is_user=self._is_user)
            if wording is Wording.INFORMS and is_claim:
                wording = Wording.ASKS
            if wording is None or (wording is Wording.INFORMS and wordings and goes_on(sentence)):
                wording = wordings[-1][2] if wordings else Wording.INSTRUCTS
            role = self._names.announced_role(sentence)
            if role in (Role.INFORM, Role.EXAMPLE, Role.INSTRUCT, Role.HISTORY):
                announced = role if announced is not Role.INFORM else announced
                wording = Wording.INSTRUCTS
            wordings.append((start + first, start + last, wording))
        words = text.lower().split()
        is_apart = self._is_structured or (self._is_user and not speaks_of_us(words))
        is_fact = len(words) >= self._wanted(text) and states_something(words)
        is_marked = is_apart and is_fact and all(each[2] is Wording.INFORMS for each in wordings)
        for wording, run in groupby(wordings, key=itemgetter(2)):
            ranges = list(run)
            self._add(wording, ranges[0][0], ranges[-1][1], is_marked=is_marked)
        if announced is Role.INFORM:
            self._enter(Role.INFORM, is_announced=True)
        elif announced is not None and announced is not Role.HISTORY:
            self._enter(announced, is_announced=True, is_once=True)

    def _wanted(self, text: str) -> int:
        """The number of words from which a paragraph that states something is evidence."""
        if not self._is_user:
            return _OWN_WORDS
        if self._is_structured:
            return _HEADED_WORDS
        return _OWN_WORDS_WITH_FIGURE if any(map(str.isdigit, text)) else _OWN_WORDS

    # Helpers that make parts.

    def _add(
        self, does: Wording, start: int, end: int, *, is_marked: bool = False, attributes: str = ""
    ) -> None:
        inside = self._text[start:end]
        if text := inside.strip():
            if does is Wording.INFORMS and is_form(text):
                does, is_marked = Wording.INSTRUCTS, False
            start += len(inside) - len(inside.lstrip())
            end = start + len(text)
            self._has_evidence = self._has_evidence or does is Wording.INFORMS
            self._parts.append(
                Part(does=does, start=start, end=end, is_marked=is_marked, attributes=attributes)
            )

    def _mark_what_is_pointed_at(self) -> None:
        """Take for evidence what "the context above" speaks of, where nothing else marks any."""
        if any(part.does is Wording.INFORMS and part.is_marked for part in self._parts):
            return
        for i, part in enumerate(self._parts):  # noqa: B007 - the walk back begins there
            if part.does is Wording.INSTRUCTS and points_back(self._text[part.start : part.end]):
                break
        else:
            return
        while i and self._may_be_pointed_at(self._parts[i - 1]):
            i -= 1
            part = self._parts[i]
            self._parts[i] = replace(part, does=Wording.INFORMS, is_marked=True)

    def _may_be_pointed_at(self, part: Part) -> bool:
        text = self._text[part.start : part.end]
        return part.does is not Wording.ASKS and not concerns_the_task(text)

    def _without_examples(self) -> Iterator[Part]:
        """The parts; a question that the prompt answers itself is an example, with its context."""
        for part in self._parts:
            pair = self._pairs.at(part.start)
            is_evidence = part.is_marked and part.does is Wording.INFORMS
            is_example = pair is not None and (pair.has_context or not is_evidence)
            yield replace(part, does=Wording.INSTRUCTS) if is_example else part
