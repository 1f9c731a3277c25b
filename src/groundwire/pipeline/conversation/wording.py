"""Tells whether a sentence of a prompt asks, instructs or informs, by its wording alone."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import re2

from groundwire.pipeline.conversation.roles import listed
from groundwire.text.word_lists import read_lists

_PHRASES = {
    name: re2.compile(f"(?i){'|'.join(map(str.strip, phrases.splitlines()))}")
    for name, phrases in read_lists(Path(__file__).with_name("phrases.txt")).items()
}
_ENDS_QUOTING = re2.compile(
    r"(?:[:：]|\b(?:said|says|wrote|writes|texted|replied|answered|reads|states|told me))"
    r"[ \t,]*[\"“„«][^\"”“»]{20,}[\"”“»][\s.!]*$"
)
#: Matches a short sentence that says only how to answer: "Just the number, no explanation."
_ON_THE_FORM = re2.compile(
    r"(?i)\W*(?:(?:just|only) (?:the|a|one) \w+(?: \w+)?"
    r"(?:,? (?:no|without|please|nothing)\b.{0,40})?"
    r"|no (?:explanations?|preambles?|prose|markdown|other text)\b.{0,30}"
    r"|(?:bullet points?|one (?:word|sentence|line|paragraph)|yes or no|plain text|json)"
    r"(?:,? (?:only|please))+)\W*"
)
_WORD = re.compile(r"\w[\w'’-]*")
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+|[。！？][”’」』）]*\s*|\n[ \t]*")
#: Matches the place in a sentence at which it begins to ask, as after the comma in "It opens at 9,
#: when does it close?".
_ASKING_CLAUSE = re.compile(
    r"(?i)(?:[,;–—-]+|\n)\s+(?=(?:(?:and|so|then|but)\s)?"
    r"(?:(?:who|what|when|where|why|which|whose|how|is|are|does|did|can)\b[^.!?\n]*\?\W*$"
    r"|(?:who|what|when|where|why|which|how)(?: \w+)? (?:is|are|was|were|do|does|did|can)\b"
    r"[^.!?,\n]*$|tell me\b))"
)
#: ``_MAX_CLAUSES`` limits the characters of a sentence that is divided at a question, of a text
#: that may be a form, and of the beginning of a sentence in which an order is looked for. Only a
#: line or sentence of at least ``_MIN_WRAPPED`` characters may be continued by the next line.
_MAX_CLAUSES, _MIN_WRAPPED = 400, 50
_MOST_FORM_WORDS = 12
#: Matches a placeholder in a form: ``<source>``, ``${index}``, ``{{name}}``, [1].
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ,-]*>|\$?\{+[A-Za-z][\w ]*\}+|\[\d*\]")
#: Words that may precede the verb of an order, in questions and wishes: "could you", "I want to".
_ASKING_FOR = frozenset({"can", "could", "would", "you", "i", "want", "need", "to", "me", "help"})
#: Matches the choices of a question at the end of a text: "A. basalt" and "B) granite", each on its
#: own line, after "Which rock is it?".
_CHOICES = re.compile(r"[?？]\s*(?:\n\s*\(?(?:[A-Ha-h]|\d)[.)][^\n]*){2,}\s*\Z")
_LEADING = " \t\r\n-*•>#+\"'“(["
#: Matches the end of a passage's title, which may be a question: "Document [1](Title: Who won?".
_TITLE = re.compile(r"\(title:[^()]*$", re.IGNORECASE)


class Wording(StrEnum):
    """The things that a sentence of a prompt can do: ask, instruct the model, or inform it."""

    ASKS = "asks"
    INSTRUCTS = "instructs"
    INFORMS = "informs"


def concerns_the_task(text: str) -> bool:
    """Return whether a text speaks to a model about its task.

    An example is "Answer from the context above".
    """
    if not text.isascii() and any(map(text.__contains__, listed("task without spaces"))):
        return True
    return not listed("task").isdisjoint(_words(text)) and _PHRASES["task"].search(text) is not None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _said(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each sentence of a text that has words, and its words in lower case."""
    for start, end in sentences_of(text):
        if words := _words(text[start:end]):
            yield text[start:end], words


def points_back(text: str) -> bool:
    """Return whether a text refers to evidence before it, as in "given the context above"."""
    return _PHRASES["points back"].search(text) is not None


def is_judged(text: str, following: str) -> bool:
    """Return whether a text has a question such as "Is this true?" in it or right after it."""
    asks = "?" in text or "?" in following
    judges = _PHRASES["judges"]
    return asks and (bool(judges.search(text)) or bool(judges.match(following.lstrip())))


