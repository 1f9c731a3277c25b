"""Mistakes of negation: a "not" is inserted or removed."""

import random
import re

from groundwire.text.vocabulary import VERBS
from groundwire_training.corrupt.edits import Edit, Mistakes, shuffled
from groundwire_training.corrupt.grounds import Grounds
from groundwire_training.corrupt.wording import WORD, listed, piece_at

_BASES = dict(VERBS)
_THIRDS = {base: third for third, base in _BASES.items()}
_INSERT = re.compile(
    r"(?<=[\w,)] )(?P<verb>is|are|was|were|can|should|must|will)(?= (?P<next>[a-z]+))"
    rf"|(?<=[\w)] )(?P<third>{'|'.join(_BASES)})(?= (?:a|an|the|its|both|free|[a-z]+s|[a-z]+ing)\b)"
)
_REMOVE = re.compile(
    r"\b(?:(?P<verb>is|are|was|were|could|will|would|should|has|have|had|did|must|can)"
    r"(?: not|n['’]t)|(?P<can>cannot|can['’]t)"
    r"|(?P<does>do|does)(?: not|n['’]t) (?P<base>[a-z]+))\b(?= (?P<next>[a-z]+)|[.,;])"
)
#: Words of sentences that are negated already, or whose meaning with a "not" is unclear.
_UNCLEAR = re.compile(
    r"^(?:Yes|No|What|How|Why|Who|Where|Here|Sure|Note)\b|n['’]t"
    r"|(?i:\b(?:not|no|never|none|neither|nor|nothing|without|cannot|only|hardly|lack\w*|few|"
    r"little|if|unless|whether|when|some|several|all|every|each|both|everyone|most|many|also|too|"
    r"already|still|either|any|until|yet|such as|as well|will be\.)\b)"
)
#: Words that may be ungrammatical once the "not" before them is removed.
_POLAR = re.compile(
    r"\b(?:any|either|until|till|but|yet|ever|or|nor|rather|anymore|instead|as well)\b"
)
_CONDITION = re.compile(r"\b(?:if|unless|when|whether)\b", re.I)
_NOT = re.compile(r"\bnot\b|n['’]t|\bno\b|cannot")
#: Words that may not follow an added or removed "not", which would negate that word alone.
_UNNEGATED = frozenset(
    listed("""
    not no never only just always also still already both either neither often sometimes
    nothing none likely usually generally now then to whether that because how what why where
    when if mainly mostly primarily due about such possible like as there it this he she they
    probably more than necessarily yet merely simply been even much very all limited
    """)
)
_NO_SUBJECT = frozenset(listed("there it what or and"))
_NO_VERB_AFTER = frozenset(listed("the its their and or to of a which special"))


def negation(text: str, grounds: Grounds, rng: random.Random) -> Mistakes:
    """Propose edits that insert or remove a "not"."""
    options = [(match, _negated) for match in _INSERT.finditer(text)]
    options += [(match, _affirmed) for match in _REMOVE.finditer(text)]
    for match, turn in shuffled(options, rng):
        new = turn(match, piece_at(text, match.start()))
        if new:
            yield (Edit(*match.span(), new),)


def _negated(match: re.Match[str], piece: slice) -> str | None:
    if _UNCLEAR.search(match.string[piece]):
        return None
    before = WORD.findall(match.string[piece.start : match.start()].lower())
    last = before[-1] if before else ""
    if match["third"]:
        # After these words, the match is a noun ("special offers") or belongs to another subject.
        is_plural = last.endswith("s") and not last.endswith("ss") and len(before) < 3
        if is_plural or last.endswith("ly") or last in _NO_VERB_AFTER:
            return None
        return f"does not {_BASES[match['third']]}"
    if last in _NO_SUBJECT or _is_unnegated(match["next"]):
        return None
    return "cannot" if match["verb"] == "can" else f"{match['verb']} not"


def _affirmed(match: re.Match[str], piece: slice) -> str | None:
    sentence, rest = match.string[piece], match.string[match.end() : piece.stop]
    if _CONDITION.search(sentence) or _POLAR.search(rest) or len(_NOT.findall(sentence)) > 1:
        return None
    if any(_is_unnegated(word) for word in (match["next"], match["base"]) if word):
        return None
    if match["does"]:
        return match["base"] if match["does"] == "do" else _THIRDS.get(match["base"])
    return "can" if match["can"] else match["verb"]


def _is_unnegated(word: str) -> bool:
    return word in _UNNEGATED or word.endswith("ly")
