"""Divides a prompt into parts that ask, parts that instruct and parts that inform.

*Structure* decides first. It consists of marks and announcements. Marks are tags, fences, rules
(lines such as ``---``), quotes, lines such as ``[BEGIN CONTEXT]``, headings and labels. The name of
a mark, if it has one, tells the role of the text in it or after it. Announcements are sentences
that tell the role of the text after them, such as "Use the following pieces of context...". Pasted
material, such as a log, is found by the form of its lines. Other text without structure is divided
by its *wording*. No list of known templates is used.
"""

from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from groundwire.pipeline.conversation import labels, paragraph, second_pass, structure, wording
from groundwire.pipeline.conversation.answered import AnsweredQuestions
from groundwire.pipeline.conversation.labels import PromptLabel
from groundwire.pipeline.conversation.material import Material, PastedMaterial
from groundwire.pipeline.conversation.parts import PromptPart, joined
from groundwire.pipeline.conversation.roles import Names, PartRole, end_of_line
from groundwire.pipeline.conversation.structure import Block, Structure
from groundwire.pipeline.conversation.wording import Wording

#: Beginnings of lines of JSON. The colons in such lines do not end labels.
_JSON = ('{"', '[{"', '["')
#: Names of speakers that begin turns in a chat history inside a prompt.
_SPEAKERS = ("human", "user", "system")
#: Role of a block → what its text does. The text of a block with another role instructs.
_DOES = {PartRole.INFORM: Wording.INFORMS, PartRole.ASK: Wording.ASKS}
#: Roles of tags. The text between tags of these roles is usually divided further.
_TRANSPARENT = (None, PartRole.INSTRUCT, PartRole.OPEN)


def divide(text: str, *, is_user: bool, names: Names | None = None) -> tuple[PromptPart, ...]:
    """Divide a prompt into its parts, in the order of the text.

    Args:
        text: The text of a message to the model.
        is_user: Whether a user wrote the message. Some rules differ for a user's text.
        names: The known names of parts, such as "Context"; ``None``: the names in ``words.txt``.
    """
    return _Walk(text, is_user=is_user, names=names or Names()).parts()


