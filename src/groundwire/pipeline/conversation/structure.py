"""Finds the blocks of a prompt: between tags, fences, rules, quotes and marks such as [END].

All closing marks except quotes are found in a few passes over the text, before it is divided. So
finding the end of each block takes little time, whatever the prompt contains.
"""

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.roles import Names, PartRole, listed, words_of

_TAG = re.compile(r"<(?P<name>[^\W\d_][\w.:-]{0,60})(?P<attributes>[ \t][^<>\n]*+)?>")
_CLOSING_TAG = re.compile(r"</([^\W\d_][\w.:-]{0,60})[ \t]*+>")
_RULE = re.compile(r"^[ \t]*+((?P<mark>[-=*_#~])(?P=mark){2,}+)[ \t\r]*+$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)([^\n`]*+)$", re.MULTILINE)
_BEGINS = frozenset({"begin", "start"})
_JOINING = frozenset({"of", "the", "block", "section"}) | _BEGINS
_END_LINE = re.compile(
    r"^[ \t]*+[^\w\s<]{0,12}+[ \t]*+"
    r"(?:(?:END|End|end)[ _-](?:(?:OF|of|THE|the)[ _-]){0,2}|/)?+"
    r"(?P<what>[A-Za-z][A-Za-z0-9 _-]{0,30})(?<=\w)[ \t]*+[^\w\s]{0,12}+[ \t\r]*+$",
    re.MULTILINE,
)
_QUOTES = ('"""', "'''")
_MAIL_FIELD = re.compile(
    r"(?i)[ \t>*]*(?:(?P<subject>subject|betreff|objet)"
    r"|from|to|cc|sent|date|von|an|gesendet|datum|de|à|envoyé)\**:\**[ \t]+\S"
)
_SALUTATION = re.compile(
    r"(?i)(?:dear|sehr geehrte[rs]?|liebe[rs]?|estimad[oa]s?|ch(?:er|ère)s?|gentile|egregio"
    r"|prezad[oa]s?)\b[^\n.?!:]{1,60}[,:][ \t\r]*(?:\n|$)"
)
_CODE_LINE = re.compile(
    r"^[ \t]*(?:def |class |import |from \w+ import|return\b|for \(|if \(|while \(|function\b"
    r"|const |let |var |public |private |#include|SELECT |INSERT |@\w+|\}|#!|\$ "
    r"|(?:for|while|if|elif|else|try|with)\b[^.]*:\s*$|[\w.]+\([^ ]*\)\s*$|[\w.]+ = \S|.*[;{]\s*$)"
)


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a prompt between an opening and a closing mark.

    Attributes:
        start: Offset of the opening mark.
        inner: Start of the text between the marks.
        inner_end: End of the text between the marks.
        end: End of the closing mark.
        role: The role that the name of the block tells, or ``None``.
        attributes: The attributes of the opening tag; empty if the marks are not tags.
        is_tag: Whether the marks are tags.
        is_code: Whether the opening fence names a programming language.
    """

    start: int
    inner: int
    inner_end: int
    end: int
    role: PartRole | None = None
    attributes: str = ""
    is_tag: bool = False
    is_code: bool = False


class Structure:
    """Finds the blocks of one prompt, by the position at which each begins."""

    def __init__(self, text: str, names: Names) -> None:
        self._text, self._names = text, names
        self._closings = _by_name((m[1].lower(), m.span()) for m in _CLOSING_TAG.finditer(text))
        # Offsets of the closing tags by the role of their names.
        self._closings_of: dict[PartRole | None, list[int]] = defaultdict(list)
        for name, spans in self._closings.items():
            self._closings_of[names.role_of(name)] += [start for start, _ in spans]
        for starts in self._closings_of.values():
            starts.sort()
        self._rules = _by_name((m[1], m.span()) for m in _RULE.finditer(text))
        fences = (match for match in _FENCE.finditer(text) if not match[2].strip())
        self._fences = _by_name((match[1][0], match.span()) for match in fences)
        self._ends = _by_name(_end_lines(text))

    def tag_at(self, position: int) -> Block | None:
        """Return the block of the tag that begins at a position.

        Return ``None`` if no tag begins there, the tag is not closed, or its block is blank.
        """
        match = _TAG.match(self._text, position)
        if match is None:
            return None
        closing = _next(self._closings.get(match["name"].lower(), []), match.end())
        if closing is None or not self._text[match.end() : closing[0]].strip():
            return None
        return Block(
            match.start(),
            match.end(),
            *closing,
            self._names.role_of(match["name"]),
            match["attributes"] or "",
            is_tag=True,
        )

    def has_roles_within(self, block: Block) -> bool:
        """Return whether tags divide a block of evidence into evidence and other parts.

        Other parts are questions and instructions.
        """
        if block.role is not PartRole.INFORM:
            return False
        n = self._n_closings(block)
        return n[PartRole.INFORM] > 0 and n[PartRole.ASK] + n[PartRole.INSTRUCT] > 0

    def is_markup(self, block: Block) -> bool:
        """Return whether a block is XML data and not parts of a prompt, by the closing tags inside.

        The block is data if it has closing tags inside, the names of at least half of these tags
        have no role, and all other names have the role of evidence or ``PartRole.OPEN``, the role
        for any purpose.
        """
        n_within = self._n_closings(block)
        n_data = n_within[None] + n_within[PartRole.INFORM] + n_within[PartRole.OPEN]
        return 0 < n_data == n_within.total() and n_within[None] * 2 >= n_data

    def _n_closings(self, block: Block) -> Counter[PartRole | None]:
        """Count the closing tags within a block by the role of their names."""
        return Counter(
            {
                role: bisect_left(starts, block.inner_end) - bisect_left(starts, block.inner)
                for role, starts in self._closings_of.items()
            }
        )

    def closing_tag_at(self, position: int) -> int | None:
        """Return the end of the closing tag that begins at a position, or ``None``."""
        match = _CLOSING_TAG.match(self._text, position)
        return None if match is None else match.end()

    def fence_at(self, position: int) -> Block | None:
        """Return the block of fences or triple quotes that begins at a position, or ``None``."""
        text = self._text
        for quotes in _QUOTES:
            if text.startswith(quotes, position):
                end = text.find(quotes, position + 3)
                # All searches together take linear time: a search ends at the next quotes of this
                # kind, and without such quotes there are no further blocks of this kind.
                if end < 0 or not text[position + 3 : end].strip():
                    return None
                return Block(position, position + 3, end, end + 3)
        match = _FENCE.match(text, position)
        if match is None:
            return None
        closing = _next(self._fences.get(match[1][0], []), match.end())
        if closing is None:
            return None
        word = match[2].strip().split(" ")[0].lower()
        role = self._names.role_of(word) if word else None
        return Block(match.start(), match.end(), *closing, role, is_code=word in listed("programs"))

    def rule_at(self, line_start: int) -> tuple[int, Block | None] | None:
        """Return the end of the rule on this line, and the block up to the next equal rule, if any.

        A rule is a line such as ``---``. Return ``None`` if the line is not a rule.
        """
        rule = _RULE.match(self._text, line_start)
        if rule is None:
            return None
        block, closing = None, _next(self._rules[rule[1]], rule.end())
        if closing is not None and self._text[rule.end() : closing[0]].strip():
            block = Block(line_start, rule.end(), *closing)
        return rule.end(), block

    def marked_at(self, line_start: int, line_end: int) -> Block | None:
        """Return the block from a line such as ``[BEGIN CONTEXT]`` to ``[END CONTEXT]``.

        Return ``None`` if no such block begins with the line, or the block's name has no role.
        """
        line = self._text[line_start:line_end]
        if len(line) > 80 or not self._ends:
            return None
        words = words_of(line)
        begins = not _BEGINS.isdisjoint(words)
        name = " ".join(word for word in words if word not in _JOINING)
        if not name or name not in self._ends or not (begins or line.strip()[0] in "[{(<"):
            return None
        if ":" in line.strip()[:-1] or (role := self._names.role_of(name)) is None:
            return None
        closing = _next(self._ends[name], line_end)
        return None if closing is None else Block(line_start, line_end, *closing, role)


def is_head_of_mail(text: str) -> bool:
    """Return whether a text is two or more header fields of an e-mail, with a subject."""
    fields = [_MAIL_FIELD.match(line) for line in text.strip().splitlines()]
    has_subject = any(field and field["subject"] for field in fields)
    return all(fields) and len(fields) > 1 and has_subject


def is_salutation(text: str) -> bool:
    """Return whether a text begins like a letter, with a line such as "Dear Ms Vogt,"."""
    return _SALUTATION.match(text.lstrip()) is not None


def _end_lines(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the name and range of end marks such as ``[END CONTEXT]`` and ``[/CONTEXT]``."""
    if "[/" not in text and "end" not in text.lower():
        return
    for match in _END_LINE.finditer(text):
        words = words_of(match[0])
        if "end" in words or "[/" in match[0]:
            name = " ".join(word for word in words if word not in _JOINING and word != "end")
            yield name, match.span()


