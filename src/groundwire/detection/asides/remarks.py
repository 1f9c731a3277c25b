"""Decides by the form of a text how sure a model must be that the text claims nothing."""

import re

from groundwire.detection.asides.known_words import WORD
from groundwire.detection.asides.shape import MARKS
from groundwire.text.quantities import quantities
from groundwire.text.vocabulary import words

#: Words for the user and the assistant, which are common in remarks.
_TALKERS = words("i i'm i've i'd i'll me my we we're we've us our you your you're let let's")
#: Matches "We", "You can", "You may" or "You could" at the beginning of a text. Such a text is
#: seldom a remark: mostly it is about a company, or says what is possible.
_ABOUT = re.compile(r"\W*(?:we\s|you (?:can|may|could)\b)", re.IGNORECASE)
_CODE = re.compile(r"https?:|www\.|[/\\=<>{}|_@]")
#: Matches all signs after the last word of a text, such as an end mark, a bracket or an emoji.
_END = re.compile(r"[^\w\s]\W*$")


def least_odds(text: str) -> float | None:
    """Return the limit that a model's log-odds of "claims nothing" must exceed for a remark.

    The limits were set on 11,057 wrong claims, and on the parts of answers in ``tests/cases`` that
    claim nothing. The wrong claims come from annotated texts, in which each marked place was filled
    with wrong words. One of them is taken for a remark: "As it concerns your manager, you'd turn to
    an HR adviser." The limit for questions was set on 36 questions. Those that state something
    ("Why was the launch cancelled?", "It is 500 m tall, right?") have log-odds of at most -3.7.
    Most of those that only ask have more than -3.3.

    Returns:
        ``None`` if the text counts as a claim: it has no word but "yes" or "no", which answers the
        question, or has a sign of code or of an address, or ends with no sign, like an item of a
        list. -3.3 for a question. 1 for any other text that has a number, or that begins with "We",
        "You can" or the like. For the rest, -1 if the text ends with a mark such as "!", or has a
        word such as "I" or "you"; otherwise 1.
    """
    end = _END.search(text)
    found = [word.casefold().replace("’", "'") for word in WORD.findall(text)]
    if end is None or _CODE.search(text) or {"yes", "no"}.issuperset(found):
        return None
    is_usual = not _TALKERS.isdisjoint(found) or end[0].strip(MARKS + ")") not in (".", "")
    is_plain = not (_ABOUT.match(text) or quantities(text) or any(map(str.isdigit, text)))
    return -3.3 if "?" in end[0] else -1.0 if is_usual and is_plain else 1.0
