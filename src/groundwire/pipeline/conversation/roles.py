"""Finds the role of a part of a prompt by its name in a tag, a heading or a label."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

from groundwire.text.word_lists import read_lists


@cache
def listed(name: str) -> frozenset[str]:
    """Return the words of the list ``name`` in ``words.txt``."""
    return frozenset(_lists()[name].split())


@cache
def _lists() -> dict[str, str]:
    return read_lists(Path(__file__).with_name("words.txt"))


class PartRole(StrEnum):
    """The purposes of the parts of a prompt."""

    INFORM = "inform"  # evidence
    ASK = "ask"
    INSTRUCT = "instruct"
    ANSWER = "answer"
    EXAMPLE = "example"
    HISTORY = "history"  # earlier turns, with the model's own answers
    OPEN = "open"  # any purpose: the wording of the part tells which


#: Roles in order of precedence: if a sentence announces several roles, the first of them is meant.
_BY_RANK = tuple(map(PartRole, ["inform", "example", "instruct", "history", "ask", "open"]))

_PREPOSITIONS = frozenset({"of", "for", "from", "to", "about", "in", "with", "on"})
#: Japanese kana and Chinese characters, which are written without spaces between words.
_UNSPACED = "\u3040-\u30ff\u4e00-\u9fff"
#: Matches a word of a name: Latin letters up to ``ÿ``, unspaced characters, or other letters. A
#: Latin capital next to a small letter begins a new word: ``userID`` is ``user`` and ``ID``,
#: ``HTMLPage`` is ``HTML`` and ``Page``.
_WORD = re.compile(
    rf"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+|[{_UNSPACED}]+|[^\W\d_A-Za-zÀ-ÿ{_UNSPACED}]+"
)
_MAX_NAME_WORDS = 10


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: ``userQuestion`` and ``user_question`` have two.

    Chinese and Japanese have no spaces between words. In these scripts, each word that
    ``words.txt`` lists for names counts as a word, and so does each other character.
    """
    words: list[str] = []
    for word in _WORD.findall(name):
        words += _unspaced_word().findall(word) or [word.lower()]
    return words


@cache
def _unspaced_word() -> re.Pattern[str]:
    is_unspaced = re.compile(f"[{_UNSPACED}]+").fullmatch
    known = filter(is_unspaced, _roles_of_words().keys() | listed("beside names"))
    return re.compile("|".join([*sorted(known, key=len, reverse=True), f"[{_UNSPACED}]"]))


@cache
def _roles_of_words() -> dict[str, PartRole]:
    return {word: role for role in PartRole for word in listed(role)}