def wording_of(sentence: str, *, is_user: bool) -> Wording | None:
    """Classify a sentence by its wording: it asks, instructs or informs; ``None`` without words.

    Args:
        sentence: One sentence, or one line.
        is_user: Whether a user wrote the sentence. A user's statement with "we" and no figure
            counts as asking. In a system message, a statement with "we" may be a fact about a
            company.
    """
    words = _words(sentence)
    if not words:
        return None
    bare = sentence.strip(_LEADING).rstrip(" \t\r\n\"'”*_)")
    if bare.endswith(("?", "？")) and not _TITLE.search(bare):
        return Wording.ASKS
    may_ask = words[0] in listed("question words") and len(words) < 30
    if may_ask and not bare.endswith((".", ":", "!")):
        return Wording.ASKS
    if words[0] in listed("premises") and bare.endswith(","):
        return Wording.ASKS
    if (
        is_imperative(words)
        or _orders_in_a_clause(sentence, words)
        or not listed("model").isdisjoint(words)
        or any(map(sentence.__contains__, listed("orders without spaces")))
        or (is_user and len(words) <= _MOST_FORM_WORDS and _ON_THE_FORM.fullmatch(sentence.strip()))
        or concerns_the_task(sentence)
    ):
        return Wording.INSTRUCTS
    is_date = words[0] in ("current", "today", "today's")
    if is_date and (":" in sentence or words[1:2] == ["is"]):
        return Wording.INSTRUCTS  # such a line tells the model the date, and is not evidence
    if not listed("I").isdisjoint(words):
        # With a long quote at its end, the sentence informs, since the user quotes somebody else.
        return Wording.INFORMS if is_user and _ENDS_QUOTING.search(sentence) else Wording.ASKS
    if is_user and speaks_of_us(words) and not has_figure(words):
        return Wording.ASKS
    return Wording.INFORMS


def has_figure(words: list[str]) -> bool:
    """Return whether any word begins with a digit, except the numbers of lists, such as ``2.``."""
    return any(word[0].isdigit() and (len(word) > 3 or word[-1] not in ".)") for word in words)


def _orders_in_a_clause(sentence: str, words: list[str]) -> bool:
    """Return whether an order follows a condition, as in "When asked, say that it is new"."""
    if words[0] not in listed("before clauses") or "," not in sentence:
        return False
    clauses = (_words(clause) for clause in sentence[:_MAX_CLAUSES].split(",")[1:])
    return any(is_imperative(clause) for clause in clauses if clause)


def speaks_of_us(words: list[str]) -> bool:
    """Return whether words, in lower case, include "we", "our" or the like."""
    return not listed("we").isdisjoint(words)


def is_form(text: str) -> bool:
    """Return whether a short text is only a form: placeholders, and a few words beside them."""
    if len(text) > _MAX_CLAUSES or "</" in text or ("{" not in text and "<" not in text):
        return False
    rest, n = _PLACEHOLDER.subn(" ", text)
    words = _words(rest)
    return n > 0 and len(words) <= 3 * n and not states_something(words)


def instructs_the_model(text: str) -> bool:
    """Return whether more than half of a text's sentences speak to a model about its task."""
    sentences = [text[start:end] for start, end in sentences_of(text)]
    said = [each for each in sentences if any(map(str.isalnum, each))]
    return sum(map(concerns_the_task, said)) * 2 > len(said)


def goes_on(sentence: str) -> bool:
    """Return whether a sentence continues the one before it, as does "She is 300 years old"."""
    return not listed("go on").isdisjoint(sentence.lower().split(maxsplit=1)[:1])


def is_imperative(words: list[str]) -> bool:
    """Return whether words, in lower case, begin with an order."""
    while len(words) > 1 and words[0] in listed("before orders"):
        words = words[1:]
    first = words[0]
    if first in listed("also nouns"):
        return len(words) > 1 and words[1] in listed("behind verbs")
    return first in listed("orders") or (first == "if" and len(words) > 1 and words[1] == "you")


def informs_as_block(text: str) -> bool:
    """Return whether a block of text informs, judged by its sentences.

    At least a third of them must state something, and at most a third may speak to a model about
    its task. So a manual that also gives orders to its reader can inform.
    """
    n_sentences = n_of_task = n_informing = 0
    for sentence, words in _said(text):
        n_sentences += 1
        if concerns_the_task(sentence):
            n_of_task += 1
        elif not is_imperative(words) and states_something(words) and "?" not in sentence[-4:]:
            n_informing += 1
    return n_informing * 3 >= n_sentences >= n_of_task * 3 and n_informing > 0


