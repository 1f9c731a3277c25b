"""Makes claims from sentences of the sources in other words, some right and some wrong.

One kind replaces a word of obligation, frequency, amount or state: by a synonym in a right claim,
and by a word with another meaning in a wrong one. The other kind replaces the end of a sentence,
which states a time, place or condition, by the end of another sentence.
"""

import random
import re
from dataclasses import replace

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt.edits import CONTRADICTED, UNSUPPORTED, shuffled
from groundwire_training.corrupt.wording import WORD, stems
from groundwire_training.sets import LabelledContext, sentences_of

# On each line: words, then replacements with the same meaning, then those with another meaning.
_WORDINGS = """
must: has to, needs to, is required to | may, can, need not, should not, must not
must not: may not, is not allowed to, cannot | may, can, must, need not
may not: must not, is not allowed to, cannot | may, can, must
may only: can only, must only | may always, need not, may also
may: can, is allowed to, is permitted to | must, may not, has to, cannot, may only
can: is able to, may | cannot, must, can no longer, can only rarely
cannot: can not, is unable to | can, may, can also
should: ought to | must not, should not, need not
should not: ought not to | should, must
is required: is mandatory, is needed, is necessary | is optional, is not needed, is recommended
is optional: is not required, is not mandatory | is required, is mandatory
are required: are mandatory, are needed | are optional, are not needed
is not required: is not needed, is optional | is required, is mandatory
is allowed: is permitted | is forbidden, is not permitted, is required
is not allowed: is forbidden, is prohibited | is allowed, is permitted
are allowed: are permitted | are forbidden, are not permitted
is included: is part of it, comes with it | is not included, costs extra, is sold separately
are included: come with it | are not included, cost extra
is enabled: is turned on, is on | is disabled, is turned off
is disabled: is turned off, is off | is enabled, is turned on
is available: is offered, can be had | is unavailable, is not offered, is planned
are available: are offered | are unavailable, are not offered, are planned
by default: unless changed, if nothing else is set | only on request, only if it is set by hand
automatically: by itself, without manual steps | by hand, manually, only on request
manually: by hand | automatically, by itself
free of charge: at no cost, for free | for a fee, at extra cost
for free: at no cost, free of charge | for a fee, at extra cost
always: at all times, in every case | usually, sometimes, never, rarely
never: at no time, in no case | sometimes, often, usually, always
usually: generally, normally, in most cases | always, never, rarely
often: frequently | rarely, never, always
sometimes: occasionally, at times | always, never
rarely: seldom, not often | often, usually, always
daily: every day, each day | weekly, monthly, every hour
weekly: every week, once a week | daily, monthly, every two weeks
monthly: every month, once a month | weekly, yearly, every quarter
annually: every year, once a year, yearly | monthly, every two years, weekly
once: one time, a single time | twice, several times, any number of times
twice: two times | once, three times
at least: no less than, a minimum of | at most, exactly, up to, less than
at most: no more than, a maximum of | at least, more than
up to: at most, no more than | at least, more than, exactly
more than: over, in excess of | less than, fewer than, at most
less than: under, below | more than, over, at least
approximately: about, roughly | exactly, more than
only: solely, exclusively | also, mainly, not only
all: every one of the, each of the | some, most, none of the, many
every: each | some, almost every, not every
most: the majority of, more than half of | all, few, some, a minority of
many: numerous, a lot of | few, all, no
several: a number of, some, multiple | two, no, all
some: a few | all, no, most
both: the two | neither of the, only one of the, either of the
the first: the earliest | the last, the second, one of the first
the largest: the biggest | the smallest, the second largest, one of the largest
the highest: the greatest | the lowest, the second highest
the oldest: the most ancient | the youngest, the newest, one of the oldest
before: prior to | after
after: following | before
increased: rose, went up, grew | decreased, fell, stayed the same
decreased: fell, went down, declined | increased, rose, stayed the same
rose: increased, went up | fell, decreased, remained the same
fell: decreased, dropped | rose, increased
started: began, commenced | ended, finished, stopped
began: started, commenced | ended, finished
ended: finished, came to an end | began, started
opened: was opened | closed, was closed
won: was awarded, gained | lost, was denied, shared
founded: established, set up, started | closed, bought, joined, led
built: constructed, erected | demolished, planned, renovated, bought
acquired: bought, purchased, took over | sold, founded, sued, merged with
bought: purchased, acquired | sold, rented, founded
sold: gave up for money, marketed | bought, kept, gave away
announced: made known, declared | denied, concealed
rejected: turned down, refused, declined | accepted, approved, welcomed
accepted: agreed to, approved | rejected, turned down
approved: authorised, accepted | rejected, refused, postponed
supports: is compatible with, works with | does not support, replaces, requires
requires: needs, calls for | does not need, forbids, recommends
contains: includes, holds, has | lacks, excludes, replaces
includes: contains, comprises | excludes, lacks, does not include
returns: gives back, yields | ignores, discards, requires
stores: keeps, saves | deletes, sends, does not keep
removes: deletes, takes away | adds, keeps, restores
deletes: removes, erases | keeps, creates, archives
encrypted: stored in encrypted form, enciphered | stored in plain text, unencrypted
replaced: took the place of, superseded | kept, preceded, followed
prevents: stops, keeps from happening | causes, allows, helps
allows: permits, lets | forbids, prevents, does not allow
causes: leads to, brings about | prevents, does not cause
reduces: lowers, cuts, decreases | increases, raises, does not change
increases: raises, heightens | reduces, lowers, does not change
is responsible for: is in charge of, takes care of | is not responsible for, refuses
is located in: lies in, is situated in | is far from, has moved away from
is part of: belongs to | is independent of, is not part of
"""