def _by_name(found: Iterable[tuple[str, tuple[int, int]]]) -> dict[str, list[tuple[int, int]]]:
    """Group pairs of a name and a range by name; the ranges of a name keep their order."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, span in found:
        spans[name].append(span)
    return spans


def _next(spans: list[tuple[int, int]], position: int) -> tuple[int, int] | None:
    """Return the first range that begins at or after a position, or ``None``."""
    i = bisect_left(spans, (position, 0))
    return spans[i] if i < len(spans) else None


def is_data(text: str) -> bool:
    """Return whether a text is data: a table, JSON or JSON Lines.

    Empty JSON and JSON Schemas do not count.
    """
    bare = text.strip()
    if bare[:1] in "{[" and bare[-1:] in "}]":
        try:
            data = json.loads(bare)
        except (ValueError, RecursionError):
            data = None
        is_schema = isinstance(data, dict) and "type" in data and "properties" in data
        if data:
            return not is_schema
    lines = bare.splitlines()
    if len(lines) < 2:
        return False
    if all(line.startswith("{") and line.endswith("}") for line in lines):
        return all(map(is_data, lines))
    if all(line.count("|") > 1 for line in lines):
        return True
    return any(_is_separated(lines, separator) for separator in "\t,;")


def _is_separated(lines: list[str], separator: str) -> bool:
    """Return whether lines are rows of a table with this separator, as in CSV."""
    n_columns = {line.count(separator) for line in lines}
    is_regular = len(n_columns) == 1 and n_columns != {0}
    if not is_regular or any(line.rstrip()[-1:] in ".!?:," for line in lines):
        return False
    return any(character.isdigit() for line in lines for character in line)


def is_code(text: str) -> bool:
    """Return whether a text is a program: more than a third of its lines look like code."""
    lines = text.splitlines()
    return sum(bool(_CODE_LINE.match(line)) for line in lines) * 3 > len(lines)
