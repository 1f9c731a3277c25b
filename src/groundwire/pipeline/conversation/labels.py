"""Finds headings and labels in a prompt: ``Context:``, ``## Rules``, ``[[ ## question ## ]]``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.roles import Names, PartRole, end_of_line, words_of
from groundwire.pipeline.conversation.wording import is_judged

_DECORATION = " \t\r#*_=-~|[]{}()<>`:.•«»%@+【】"
_NUMBERING = " \t\r#*_[]{}<>-•0123456789.)("
_MAX_NAME = 64
_VISIBLE = re.compile(r"\S")
#: Matches words in parentheses after a name, as in "Sources (do not mention them):".
_ASIDE = re.compile(r"\([^()]*\)")
_MAX_WORDS = 10
#: A question such as "Is that true?" is looked for in this many characters after a line or
#: paragraph. The question makes the line or paragraph a claim to judge, not evidence.
JUDGED_CHARS = 40
_CLAIM_CHARS = 400


@dataclass(frozen=True, slots=True)
class PromptLabel:
    """A heading or a label in a prompt.

    Attributes:
        start: Offset of the label.
        value: Offset of the text after the label.
        role: The role that the label gives to the text after it.
        name: The words of the label.
        is_heading: Whether the label stands alone on its line, as a heading does.
    """

    start: int
    value: int
    role: PartRole
    name: str
    is_heading: bool

    def is_last(self, text: str) -> bool:
        """Return whether no text follows the label, as after "Answer:" at the end of a prompt."""
        return _VISIBLE.search(text, self.value) is None


def label_at(text: str, start: int, end: int, names: Names) -> PromptLabel | None:
    """Return the heading or label with which a line begins; ``None`` if there is none.

    ``start`` is the offset of the line after its indentation. ``end`` is the end of the line.
    """
    line = text[start : min(end, start + 200)].rstrip()
    if not line:
        return None
    if is_heading(line, names):
        name = line.strip(_DECORATION)
        role = names.role_of(name)
        if role is None or not names.is_plain(name):
            # Most headings begin a part of unknown role. Exceptions are headings of examples, and
            # headings that tell a role and have only words that are typical of names.
            role = role if role is PartRole.EXAMPLE else PartRole.OPEN
        return PromptLabel(start, end, role, name, is_heading=True)
    marks = (line.find(mark, 0, _MAX_NAME) for mark in (":", "：", "="))
    colon = min((at for at in marks if at > 0), default=-1)
    if colon > 0:
        name = _ASIDE.sub("", line[:colon]).strip(_NUMBERING)
        is_alone = not line[colon + 1 :].strip(" *_")
        role = names.announced_role(f"{name}:", points=True) or names.role_of(name)
        if name and role is not None and names.is_plain(name) and ". " not in name:
            value = start + colon + 1
            while value < end and text[value] in "*_ \t":
                value += 1
            return PromptLabel(start, value, role, name, is_heading=is_alone)
    if line.endswith((":", "：")) and len(line) < 200 and end - start <= 200:
        role = names.announced_role(line)
        if role is not None:
            return PromptLabel(start, end, role, line, is_heading=True)
    return None


def is_labelled(text: str, names: Names) -> bool:
    """Return whether a text begins with a label of a known role other than evidence."""
    start = len(text) - len(text.lstrip())
    label = label_at(text, start, end_of_line(text, start), names)
    return label is not None and label.role not in (PartRole.INFORM, PartRole.OPEN)


def level_of(text: str, label: PromptLabel) -> int:
    """Return the level of a Markdown heading, such as 2 for ``## Rules``; 0 for other labels."""
    line = text[label.start : label.value]
    return len(line) - len(line.lstrip("#"))


def introduction_before(text: str, label: int) -> int:
    """Return the start of a label, or of the line before it if that line ends with a colon.

    ``label`` is the start of the label.
    """
    line_start = text.rfind("\n", 0, max(0, label - 1)) + 1
    return line_start if text[line_start:label].rstrip().endswith((":", "：")) else label


def is_heading(line: str, names: Names) -> bool:
    """Return whether a line is a heading, such as ``## Context``, ``[Context]`` or ``CONTEXT``."""
    if len(line) > 100:
        return False
    bare = line.strip(_DECORATION)
    is_framed = line[0] in "#*_[{<=~%@+【" or line.startswith("---")
    if not bare or not (is_framed or bare.isupper()) or len(words_of(bare)) > _MAX_WORDS:
        return False
    if line[0] == "#":
        return True
    if is_framed and line[-1] in "*_]}>=~-:%@+】" and not any(mark in bare for mark in ".!?,;:"):
        return True
    is_bare_name = bare.isupper() and not any(map(str.isdigit, bare)) and len(bare) > 1
    return is_bare_name and len(words_of(bare)) <= 4 and names.role_of(bare) is not None


def is_in_capitals(line: str) -> bool:
    """Return whether a line is a few words in capital letters, as some headings are."""
    bare = line.strip(_DECORATION)
    has_figure = any(map(str.isdigit, bare))
    return bare.isupper() and len(bare) > 3 and not has_figure and len(words_of(bare)) <= 4


def inline_labels(text: str, start: int, end: int, names: Names) -> Iterator[PromptLabel]:
    """Yield the labels within a line: names of parts, at the start of a clause, before a colon.

    A colon after words that announce evidence, as in "the notes below:", is also a label of
    evidence.
    """
    colon = text.find(":", start, end)
    while colon >= 0:
        if colon + 1 < end and text[colon + 1].isspace():
            clause = _clause_before(text, start, colon)
            name = text[clause:colon].strip(" \t\r\n*_#")
            if name and names.is_plain(name) and (role := names.role_of(name)) is not None:
                yield PromptLabel(clause, colon + 1, role, name, is_heading=False)
            elif (
                name
                and names.announced_role(f"{name}:", points=True) is PartRole.INFORM
                # In "I read this: ... Is it true?" the text is a claim to judge, not evidence.
                and not is_judged(
                    text[colon : min(end, colon + _CLAIM_CHARS)], text[end : end + JUDGED_CHARS]
                )
            ):
                yield PromptLabel(colon, colon + 1, PartRole.INFORM, name, is_heading=False)
        colon = text.find(":", colon + 1, end)


def _clause_before(text: str, start: int, colon: int) -> int:
    """Return the start of the clause before a colon; at most 64 characters are searched."""
    first = max(start, colon - _MAX_NAME)
    window = text[first:colon]
    return first + max(window.rfind(mark) for mark in ".!?,>\n") + 1


def is_filled(text: str, label: PromptLabel, names: Names) -> bool:
    """Return whether a label has text on its line, or on the next line if no label begins there."""
    line_end = end_of_line(text, label.value)
    if text[label.value : line_end].strip(" \t\r*_"):
        return True
    following = text[line_end + 1 : end_of_line(text, line_end + 1)]
    start = line_end + 1 + len(following) - len(following.lstrip())
    is_label = label_at(text, start, line_end + 1 + len(following), names) is not None
    return bool(following.strip()) and not is_label
