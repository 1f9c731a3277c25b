"""Makes right and wrong claims whose words are nearly all words of the sources.

From such claims the reader learns to compare statements, not words. Each function here makes one
kind of claim from a record: a value as the whole answer to a question, a sentence in which two
names are swapped, a sentence with the subject or a number of another sentence, an answer with a
mistake, and a sentence whose evidence is removed. :mod:`groundwire_training.fields` makes claims
about values of records and tables, :mod:`groundwire_training.reworded` claims in other words.
"""

import random
import re
from dataclasses import replace
from itertools import combinations

from groundwire.evaluation.datasets.slots import MarkedAnswer, render_slots
from groundwire.text.segment import segment
from groundwire_training.corrupt import draw_corrupted
from groundwire_training.corrupt.edits import CONTRADICTED, shuffled
from groundwire_training.corrupt.names import may_be_one, name_spans, touches_name
from groundwire_training.fields import other_field
from groundwire_training.reworded import other_end, other_wording
from groundwire_training.sets import LabelledContext, draw, sentences_of
from groundwire_training.withheld import withheld

_SLOT = re.compile(r"\{\{(.*?)\}\}", re.S)
#: The most words of a value that can be a whole answer.
_MAX_WORDS = 4
#: The number of sentences to draw, of which one loses its evidence.
_LEFT_OUT = 4
#: Placeholder for a value, by which the sentence with the value is found.
_MARK = "Xblankx"
_BLANKS = ("what", "which", "___", "[...]")
_FIRST = re.compile(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,2}\b")
# The subject at the start of a sentence, before a verb.
_SUBJECT = re.compile(
    r"(?:The [a-z][\w-]+(?: (?!never|not|[a-z]+ly\b)[a-z][\w-]+)??"
    r"|[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,2})"
    r"(?= (?:is|are|was|were|has|have|had|can|may|must|will|should|does|did|[a-z]+(?:s|ed))\b)"
)
# A number, and what it counts or measures.
_MEASURED = re.compile(r"(?<![\w.,/:-])(\d[\d.,]*(?<![.,]))(?: ?(%|[a-z]{1,12}\b))(?![-/])")
# Words between two names that can be swapped without a change of meaning.
_JOINT = re.compile(
    r"\b(?:and|or|with|versus|vs|between|married|met|resembles?|as well as|alongside|both)\b|[&/]",
    re.I,
)


