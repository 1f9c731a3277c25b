"""Mistakes of meaning: a word becomes its opposite, or a stronger word than the sources support."""

import random
import re
from typing import NamedTuple

from groundwire.text.vocabulary import OPPOSITES
from groundwire_training.corrupt.edits import CONTRADICTED, UNSUPPORTED, Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import sentence_at, stands


class _Turn(NamedTuple):
    """The replacement of a word, and patterns that the text before and after it must match."""

    other: str
    before: str = ""
    after: str = ""
    label: int = CONTRADICTED


_AMOUNT = r" (?:\$|\d|half|two|three|four|five|six|ten)"
_LEVEL = r" (?:\d|the|\$)"
_OBJECT = r" (?:the|a)\b"
_EVENT = r" (?:the|being|a|he|she|they|it|\d|[a-z]+ing)\b"
_ACTION = r" (?!not|also|be able|well|or|have|only|no|use)[a-z]+"
_CHANGED = r" (?:by|to|from|\d)"
_IS = r"\b(?:is|are|was|were|remains) $"
_SPAN = r"\b(?:years|days|months|weeks|hours|minutes) $"
_CHANGE = r"\b(?:an?|the|to|can|may|will|and) $"
_ACTIVE = r"(?<!has)(?<!have)(?<!had)(?<!was)(?<!were)(?<!is)(?<!been)(?<!of) $"
_TURNS = {
    # Opposites without conditions. For words that are also listed below, the later entry counts.
    **{one: _Turn(other) for one, other in OPPOSITES},
    **{other: _Turn(one) for one, other in OPPOSITES},
    # Amount.
    "some": _Turn("all", r"(?<!of) $", r" (?:of the |people|[a-z]+s\b)"),
    "many": _Turn(
        "most", r"(?<!how)(?<!as)(?<!so)(?<!too)(?<!the) $", r" (?!years|times)[a-z]+s\b"
    ),
    "most": _Turn("all", r"(?<!the)(?<!its)(?<!at) $", r" (?:of the|people|states|users)\b"),
    "up to": _Turn("at least", after=_AMOUNT),
    "at least": _Turn("at most", after=_AMOUNT),
    "more than": _Turn("less than", r"(?<!no)(?<!not) $", _AMOUNT),
    "less than": _Turn("more than", r"(?<!no)(?<!not) $", _AMOUNT),
    "above": _Turn("below", after=_LEVEL),
    "below": _Turn("above", after=_LEVEL),
    "increase": _Turn("decrease", _CHANGE),
    "decrease": _Turn("increase", _CHANGE),
    "rose": _Turn("fell", r"[a-z] $", _CHANGED),
    "fell": _Turn("rose", r"[a-z%] $", rf"{_CHANGED}\b"),
    "longer": _Turn("shorter", r"(?<!no) $"),
    # Time and order.
    "sometimes": _Turn("always"),
    "often": _Turn("always"),
    "usually": _Turn("always"),
    "rarely": _Turn("often"),
    "never": _Turn("often"),
    "first": _Turn(
        "last",
        r"\bthe $",
        r" (?!lady|aid|name|hand|place|of|time|and|half|part|few|amendment)[a-z]+",
    ),
    "last": _Turn(
        "first", r"\bthe $", r" (?!of|few|name|and|several|two|three|decade|year|month|week)[a-z]+"
    ),
    "before": _Turn("after", r"[a-z] $", _EVENT),
    "after": _Turn(
        "before", r"(?<!named)(?<!look)(?<!looks)(?<!looking)(?<!soon)(?<!shortly) $", _EVENT
    ),
    "earlier": _Turn("later", _SPAN),
    "later": _Turn("earlier", _SPAN),
    # Quality.
    "best": _Turn("worst", r"\b(?:the|its) $", r" (?!known)[a-z]+"),
    "strong": _Turn("weak", after=r" (?!coffee|man)"),
    "hot": _Turn("cold", after=r" (?!dog|pot|sauce|chocolate|tub|topic|spot)"),
    "open": _Turn("closed", _IS, r"[ ,.](?!to\b)"),
    "closed": _Turn("open", _IS, r"[ ,.]"),
    "lower": _Turn("higher", after=r" (?!back|case|\d)"),
    # Results.
    "won": _Turn("lost", _ACTIVE, _OBJECT),
    "lost": _Turn("won", _ACTIVE, _OBJECT),
    "supported": _Turn("opposed", r"(?:was|were|is|are|has|have) $"),
    # Certainty. The sources leave the matter open, so a certain statement is only unsupported.
    "may": _Turn("will", r"[a-z] $", _ACTION, UNSUPPORTED),
    "might": _Turn("will", r"[a-z] $", _ACTION, UNSUPPORTED),
    "could": _Turn("will", r"[a-z] $", _ACTION, UNSUPPORTED),
    "likely": _Turn("certain", r"\b(?:is|are) $", r" (?:to|that)\b", UNSUPPORTED),
    "allegedly": _Turn("demonstrably", label=UNSUPPORTED),
}
_WORD = re.compile(
    rf"(?<![\w.`_/-])(?:{'|'.join(sorted(_TURNS, key=len, reverse=True))})\b(?![-’'])"
)
_NOT = re.compile(r"\b(?:not|no|never|neither|nor|without|whether|or)\b|n['’]t", re.I)


def opposite(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that replace a word by its opposite, or by a stronger word.

    A similar sentence of the sources must have the word, and none may have the replacement.
    """
    for match in shuffled(list(_WORD.finditer(text)), rng):
        word, turn = match[0], _TURNS[match[0]]
        if not re.search(turn.before, text[: match.start()][-24:]):
            continue
        if not re.match(turn.after, text[match.end() :][:24]):
            continue
        sentence = sentence_at(text, match.start())
        if (
            # The sources must have the word itself: a paraphrase may have chosen it freely.
            grounds.tells(word, sentence, share=0.3)
            and not grounds.tells(turn.other, sentence, share=0.3)
            and not stands(turn.other, sentence)
            and not _NOT.search(sentence)
        ):
            yield (Edit(*match.span(), turn.other, turn.label),)