def _read(table: str) -> dict[str, tuple[list[str], list[str]]]:
    found = {}
    for line in table.strip().splitlines():
        words, _, rest = line.partition(": ")
        same, _, other = rest.partition(" | ")
        found[words] = (same.split(", "), other.split(", "))
    return found


_TABLE = _read(_WORDINGS)
_KNOWN = re.compile(rf"\b(?:{'|'.join(sorted(_TABLE, key=len, reverse=True))})\b(?![-’'])")
# Words of sentences that state nothing definite, so a replaced word may not make them wrong.
_UNCLEAR = re.compile(r"\b(?:whether|if|either)\b|\?", re.I)
_AMOUNT = frozenset({"more than", "less than", "up to", "at least", "at most", "around", "about"})
_END = re.compile(
    r"(?<=[a-z\d)]),? (?P<end>(?:in|on|at|for|with|without|by|during|after|before|within|since|"
    r"until|from|under|through|because|when|if|unless|every|each|upon|per|as) [^,.;:()]{3,60})"
    r"(?=[.!]?$)"
)
#: The least and the most words of a sentence, and the most words of its end.
_LEAST, _MOST, _MOST_OF_END = 5, 36, 9


def other_wording(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take a sentence of a record, and make a right and a wrong claim by replacing one word.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and no question. Its answers are the right claim, which may
        be the sentence itself, and the wrong one. ``None`` if no sentence has a word of the table.
    """
    for sentence in shuffled(_usual_sentences(record), rng):
        if _UNCLEAR.search(sentence):
            continue
        for match in shuffled(list(_KNOWN.finditer(sentence)), rng):
            if match[0] in _AMOUNT and not re.match(r" \W?\d", sentence[match.end() :]):
                continue
            same, other = _TABLE[match[0]]
            right = sentence if rng.random() < 0.4 else _put(sentence, match, rng.choice(same))[0]
            wrong, span = _put(sentence, match, rng.choice(other))
            answers = (MarkedAnswer(right, ()), MarkedAnswer(wrong, ((*span, CONTRADICTED),)))
            return replace(record, question=None, answers=answers, slots=None)
    return None


def other_end(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Take a sentence of a record, and make a wrong version with the end of another sentence.

    The end replaces the sentence's own end, or is added if it has none.

    Args:
        record: A record of any set.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and no question, whose answers are the sentence and its wrong
        version. ``None`` if no sentence can get another's end.
    """
    found = _usual_sentences(record)
    ends = [m for m in map(_last_end, found) if m]
    for sentence in shuffled(found, rng):
        own = _last_end(sentence)
        for other in shuffled(ends, rng):
            end = other["end"]
            if other.string == sentence or _is_said(end, sentence, found):
                continue
            if own and own["end"].split()[0] == end.split()[0]:
                wrong = sentence[: own.start("end")] + end + sentence[own.end("end") :]
                span = (own.start("end"), own.start("end") + len(end), CONTRADICTED)
            elif not own:
                body = sentence.rstrip(".!")
                wrong = f"{body} {end}{sentence[len(body) :]}"
                span = (len(body) + 1, len(body) + 1 + len(end), UNSUPPORTED)
            else:
                continue
            answers = (MarkedAnswer(sentence, ()), MarkedAnswer(wrong, (span,)))
            return replace(record, question=None, answers=answers, slots=None)
    return None


def _usual_sentences(record: LabelledContext) -> list[str]:
    return [
        sentence
        for sentence in dict.fromkeys(sentences_of(record))
        if _LEAST <= len(sentence.split()) <= _MOST
        and "\n" not in sentence
        and sentence[0].isupper()
        and sentence[-1] in ".!"
    ]


def _put(sentence: str, match: re.Match[str], words: str) -> tuple[str, tuple[int, int]]:
    start = match.start()
    return sentence[:start] + words + sentence[match.end() :], (start, start + len(words))


def _last_end(sentence: str) -> re.Match[str] | None:
    found = None
    for match in _END.finditer(sentence):
        while (later := _END.search(sentence, match.start("end") + 1)) is not None:
            match = later
        found = match
    return found if found and len(found["end"].split()) <= _MOST_OF_END else None


def _is_said(end: str, sentence: str, all_sentences: list[str]) -> bool:
    """Return whether a similar sentence has all words of an end, so that the end may be true."""
    words = {word for word in WORD.findall(end.lower()) if len(word) > 3 or word.isdigit()}
    own = stems(sentence)
    return not words or any(
        len(own & stems(other)) >= 0.4 * len(own) and words <= set(WORD.findall(other.lower()))
        for other in all_sentences
    )