def short_answer(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Make a question from a sentence with a blank; its answers are values for the blank.

    Args:
        record: A slot-annotated text.
        rng: The only source of randomness.

    Returns:
        A record with the same sources. Its first answer is the right value; the wrong answers are
        the slot's wrong text and a value of the same form from another slot. ``None`` if no slot
        has a short value.
    """
    parts = _SLOT.split(record.slots or "")
    values = {
        i: part.split("||")[:2]
        for i, part in enumerate(parts)
        if i % 2 and all(_is_short(text) for text in part.split("||")[:2])
    }
    if not values:
        return None
    at = rng.choice(sorted(values))
    good, bad = (text.strip() for text in values[at])
    text = "".join(
        _MARK if i == at else part.split("||")[0] if i % 2 else part for i, part in enumerate(parts)
    )
    sentences = (text[piece.start : piece.end] for piece in segment(text))
    sentence = next((each for each in sentences if _MARK in each), None)
    if sentence is None:
        return None
    question = sentence.replace(_MARK, rng.choice(_BLANKS)).strip(" .!*-#\n") + "?"
    others = [
        value
        for i, (value, _) in sorted(values.items())
        if i != at and _form(value) == _form(good) and not may_be_one(value, good)
    ]
    wrong = [bad, *rng.sample(others, min(1, len(others)))]
    if rng.random() < 0.5:
        good, wrong = f"{good}.", [f"{value}." for value in wrong]
    answers = [MarkedAnswer(good, ())]
    answers += [MarkedAnswer(v, ((0, len(v.rstrip(".")), CONTRADICTED),)) for v in wrong]
    return replace(record, question=question, answers=tuple(answers), slots=None)


def swapped_names(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take a sentence of the faithful answer, and make a wrong version by swapping two names.

    Args:
        record: A slot-annotated text.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and question, whose answers are the sentence and its wrong
        version. ``None`` if no sentence has two names of the sources whose swap changes its
        meaning.
    """
    text = render_slots(record.slots or "", frozenset()).text
    sources = _text_of_sources(record)
    for piece in shuffled(segment(text), rng):
        sentence = text[piece.start : piece.end]
        names = [
            *filter(None, [_FIRST.match(sentence)]),
            *(m for m in name_spans(sentence) if m.start() and not touches_name(m)),
        ]
        # A name counts only if it is within a sentence of the sources. At the start of a sentence,
        # any word has a capital.
        names = [m for m in names if re.search(rf"[a-z,] {re.escape(m[0])}\b", sources)]
        for a, b in shuffled(list(combinations(names, 2)), rng):
            if a.end() >= b.start():
                continue
            between = sentence[a.end() : b.start()]
            if (
                a[0] == b[0]
                or may_be_one(a[0], b[0])
                or not re.search(r"[a-z]{3}", between)
                or _JOINT.search(between)
            ):
                continue
            wrong = sentence[: a.start()] + b[0] + between + a[0] + sentence[b.end() :]
            shift = len(wrong) - len(sentence[b.end() :])
            spans = (
                (a.start(), a.start() + len(b[0]), CONTRADICTED),
                (shift - len(a[0]), shift, CONTRADICTED),
            )
            answers = (MarkedAnswer(sentence, ()), MarkedAnswer(wrong, spans))
            return replace(record, answers=answers, slots=None)
    return None


def other_subject(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take a sentence of a record, and make a wrong version with another sentence's subject.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and question, whose answers are the sentence and its wrong
        version. ``None`` if no two sentences have subjects of the same form.
    """
    sources = _text_of_sources(record)
    found = [
        (match, sentence)
        for sentence in sentences_of(record)
        if (match := _SUBJECT.match(sentence))
        and (match[0].startswith("The ") or re.search(rf"[a-z,] {re.escape(match[0])}\b", sources))
    ]
    for match, sentence in shuffled([f for f in found if _is_usual(f[1])], rng):
        rest = sentence[match.end() :]
        others = sorted(
            {
                other[0]
                for other, _ in found
                if other[0].startswith("The ") == match[0].startswith("The ")
                and not may_be_one(other[0].removeprefix("The "), match[0].removeprefix("The "))
            }
        )
        if others:
            subject = rng.choice(others)
            wrong = MarkedAnswer(subject + rest, ((0, len(subject), CONTRADICTED),))
            return replace(record, answers=(MarkedAnswer(sentence, ()), wrong), slots=None)
    return None


def other_value(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take a sentence of a record, and make a wrong version with another number of the same unit.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and question, whose answers are the sentence and its wrong
        version. ``None`` if no sentence has a number whose unit has other numbers in the sources.
    """
    sources = _text_of_sources(record)
    known: dict[str, set[str]] = {}
    for match in _MEASURED.finditer(sources):
        known.setdefault(_unit(match), set()).add(match[1])
    for sentence in shuffled(list(filter(_is_usual, sentences_of(record))), rng):
        for match in shuffled(list(_MEASURED.finditer(sentence)), rng):
            here = {each[1] for each in _MEASURED.finditer(sentence)}
            others = sorted(known.get(_unit(match), set()) - here)
            if match[1] in known.get(_unit(match), ()) and others:
                start, value = match.start(1), rng.choice(others)
                wrong = sentence[:start] + value + sentence[match.end(1) :]
                span = (start, start + len(value), CONTRADICTED)
                answers = (MarkedAnswer(sentence, ()), MarkedAnswer(wrong, (span,)))
                return replace(record, answers=answers, slots=None)
    return None


def mistaken(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take the faithful answer, and make wrong versions of it by program.

    Args:
        record: A slot-annotated text.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and question, whose answers are the faithful one and up to
        two wrong versions. ``None`` if no mistake can be made.
    """
    whole = draw(record, 1, rng)
    wrong = draw_corrupted(whole, 2, rng, ())
    return replace(whole, answers=(*whole.answers, *wrong), slots=None) if wrong else None


def left_out(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take some sentences of the sources, and remove the evidence of one of them.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        A record with the remaining sources, whose answers are the sentences; the one without
        evidence is marked unsupported. ``None`` if every sentence has its evidence in too many
        places.
    """
    usual = list(filter(_is_usual, sentences_of(replace(record, slots=None))))
    some = rng.sample(usual, min(_LEFT_OUT, len(usual)))
    answers = tuple(MarkedAnswer(sentence, ()) for sentence in some)
    return withheld(replace(record, question=None, answers=answers, slots=None), rng)


def _unit(match: re.Match[str]) -> str:
    return str(match[2] or "").lower()


#: The functions for all kinds of claims, in the order in which training draws them.
BOUND = (
    other_subject,
    short_answer,
    swapped_names,
    other_value,
    mistaken,
    other_field,
    other_wording,
    other_end,
    left_out,
)
#: The functions that need no slot-annotated answer, and so can use any text as a source.
OF_SOURCES = frozenset(
    {other_subject, other_value, other_field, other_wording, other_end, left_out}
)


def _text_of_sources(record: LabelledContext) -> str:
    return "\n".join(source.text for source in record.sources)


def _is_usual(sentence: str) -> bool:
    """Return whether a sentence has a usual number of words: 4 to 40."""
    return 4 <= len(sentence.split()) <= 40


def _is_short(text: str) -> bool:
    return 0 < len(text.split()) <= _MAX_WORDS and not re.search(r"[*|#\n]", text)


def _form(value: str) -> str:
    return re.sub(r"[a-z]+", "a", re.sub(r"[\d.,:]+", "1", value.strip()))[:1]