def end_of_line(text: str, start: int) -> int:
    """Return the offset of the first line break at or after ``start``, or the end of the text."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


class Names:
    """Tells the role of a part of a prompt by its name: one in ``words.txt``, or an added one."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Add names of evidence as they stand in prompts, such as ``<kb_hit>`` or ``Vorgang:``."""
        own = {tuple(words_of(name)) for name in names} - {()}
        #: The added names of several words, longest first. In a name, each counts as one word.
        self._phrases = sorted((each for each in own if len(each) > 1), key=len, reverse=True)
        self._roles = _roles_of_words() | {" ".join(each): PartRole.INFORM for each in own}

    def _words(self, name: str) -> list[str]:
        words = words_of(name)
        for phrase in self._phrases:
            n = len(phrase)
            for i in range(len(words) - n, -1, -1):
                if tuple(words[i : i + n]) == phrase:
                    words[i : i + n] = [" ".join(phrase)]
        return words

    def role_of(self, name: str) -> PartRole | None:
        """Return the role of a part with this name; ``None`` if the name tells no role.

        A name of more than ten words tells no role.
        """
        words = self._words(name)
        if not words or len(words) > _MAX_NAME_WORDS:
            return None
        known = self._roles
        roles = [known[word] for word in words if word in known]
        for first in (PartRole.EXAMPLE, PartRole.HISTORY):
            if first in roles:
                return first
        # In "Context of the question" the words before "of" tell the role.
        head = next((i for i, word in enumerate(words) if i and word in _PREPOSITIONS), len(words))
        named = [known[word] for word in words[:head] if word in known]
        role = named[-1] if named else next(iter(roles), None)
        is_reply = role is PartRole.ANSWER or words[-1] in ("output", "outputs")
        if is_reply and any(word in ("tool", "function", "search", "api") for word in words):
            return PartRole.INFORM
        return role

    def is_plain(self, name: str) -> bool:
        """Return whether all words of a name are typical of names; other names may be prose."""
        known, beside = self._roles, listed("beside names")
        return all(word in known or word in beside for word in self._words(name))

    def ends_evidence(self, name: str) -> bool:
        """Return whether a label with this name ends a section of evidence that has no end mark."""
        ends = listed("end evidence")
        return self.is_plain(name) and any(word in ends for word in self._words(name))

    def announced_role(self, sentence: str, *, points: bool = False) -> PartRole | None:
        """Return the role that a sentence announces for the text after it, or ``None``.

        For example, "Use the following pieces of context" announces evidence.

        Args:
            sentence: One sentence, or one line.
            points: Whether the sentence needs words such as "following", "says" or "summarize" to
                announce a role. If not, a name and a colon at the end are enough.
        """
        has_colon = sentence.rstrip(" \t\r\n*_").endswith((":", "："))
        lowered = sentence.lower()
        if not has_colon and not any(map(lowered.__contains__, listed("pointers"))):
            return None
        words = sentence.split()
        pointers = [word.strip(".,:;()*_'\"").lower() for word in words]
        is_transformed = not listed("transform").isdisjoint(pointers[:3])
        found: set[PartRole] = set()
        for i, pointer in enumerate(pointers):
            if pointer in listed("down"):
                found.update(self._roles_near(reversed(words[max(0, i - 4) : i]), stops=False))
                found.update(self._roles_near(words[i + 1 : i + 3], stops=True))
            elif pointer in listed("ahead") or (pointer in listed("here") and has_colon):
                is_clause = words[i][-1] not in ",.;"
                named = list(self._roles_near(words[i + 1 : i + 10], stops=True)) * is_clause
                # "Here is what I found:" and "Using this:" name no role, but announce evidence.
                is_from = pointers[i + 1 : i + 2] == ["from"]  # as in "I have this from the label:"
                gives = pointer.startswith("here") or (
                    i == len(words) - 1
                    and not (listed("use") | listed("transform")).isdisjoint(pointers[:3])
                )
                found.update(named or ([PartRole.INFORM] if gives or is_from else []))
            elif any(map(pointer.__contains__, listed("pointers without spaces"))):
                found.update(self._roles_near(words_of(pointer), stops=False))
        # "The handbook says:" announces evidence; "You said:" and "I wrote:" do not.
        says = pointers[-1] in listed("says") and not {"you", "i"}.intersection(pointers)
        # "Extract the following fields:" lists what the answer shall have.
        is_transformed &= listed("parts of an answer").isdisjoint(pointers)
        if not found and has_colon and (is_transformed or says):
            found.add(PartRole.INFORM)
        if not found and has_colon and not points:
            found.update(self._roles_near(reversed(words[-3:]), stops=False))
        if PartRole.HISTORY in found and (is_transformed or self._is_of_something(pointers)):
            return PartRole.INFORM
        return next((role for role in _BY_RANK if role in found), None)

    def _is_of_something(self, words: list[str]) -> bool:
        """Return whether words name a history other than the chat's, such as "order history"."""
        at = words.index("history") if "history" in words else 0
        known = self._roles.keys() | listed("beside names") | listed("here")
        return at > 0 and words[at - 1] not in known

    def _roles_near(self, words: "Iterator[str] | list[str]", *, stops: bool) -> Iterator[PartRole]:
        """Yield the role of the first word that names one, except for the role of an answer.

        With ``stops``, only the words up to the end of the first clause are read.
        """
        for word in words:
            role = self._roles.get(word.strip(".,:;()*_'\"`").lower())
            if role is not None and role is not PartRole.ANSWER:
                yield role
                return
            if stops and word[-1] in ".;:?!":
                return
