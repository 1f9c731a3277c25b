"""Mistakes in names: a name becomes another of the same kind."""

import random
import re

from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.names import (
    begins_sentence,
    may_be_one,
    name_spans,
    names_of,
    touches_name,
)
from groundwire_training.corrupt.wording import sentence_at


def entity(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that replace a name by another of the same kind.

    The other name comes from the sources or from other records.
    """
    # Sources with data are not used: their names are values of fields, and the value of another
    # field would not fit.
    own = {} if grounds.has_data else grounds.names
    foreign = _foreign_names(grounds, rng) if not own or rng.random() < 0.5 else {}
    candidates = sorted((foreign or own).items())
    spans = list(name_spans(text))
    for match in shuffled(spans, rng):
        name, kind = match[0], grounds.names.get(match[0])
        if kind is None or touches_name(match) or _may_be_word(match, kind):
            continue
        sentence = sentence_at(text, match.start())
        named = {name, *(span[0] for span in spans if span[0] in sentence)}
        for other, its_kind in shuffled(candidates, rng):
            if (
                its_kind == kind
                and (" " in other) == (" " in name)
                and not any(may_be_one(other, one) for one in named)
                and not _may_be_said_of(other, name, sentence, grounds)
            ):
                yield (Edit(*match.span(), other),)
                break


def _may_be_word(match: re.Match[str], kind: str) -> bool:
    """Return whether a capitalised match may be an ordinary word instead of a name.

    That is so for a single word of unknown kind, or at the start of a sentence. A person's name is
    never taken for an ordinary word.
    """
    if " " in match[0] or kind == "person":
        return False
    return not kind or begins_sentence(match.string, match.start())


def _may_be_said_of(other: str, name: str, sentence: str, grounds: Grounds) -> bool:
    """Return whether a sentence about a name may also be true of another name of the sources."""
    if other not in grounds.names:
        return False
    one, two = re.escape(name), re.escape(other)
    is_joined = re.search(rf"{one}.{{0,25}}{two}|{two}.{{0,25}}{one}", grounds.text)
    return bool(is_joined) or grounds.tells(other, sentence.replace(name, " "), share=0.4)


def _foreign_names(grounds: Grounds, rng: random.Random) -> dict[str, str]:
    """Find names of known kinds in a few other records; no word of them is in the sources."""
    found: dict[str, str] = {}
    for stranger in rng.sample(grounds.strangers, min(4, len(grounds.strangers))):
        text = "\n".join(source.text for source in stranger.sources)[:4000]
        found |= {
            name: kind
            for name, kind in names_of(text).items()
            # A single capitalised word counts only if it occurs twice: it may be from a heading.
            if kind
            and (" " in name or text.count(name) > 1)
            and not any(word in grounds.words for word in name.lower().split())
        }
    return found