class _Walk:
    """Reads a prompt line by line, from its top to its end, and collects its parts."""

    def __init__(self, text: str, *, is_user: bool, names: Names) -> None:
        self._text, self._is_user, self._names = text, is_user, names
        self._structure = Structure(text, names)
        self._parts: list[PromptPart] = []
        self._material = PastedMaterial(text, names)
        self._pairs = AnsweredQuestions(text, names, self._material, is_user=is_user)
        # Indexes of parts that the user may want the model to change, such as a pasted
        # configuration (for ``second_pass.settle_drafts``).
        self._drafts: list[int] = []
        # Indexes of parts with program code (for ``second_pass.settle_drafts``).
        self._code: list[int] = []
        self._is_in_capitals = self._is_template = False
        self._paragraph: int | None = None
        self._section_start, self._had_evidence = 0, False
        # Indexes of parts of the current section of evidence that may be questions or orders (for
        # ``second_pass.settle_asides``).
        self._asides: list[int] = []
        self._has_evidence = False
        self._enter(PartRole.OPEN)

    def _enter(
        self,
        role: PartRole,
        *,
        is_announced: bool = False,
        is_once: bool = False,
        is_structured: bool = False,
    ) -> None:
        """Begin a section: successive text of the prompt that has one role.

        Args:
            role: The role of the section's text.
            is_announced: Whether a sentence or a heading announced the role.
            is_once: Whether the section ends with its first paragraph.
            is_structured: Whether a mark, such as a tag or label, or a letter begins the section.
        """
        self._role, self._is_announced, self._is_once = role, is_announced, is_once
        self._is_template = self._is_template or role is not PartRole.OPEN
        self._is_structured = is_structured
        self._is_pending = True  # no certain evidence has been read in the section yet
        self._level = 0  # the level of the section's Markdown heading; 0 without such a heading
        self._leave_asides()
        self._section_start = len(self._parts)
        self._had_evidence = self._has_evidence

    def parts(self) -> tuple[PromptPart, ...]:
        """Read the whole prompt, and return its parts."""
        position, n = 0, len(self._text)
        while position < n:
            position = self._read_line(position)
        self._flush(n)
        self._leave_asides()
        if self._is_user and not (self._is_template or self._drafts or self._code):
            second_pass.close_gaps(self._parts, self._text)
        second_pass.settle_drafts(self._parts, self._text, self._drafts, self._code)
        second_pass.mark_what_is_pointed_at(self._parts, self._text)
        return tuple(joined(second_pass.without_examples(self._parts, self._pairs), self._text))

    # Methods that read one line.

    def _read_line(self, position: int) -> int:
        """Read the line, label, block or pasted text at a position, and return where it ends."""
        text = self._text
        line_end = end_of_line(text, position)
        start = position + len(text[position:line_end]) - len(text[position:line_end].lstrip())
        if start >= line_end:
            self._flush(position)
            return line_end + 1
        is_whole = position == 0 or text[position - 1] == "\n"
        if is_whole and (material := self._pasted(position)) is not None:
            self._flush(position)
            self._add_material(material)
            return material.end
        if (behind := self._read_block(start, line_end)) is not None:
            return behind
        if is_whole and (behind := self._read_rule(position, line_end)) is not None:
            return behind
        is_json = text.startswith(_JSON, start)
        if not is_json and (label := self._label(start, line_end)) is not None:
            is_evidence = self._role is PartRole.INFORM
            self._flush(labels.introduction_before(text, position) if is_evidence else position)
            self._follow(label)
            return label.value if label.value < line_end else line_end + 1
        if self._paragraph is None:
            self._paragraph = position
        if is_json or (self._role is not PartRole.INFORM and self._read_inline(start, line_end)):
            return line_end + 1
        return self._to_tag_within(start, line_end)

    def _pasted(self, position: int) -> Material | None:
        """Return the pasted material that begins at a position, or ``None``.

        Material is accepted only in evidence, or in a user's text that has no role yet.
        """
        is_open = self._is_user and self._role is PartRole.OPEN
        return self._material.at(position) if is_open or self._role is PartRole.INFORM else None

    def _add_material(self, material: Material) -> None:
        if structure.is_head_of_mail(self._text[material.start : material.end]):
            self._enter(PartRole.INFORM, is_structured=True)
        elif material.is_draft and self._role is PartRole.OPEN:
            self._drafts.append(len(self._parts))
        self._add(Wording.INFORMS, material.start, material.end, is_marked=True)
        self._is_pending = False

    def _to_tag_within(self, start: int, line_end: int) -> int:
        """Return the offset in a line at which a tag opens a block of evidence or a question.

        Only tags after a colon or at the end of the line count. If the line has none, return the
        start of the next line.
        """
        tag = self._text.find("<", start + 1, line_end)
        while tag >= 0:
            block = self._structure.tag_at(tag)
            if block is not None and block.role in (PartRole.INFORM, PartRole.ASK):
                before = self._text[start:tag].rstrip()
                if before.endswith(":") or not self._text[block.inner : line_end].strip():
                    return tag
            tag = self._text.find("<", tag + 1, line_end)
        return line_end + 1

    def _read_block(self, start: int, line_end: int) -> int | None:
        blocks = self._structure
        if (behind := blocks.closing_tag_at(start)) is not None:
            self._flush(start)
            if self._role is not PartRole.INFORM:
                self._enter(PartRole.OPEN)
            return behind
        is_fence = self._text[start] in "`~"
        line_start = self._text.rfind("\n", 0, start) + 1
        # A fence may be indented, so it is read from the start of its line. After other text in the
        # line, it is read from its own first character.
        is_first = is_fence and not self._text[line_start:start].strip()
        block = blocks.tag_at(start) or blocks.fence_at(line_start if is_first else start)
        if block is None and not is_fence:
            block = blocks.marked_at(start, line_end)
        if block is None:
            return None
        if block.is_tag and (block.role in _TRANSPARENT or blocks.has_roles_within(block)):
            may_be_data = block.role is None and (self._is_user or self._role is PartRole.INFORM)
            if may_be_data and blocks.is_markup(block):
                self._flush(start)
                self._add_material(Material(block.start, block.end, is_draft=True))
                return block.end
            if self._role is PartRole.INFORM and block.role is None:
                return None  # a tag without a role stays part of the evidence around it
            self._flush(start)
            role = PartRole.INSTRUCT if block.role is PartRole.INSTRUCT else PartRole.OPEN
            self._enter(role, is_structured=True)
            return block.inner
        if not block.is_tag and self._role is PartRole.INFORM and not self._is_pending:
            return None  # a fence or marked block within evidence stays part of the evidence
        self._flush(start)
        self._add_block(block)
        return block.end

    def _read_rule(self, position: int, line_end: int) -> int | None:
        found = self._structure.rule_at(position)
        if found is None:
            return None
        end, block = found
        if self._role is PartRole.INFORM and not self._is_pending:
            return None  # a line such as --- between two passages stays part of the evidence
        was = self._role
        self._flush(position)
        role = self._role
        if role in (PartRole.HISTORY, PartRole.EXAMPLE):
            return end
        text = self._text[block.inner : block.inner_end] if block is not None else ""
        if block is not None and not labels.is_labelled(text, self._names):
            is_told = self._is_announced and wording.instructs_the_model(text)
            is_evidence = role is PartRole.INFORM and not is_told
            if is_evidence or (was is not PartRole.INSTRUCT and self._informs(block)):
                self._add_block(replace(block, role=PartRole.INFORM))
                return block.end
            if role is PartRole.ASK:
                self._enter(PartRole.OPEN)
        elif role in (PartRole.ASK, PartRole.ANSWER):
            self._enter(PartRole.OPEN)
        return end

    def _add_block(self, block: Block) -> None:
        role = block.role
        if role is None or role is PartRole.OPEN:
            role = self._role
            if role not in (PartRole.INFORM, PartRole.EXAMPLE, PartRole.HISTORY):
                is_told = role is PartRole.INSTRUCT
                role = PartRole.INFORM if self._informs(block) else PartRole.INSTRUCT
                if self._is_user and not is_told and not block.is_tag:
                    self._may_be_reported(block)
        elif self._role is PartRole.EXAMPLE and self._pairs.at(block.start) is not None:
            role = PartRole.EXAMPLE
        elif self._role is PartRole.HISTORY and not block.is_tag:
            role = PartRole.HISTORY
        does = _DOES.get(role, Wording.INSTRUCTS)
        self._add(does, block.inner, block.inner_end, is_marked=True, attributes=block.attributes)
        self._enter(PartRole.OPEN)

    def _may_be_reported(self, block: Block) -> None:
        """Remember a block of code or data, for ``settle_drafts`` to decide if it is evidence."""
        text = self._text[block.inner : block.inner_end]
        if block.is_code or structure.is_code(text):
            self._code.append(len(self._parts))
        elif self._material.at(block.inner + 1) is not None:
            self._drafts.append(len(self._parts))

    def _informs(self, block: Block) -> bool:
        """Return whether a block without a known role is evidence, judging by its content.

        Code is not evidence, and neither is a block in a section of instructions.
        """
        if block.is_code or self._role is PartRole.INSTRUCT:
            return False
        text = self._text[block.inner : block.inner_end]
        if structure.is_data(text):
            return True
        return not structure.is_code(text) and wording.informs_as_block(text)

    # Methods that read labels of sections.

    def _label(self, start: int, line_end: int) -> PromptLabel | None:
        """Return the label at the start of a line; ``None`` if the line begins no section."""
        text, role = self._text, self._role
        label = labels.label_at(text, start, line_end, self._names)
        if label is None and self._is_in_capitals and labels.is_in_capitals(text[start:line_end]):
            label = PromptLabel(start, line_end, PartRole.OPEN, "", is_heading=True)
        if label is None:
            return None
        if role is PartRole.INFORM:
            if label.role is PartRole.INFORM:
                is_given = self._is_pending or not label.is_heading
                return label if self._is_announced and is_given else None
            pair = self._pairs.at(label.start)
            if label.role is PartRole.OPEN or (pair is not None and not pair.has_context):
                return None  # a heading of the evidence, or a question that the evidence answers
            if label.is_heading and label.name.lower() == "history":
                return None  # a heading about the history of the evidence's subject
            is_told = label.is_heading and wording.concerns_the_task(label.name)
            is_next = 0 < labels.level_of(text, label) <= self._level or label.is_last(text)
            return label if is_told or is_next or self._names.ends_evidence(label.name) else None
        if role is PartRole.EXAMPLE and start < self._pairs.end:
            return None
        is_turn = label.role in (PartRole.ANSWER, PartRole.OPEN) or label.name.lower() in _SPEAKERS
        return None if role is PartRole.HISTORY and is_turn else label

    def _follow(self, label: PromptLabel) -> None:
        is_line = not label.is_heading and label.role in (PartRole.INSTRUCT, PartRole.ANSWER)
        is_once = is_line or label.role is PartRole.ASK
        is_announced = label.is_heading and self._names.announced_role(label.name) is label.role
        self._enter(
            label.role,
            is_announced=is_announced and label.role is not PartRole.INFORM,
            is_once=is_once,
            is_structured=True,
        )
        self._level = labels.level_of(self._text, label)
        self._is_in_capitals = self._is_in_capitals or (label.is_heading and label.name.isupper())
        if not label.is_heading:
            return
        if label.role is not PartRole.INFORM and wording.concerns_the_task(label.name):
            self._add(Wording.INSTRUCTS, label.start, label.value)
        elif "?" in label.name:
            self._add(Wording.ASKS, label.start, label.value)

    def _read_inline(self, start: int, line_end: int) -> bool:
        """Begin sections at labels in a line, as in "Be brief. Context: ...".

        Return whether a section began.
        """
        found = False
        if self._role is PartRole.EXAMPLE and start < self._pairs.end:
            return found
        for label in labels.inline_labels(self._text, start, line_end, self._names):
            if self._role is PartRole.INFORM and not self._names.ends_evidence(label.name):
                continue
            if label.start > start or label.role is PartRole.INFORM:
                self._flush(label.start)
                self._follow(label)
                self._paragraph = label.value
                found = True
        return found

    # Methods that read a paragraph.

    def _flush(self, end: int) -> None:
        """Read the paragraph that ends at ``end``, if one has begun."""
        start, self._paragraph = self._paragraph, None
        if start is None or not self._text[start:end].strip():
            return
        role = self._role
        if role is PartRole.INFORM:
            self._read_evidence(start, end)
        elif role is PartRole.OPEN:
            self._read_by_wording(start, end)
        else:
            self._add(Wording.ASKS if role is PartRole.ASK else Wording.INSTRUCTS, start, end)
            announces = role is PartRole.INSTRUCT and self._announce(start, end)
            if not announces and (self._is_once or role in (PartRole.ASK, PartRole.ANSWER)):
                self._enter(PartRole.OPEN)

    def _announce(self, start: int, end: int) -> bool:
        """Enter the section of evidence or examples that a paragraph announces, if any.

        Return whether the paragraph announces such a section.
        """
        for first, last in reversed(wording.sentences_of(self._text[start:end])):
            role = self._names.announced_role(self._text[start + first : start + last])
            if role in (PartRole.INFORM, PartRole.EXAMPLE):
                self._enter(role, is_announced=True, is_once=role is PartRole.EXAMPLE)
                return True
        return False

    def _read_evidence(self, start: int, end: int) -> None:
        """Read a paragraph in a section of evidence.

        Sentences that speak to the model about its task are not evidence.
        """
        text = self._text[start:end]
        ranges = [(start + first, start + last) for first, last in wording.sentences_of(text)]
        of_task = [False] * len(ranges)
        if wording.concerns_the_task(text):
            of_task = [wording.concerns_the_task(self._text[first:last]) for first, last in ranges]
        if self._is_announced and self._is_pending and of_task[0]:
            self._add(Wording.INSTRUCTS, start, end)
            return
        is_introduced = of_task[0] and text.lstrip().lower().startswith("you are ")
        is_short = paragraph.may_be_aside(text, len(ranges)) and not is_introduced
        if is_short and paragraph.states_nothing(self._text, ranges, is_user=self._is_user):
            self._asides.append(len(self._parts))
            self._add(Wording.INFORMS, start, end, is_marked=True)
            return
        if of_task[-1] or is_introduced or sum(of_task) * 2 > len(of_task):
            # The evidence ends in this paragraph, at the first sentence about the model's task.
            first_of_task = of_task.index(True)
            if first_of_task:
                self._add(Wording.INFORMS, start, ranges[first_of_task][0], is_marked=True)
            self._add(Wording.INSTRUCTS, ranges[first_of_task][0], end)
            if not self._announce(ranges[first_of_task][0], end):
                self._enter(PartRole.OPEN)
            return
        may_be_orders = self._is_announced and len(ranges) > 1
        if may_be_orders and paragraph.states_nothing(self._text, ranges, is_user=self._is_user):
            self._add(Wording.INSTRUCTS, start, end)
            return
        n_told = wording.n_before_question(self._text, ranges)
        for does, first, last in paragraph.evidence_runs(start, ranges[:n_told], of_task):
            self._add(does, first, last, is_marked=does is Wording.INFORMS)
        if n_told < len(ranges):
            # A question at the end of the paragraph belongs to the evidence if more evidence
            # follows. Otherwise it is the user's question about the evidence.
            self._asides.append(len(self._parts))
            self._add(Wording.INFORMS, ranges[n_told][0], end, is_marked=True)
        self._is_pending = False

    def _leave_asides(self) -> None:
        second_pass.settle_asides(
            self._parts, self._asides, self._section_start, first=not self._had_evidence
        )
        self._asides = []

    def _read_by_wording(self, start: int, end: int) -> None:
        text = self._text[start:end]
        is_mail = structure.is_head_of_mail(text) or self._is_letter(start, text)
        if is_mail:
            self._enter(PartRole.INFORM, is_structured=True)
        if is_mail or structure.is_data(text):
            self._add(Wording.INFORMS, start, end, is_marked=True)
            return
        is_bare = (
            self._is_user and not self._is_structured and len(text) <= paragraph.MAX_ASIDE_CHARS
        )
        is_claim = is_bare and wording.is_judged(text, self._text[end : end + labels.JUDGED_CHARS])
        wordings, announced = paragraph.wordings_of(
            text, self._names, is_user=self._is_user, is_claim=is_claim
        )
        words = text.lower().split()
        is_apart = self._is_structured or (self._is_user and not wording.speaks_of_us(words))
        wanted = paragraph.wanted_words(
            text, is_user=self._is_user, is_structured=self._is_structured
        )
        is_fact = len(words) >= wanted and wording.states_something(words)
        is_marked = is_apart and is_fact and all(each[2] is Wording.INFORMS for each in wordings)
        for does, run in groupby(wordings, key=itemgetter(2)):
            ranges = list(run)
            self._add(does, start + ranges[0][0], start + ranges[-1][1], is_marked=is_marked)
        if announced is not None and announced is not PartRole.HISTORY:
            self._enter(announced, is_announced=True, is_once=announced is not PartRole.INFORM)

    def _is_letter(self, start: int, text: str) -> bool:
        """Return whether a paragraph begins a letter: a user's salutation after other text.

        No letter begins if the text before the salutation asks for work, such as "Improve this:".
        """
        before = self._text[self._parts[-1].start : start] if self._parts else ""
        is_letter = self._is_user and bool(before) and structure.is_salutation(text)
        return is_letter and not wording.asks_for_work(before)

    # Helpers that make parts.

    def _add(
        self, does: Wording, start: int, end: int, *, is_marked: bool = False, attributes: str = ""
    ) -> None:
        inside = self._text[start:end]
        if text := inside.strip():
            if does is Wording.INFORMS and wording.is_form(text):
                does, is_marked = Wording.INSTRUCTS, False
            start += len(inside) - len(inside.lstrip())
            end = start + len(text)
            self._has_evidence = self._has_evidence or does is Wording.INFORMS
            self._parts.append(
                PromptPart(
                    does=does, start=start, end=end, is_marked=is_marked, attributes=attributes
                )
            )
