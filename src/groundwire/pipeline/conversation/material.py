"""Finds material that users paste without marks: records, configuration, logs, transcripts.

Lines of such material are recognised by their beginning: most begin with a key, a time, the sign of
a quote, or the name of a speaker. Lines of a prompt template may begin with a key too
(``Question: ...``), but most of their keys are names of parts of a prompt.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from groundwire.pipeline.conversation.roles import Names, PartRole, end_of_line, listed

_LINE = re.compile(
    r"^(?P<indent>[ \t]*+)"
    r"(?:(?P<time>[\[(]?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?!\d)|\d{1,2}:\d{2}\b))"
    r"|(?:- +)?+[*_]{0,2}(?P<key>[\w\"'./][\w \"'./()#-]{0,38}?)[*_]{0,2}[ \t]*+:"
    r"(?=[ \t\r*_]|$)[*_]{0,2}(?P<value>[^\n]*)"
    r"|(?P<blank>$)|(?P<item>[-+] )|(?P<number>\d+$)"
    r"|(?P<quote>>[ \t>]*(?:\S+[ \t]+){2}\S|>[ \t]*$))?",
    re.MULTILINE,
)
_MIN_LINES = 3
_MAX_KEY_WORDS = 3
_MAX_KEY = 48
_MIN_PROSE = 3
_MAX_BESIDE = 300


@dataclass(frozen=True, slots=True)
class Material:
    """The range of some pasted lines in a prompt.

    ``is_draft`` is true if the user may want the material changed. It is true for a configuration,
    for example, and false for a log.
    """

    start: int
    end: int
    is_draft: bool


class _Line(NamedTuple):
    start: int
    end: int
    indent: int = 0
    kind: str | None = None  # the name of the last group of ``_LINE`` that matched
    key: str = ""
    value: str = ""


class PastedMaterial:
    """All pasted material of one prompt: records, configurations, logs, quotes and transcripts."""

    def __init__(self, text: str, names: Names) -> None:
        self._text, self._names = text, names
        self._roles: dict[str, PartRole | None] = {}
        found = (each for group in self._groups() for each in self._of_group(group))
        self._found = {each.start: each for each in found}

    def at(self, position: int) -> Material | None:
        """Return the material that begins at a position, the start of a line; else ``None``."""
        return self._found.get(position)

    def _groups(self) -> Iterator[list[_Line]]:
        """Yield groups of successive lines with keys, times or quotes, and their continuations.

        The last group may be empty.
        """
        group: list[_Line] = []
        for line in _lines(self._text):
            is_record = line.kind in ("time", "quote") or bool(line.key)
            goes_on = group and (
                line.kind in ("blank", "number")
                or (group[-1].kind != "blank" and (line.indent or group[-1].kind == "time"))
            )
            if is_record or goes_on:
                group.append(line)
                continue
            if group:
                yield group
                group = []
        yield group

    def _of_group(self, group: list[_Line]) -> Iterator[Material]:
        lines = self._without_ends(group)
        if not lines:
            return
        if _is_timed(lines) or self._is_transcript(lines):
            yield Material(lines[0].start, lines[-1].end, is_draft=False)
            return
        for is_blank, run in groupby(lines, key=lambda line: line.kind == "blank"):
            part = list(run)
            if is_blank:
                continue
            if any(line.kind == "quote" for line in part):
                yield Material(part[0].start, part[-1].end, is_draft=False)
            elif self._is_record(part):
                yield Material(part[0].start, part[-1].end, is_draft=True)

    def _without_ends(self, group: list[_Line]) -> list[_Line]:
        """Return the lines of a group that are material, without the template around them."""
        first = 0
        while first < len(group) and (group[first].kind == "blank" or self._is_above(group, first)):
            first += 1
        seen: set[str] = set()
        last = first  # index after the last line whose key an earlier line has too
        for i, line in enumerate(group):
            last = i + 1 if line.key in seen else last
            seen.update([line.key] if line.key else [])
        while last < len(group) and not self._begins_another_part(group[last]):
            last += 1
        while last > first and group[last - 1].kind == "blank":
            last -= 1
        return group[first:last]

    def _begins_another_part(self, line: _Line) -> bool:
        """Return whether a line labels a part after the material, such as a question or answer."""
        role, said = self._role_of(line.key) if line.key else None, line.value.strip()
        if role is None or line.indent:
            return False
        if role is PartRole.ANSWER and not said:
            return True
        is_prose = len(said.split()) > _MIN_PROSE or said.endswith("?")
        return self._names.ends_evidence(line.key) and (is_prose or not said)

    def _is_above(self, group: list[_Line], i: int) -> bool:
        """Return whether a line is a label of the material below, or a request about it."""
        line = group[i]
        if not line.key or line.indent:
            return False
        said = line.value.strip()
        # "memory: 512Mi" is no label, since so few words follow the key.
        is_label = (not said or len(said.split()) > _MIN_PROSE) and self._names.is_plain(line.key)
        if is_label and self._role_of(line.key) is PartRole.INFORM:
            return True
        if not said and line.key.lower().split()[0] in listed("orders") | listed("transform"):
            return True
        is_last = i + 1 == len(group) or group[i + 1].kind == "blank"
        return is_last and (not said or said.endswith("?"))

    def _role_of(self, key: str) -> PartRole | None:
        if key not in self._roles:
            self._roles[key] = self._names.role_of(key)
        return self._roles[key]

    def _is_transcript(self, lines: Sequence[_Line]) -> bool:
        """Return whether lines are a conversation of several speakers, who speak in turn.

        The result is false if the last line has no words after a name, since the model has to
        complete a line such as "Assistant:".
        """
        turns = [line for line in lines if line.key and not line.indent]
        speakers = {line.key for line in turns}
        is_in_turn = 1 < len(speakers) < len(turns)
        if not is_in_turn or not lines[-1].value.strip():
            return False
        if sum(len(line.value.split()) >= _MIN_PROSE for line in turns) * 2 < len(turns):
            return False
        if all(self._role_of(name) is not None for name in speakers):
            # A chat with a model is evidence only if the user asks for work on it, such as a
            # summary.
            start, end = lines[0].start, lines[-1].end
            beside = self._text[max(0, start - _MAX_BESIDE) : start]
            beside += self._text[end : end + _MAX_BESIDE]
            return not listed("transform").isdisjoint(re.findall(r"\w+", beside.lower()))
        return True

    def _is_record(self, lines: Sequence[_Line]) -> bool:
        keyed = [line for line in lines if line.key]
        if len(lines) < _MIN_LINES or len(keyed) < 2:
            return False
        top = min(line.indent for line in keyed)
        outer = [line.key for line in keyed if line.indent == top]
        return sum(self._role_of(key) is not None for key in outer) * 2 < len(outer)


def _is_timed(lines: Sequence[_Line]) -> bool:
    """Return whether lines are a log, a chat or subtitles.

    They are if at least two lines, and at least a third of the lines that are not blank, begin with
    a time.
    """
    n_timed = sum(line.kind == "time" for line in lines)
    return n_timed > 1 and n_timed * 3 >= sum(line.kind != "blank" for line in lines)


def _lines(text: str) -> Iterator[_Line]:
    if ":" not in text and ">" not in text:
        return
    start = -1
    while (start := start + 1) < len(text):
        end = end_of_line(text, start)
        if text[start].isalpha() and text.find(":", start, min(end, start + _MAX_KEY)) < 0:
            yield _Line(start, end)
            start = end
            continue
        match = _LINE.match(text, start, end)
        assert match is not None, "every line matches"
        key = (match["key"] or "").strip("\"' ")
        if len(key.split()) > _MAX_KEY_WORDS:
            key = ""
        indent, value = len(match["indent"]) + bool(match["item"]), match["value"] or ""
        yield _Line(start, end, indent, match.lastgroup, key, value)
        start = end
