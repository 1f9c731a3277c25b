"""Mistakes of topic: a sentence of another record's answer is inserted after a sentence."""

import random
import re

from groundwire.text.segment import segment
from groundwire_training.corrupt.edits import UNSUPPORTED, Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import stems

# Sentences that refer to the one before them, or to the task.
_DEPENDENT = re.compile(
    r"(?:It|They|This|These|Those|That|He|She|His|Her|Its|Their|However|Overall|Additionally|Yes|"
    r"In addition|Based|Therefore|Also|But|And|So|According|Both|Unfortunately|Sorry|I|"
    r"Here|Note|For example|Another|Sure)\b|[^A-Z]|.*(?:[Pp]assage|provided|[Cc]ontext|[Tt]he text)"
)
_ENDS = re.compile(r"(?<=[a-z)%]\.)(?= [A-Z]|\n|$)")


def foreign(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that insert a sentence about something else."""
    if not grounds.strangers:
        return
    other = rng.choice(rng.choice(grounds.strangers).answers)
    places = [piece.end for piece in segment(text) if _ENDS.match(text, piece.end)]
    sentences = [
        other.text[piece.start : piece.end]
        for piece in segment(other.text)
        if not any(start < piece.end and piece.start < end for start, end, _ in other.spans)
    ]
    for sentence in shuffled(sentences, rng):
        if places and _is_foreign(sentence, grounds):
            place = rng.choice(places)
            yield (Edit(place, place, f" {sentence}", UNSUPPORTED),)


def _is_foreign(sentence: str, grounds: Grounds) -> bool:
    """Return whether a sentence can stand alone, and enough of its words are not in the sources."""
    if not 40 <= len(sentence) <= 260 or sentence[-1] != "." or "\n" in sentence:
        return False
    if _DEPENDENT.match(sentence):
        return False
    known = frozenset(word[:5] for word in grounds.words)
    content = stems(sentence)
    specific = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}|\d+", sentence)
    return any(word.lower() not in grounds.words for word in specific) and (
        len(content - known) >= max(3, 0.4 * len(content))
    )