def n_informing_words(text: str, *, is_user: bool, up_to: int) -> int:
    """Count the words of sentences that state something, until there are ``up_to`` or more."""
    total = 0
    for sentence, words in _said(text):
        if wording_of(sentence, is_user=is_user) is Wording.INFORMS and states_something(words):
            total += len(words)
        if total >= up_to:
            break
    return total


def states_something(words: list[str]) -> bool:
    """Return whether words, in lower case, include a verb or a figure.

    Verbs are a list of common forms, and words of five or more characters that end with "ed".
    """
    return (
        not listed("verbs").isdisjoint(words)
        or has_figure(words)
        or any(len(word) > 4 and word.endswith("ed") for word in words)
    )


def is_told(text: str) -> bool:
    """Return whether a text gives an order, or speaks to the model about its task."""
    return concerns_the_task(text) or any(
        words[0] not in listed("greetings") and "?" not in sentence and is_imperative(words)
        for sentence, words in _said(text)
    )


def is_attributed(text: str) -> bool:
    """Return whether a text reports what a document says, or ends with a long quote."""
    words = _words(text)
    return bool(_ENDS_QUOTING.search(text)) or any(
        word in listed("says") and before in listed("inform") for before, word in pairwise(words)
    )


def has_choices(text: str) -> bool:
    """Return whether a text ends with a question and the choices that it gives."""
    return _CHOICES.search(text) is not None


def asks_for_work(text: str) -> bool:
    """Return whether a text asks to make or change something other than a report.

    "Fix this" asks for work, but "Write a summary" asks only for a report.
    """
    return any(
        words[0] in listed("work") and listed("reports").isdisjoint(words)
        for _, words in _requests(text)
    )


def asks_for_a_report(text: str) -> bool:
    """Return whether a text asks about pasted material: "Explain this", "Which port is it?"."""
    for sentence, words in _requests(text):
        first, last = words[0], sentence.rstrip()[-1:]
        if first in listed("reporting") or not listed("reports").isdisjoint(words):
            return True
        if first == "how" and len(words) > 1 and words[1] in listed("measures"):
            return True
        if last in "?？" and first in listed("question words") - {"how", "why", "can", "could"}:
            return True
    return False


def _requests(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each sentence, and its lower-case words after a beginning such as "could you"."""
    for sentence, words in _said(text):
        while len(words) > 1 and words[0] in listed("before orders") | _ASKING_FOR:
            words = words[1:]
        yield sentence, words


def n_before_question(text: str, ranges: list[tuple[int, int]]) -> int:
    """Count the sentences of a paragraph that stand before a question at its end.

    The question is the whole last line or, if the paragraph has only one line, its last sentence.
    All sentences are counted if the last one is not a question, or if there is only one. ``ranges``
    has the ranges of the paragraph's sentences in ``text``.
    """
    if len(ranges) < 2 or not text[slice(*ranges[-1])].rstrip().endswith(("?", "？")):
        return len(ranges)
    line_start = text.rfind("\n", ranges[0][0], ranges[-1][1] - 1) + 1
    in_line = sum(start >= line_start for start, _ in ranges)
    return len(ranges) - (in_line if in_line < len(ranges) else 1)


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the ranges of sentences and lines of a text; together they are the whole text.

    A sentence that states something and then asks gives two ranges.
    """
    ranges: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if end < len(text) and not _is_wrapped(text, start, match):
            ranges += [(start, end)] if match[0][0] in ".!" else _clauses(text, start, end)
            start = end
    return [*ranges, *_clauses(text, start, len(text))]


def _is_wrapped(text: str, start: int, end: re.Match[str]) -> bool:
    """Return whether a sentence goes on after a line end.

    It goes on if the line, or the sentence so far, is long, the line does not end with a colon or
    semicolon, and the next line begins with a lower-case letter or a quotation mark.
    """
    if end[0][0] != "\n":
        return False
    start = min(start, text.rfind("\n", 0, end.start()) + 1)
    is_long = end.start() - start >= _MIN_WRAPPED
    follows = text[end.end()]
    return (
        is_long and (follows.islower() or follows in "\"'“") and text[end.start() - 1] not in ":;"
    )


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the range of a sentence; two ranges if the sentence states something and then asks."""
    asking = None
    if end - start < _MAX_CLAUSES and text[start:end].rstrip()[-1:] not in "!:,":
        asking = _ASKING_CLAUSE.search(text[start:end])
    if asking is not None:
        yield start, start + asking.end()
        start += asking.end()
    yield start, end
