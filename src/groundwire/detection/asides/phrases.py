"""Recognises titles, intros, questions and phrases such as greetings by their words."""

import re
from functools import cache
from itertools import pairwise

from groundwire.detection.asides.known_words import (
    ASSERTING,
    LISTS,
    TITLE_WORDS,
    WORD,
    KnownWords,
    asserts,
    has_form,
    is_plain,
    words_in,
)
from groundwire.detection.asides.shape import MARKS
from groundwire.detection.values import AsideKind
from groundwire.text.vocabulary import FUNCTION_WORDS, words

_INTRO_WORDS = words(LISTS["intro_words"])
_OFFER_WORDS = words(LISTS["offer_words"])
_COUNTS, _COUNTED = words(LISTS["counts"]), words(LISTS["counted"])
MAX_TITLE_WORDS = 8
#: Limit on the content words, in a title that is a question, that are missing from the sources and
#: from the user's question. A word with a capital letter or the ending "ed" must not be missing.
_MAX_FREE = 2
#: Auxiliary verbs. In a question they state nothing: "Is it open?"
_AUXILIARY = words(
    "is are was were can could would will shall should do does did have has may might"
)
_TITLE_LEAD = re.compile(
    r"(?:q|a|question|(?:table|figure|step|part|section|chapter|option|example|question|day) "
    r"\d{1,2})\s*(?:[:.–—-]\s*|$)|\d{1,2}[.)]\s+",
    re.IGNORECASE,
)
_VERB = "am|is|are|was|were|can|could|does|do|did|should|will|would|may|must|has|have"
_ASKS = re.compile(rf"(?:what|when|where|why|how|who|which|whose|{_VERB})\b", re.IGNORECASE)
#: Matches a yes-or-no question, unless a word such as "that" or a comma shows that the question may
#: state something: "Did you know that ...?"
_YES_NO = re.compile(
    rf"(?:{_VERB})\b(?!.*\b(?:that|which|who|know|aware|because|since|not)\b)[^.,;:!?]*\?",
    re.IGNORECASE,
)
_INTRO = re.compile(
    r"(?:here|below|according|based|the (?:following|relevant|sources?|docs|documents?|answer|"
    r"context|documentation)|these are|this is (?:what|how)|in (?:the|your) (?:sources?|docs|"
    r"documents?))\b",
    re.IGNORECASE,
)
_HERE = re.compile(r"(?:(?:here|below) (?:is|are)|here['’]s)\b", re.IGNORECASE)
#: Limit on the content words of an intro that are not in the list ``intro_words``.
_MAX_ANNOUNCED = 4
#: Phrases about the user, or about an offer, whose verb states no fact: "you have", "so we can".
_ADDRESSED = re.compile(
    r"\b(?:you(?:r \w+)? (?:have|had|are|were|can|could|would|will|may|might|should)|"
    r"so (?:that )?(?:I|we) (?:can|could))\b",
    re.IGNORECASE,
)
_BE = frozenset(("is", "are", "here's", "here’s", "that's", "that’s", "what's", "what’s"))
_OBJECT = re.compile(
    r"\b(?:of|for|about|on|from|in|to) (?:(?:the|your|this|our) )?(\w+)\W*$", re.IGNORECASE
)


@cache
def _phrases(name: str) -> re.Pattern[str]:
    """Compile the phrases of one list of ``words.txt`` into a pattern.

    In the phrases, ``@`` and a name mean the list with this name. Each ``~`` means free words: 1 to
    120 characters without commas, semicolons, colons and long dashes. Each ``^`` means the same,
    but commas are allowed.
    """
    text = f"@{name}"
    while "@" in text:
        text = re.sub("@([a-z]+)", _listed, text)
    text = re.sub(r"(?<!\[)\^", "([^;:—–]{1,120})", text.replace("~", "([^,;:—–]{1,120})"))
    return re.compile(text, re.IGNORECASE)


def _listed(found: re.Match[str]) -> str:
    listed = re.sub(r"\n\s+", "", LISTS[found[1]]).replace("[A-Z]", "(?-i:[A-Z])")
    return f"(?:{listed})"


_PHRASES = (
    (AsideKind.GREETING, "courtesies"),
    (AsideKind.GREETING, "greetings"),
    (AsideKind.CLOSING, "closings"),
    (AsideKind.INTRO, "intros"),
)
#: Matches a digit, except in an id such as "S2". A clause with a match counts as no phrase of
#: ``_PHRASES``. So the patterns of these phrases, which take 8 ms to compile, are not needed.
_FIGURE = re.compile(r"(?<![\dsS])\d")
#: Matches negative words, such as "no" and "unable". Each phrase of the list ``absences`` has at
#: least one such word. The pattern of these phrases takes 20 ms to compile, so it is compiled only
#: when a text has such a word.
_LACKS = re.compile(r"\bno\b|not(?:hing)?\b|none\b|neither\b|n['’]t\b|silent\b|unable\b", re.I)
#: Matches signs that a text such as "The sources do not say ..." may also state a fact. The signs
#: are brackets, digits, quotation marks, a second clause, and words that begin a clause.
_STATES = re.compile(
    r"[()\[\]\d\"“”]|\b(?:but|although|though|whereas|because|since|except|only|so|yet|who|whom|whose|"
    r"which|why|that(?!\W*$))\b|\band (?:she|he|they|it|we|I|the|an?|his|her|their|its)\b|"
    r",(?! (?:nor|(?:or|and) whether)\b)[^,]*"
    r"\b(?:is|are|was|were|has|have|can|will|must|she|he|they)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*[,;]\s+(?:(?:and|but|so)\s+)?|\s+[—–-]\s+|[.!?…:]+\s+")


class Phrases:
    """Recognises titles, intros, questions and phrases such as greetings by their words.

    The phrases are greetings, closing remarks, some intros, and absences ("The sources do not say
    ..."). They are listed in ``words.txt``, and may have places for free words: any words that pass
    a test. :meth:`is_absence` describes the test for absences, :meth:`_says_little` the test for
    other phrases.
    """

    def __init__(self, known: KnownWords) -> None:
        self._known = known

    def kind_of(self, text: str) -> AsideKind | None:
        """Return the kind of aside that a text is; ``None`` unless all its clauses are asides.

        The kind of the text is that of its last clause. A clause that is a listed phrase is an
        aside. If the last clause is an intro, and follows another clause or ends with a colon, all
        clauses that are intros are asides too.
        """
        clauses = [
            part for each in _CLAUSE.split(text) if (part := each.strip(MARKS + ".!?…:,–—-()"))
        ]
        end = ":" if ":" in text[-3:] else ""
        may_end_as_intro = bool(clauses) and bool(end or len(clauses) > 1)
        ends_as_intro = may_end_as_intro and self.is_intro(clauses[-1] + end)
        kind = None
        for clause in clauses[:-1] if ends_as_intro else clauses:
            kind = self._phrase_of(clause, asks=text.endswith("?"))
            if kind is None and not (ends_as_intro and self.is_intro(f"{clause}:")):
                return None
        return AsideKind.INTRO if ends_as_intro else kind

    def farewell(self, text: str) -> AsideKind | None:
        """Return the kind of aside of a signed phrase; ``None`` for other texts.

        A signed phrase is a line of listed phrases that ends with a comma, such as "Best regards,",
        and a name on the next line.
        """
        first, _, rest = text.partition("\n")
        is_signed = len(rest.split()) <= 5 and is_name(rest) and bool(rest)
        return self.kind_of(first) if is_signed and first.rstrip().endswith(",") else None

    def _phrase_of(self, clause: str, *, asks: bool) -> AsideKind | None:
        for kind, name in () if _FIGURE.search(clause) else _PHRASES:
            found = _phrases(name).fullmatch(clause)
            groups = [group for group in found.groups() if group] if found else []
            if found and all(self._says_little(group, asks=asks) for group in groups):
                return kind
        return None

    def _says_little(self, rest: str, *, asks: bool) -> bool:
        """Return whether the free words of a phrase are at most 12, are known, and assert nothing.

        A word is known if it is in the list ``offer_words``, or :meth:`.KnownWords.admits` accepts
        it. With ``asks``, auxiliary verbs assert nothing. Words such as "you have" are not tested.
        """
        found = words_in(_ADDRESSED.sub(" ", rest))
        return len(found) <= 12 and not any(
            (word in ASSERTING and not (asks and word in _AUXILIARY))
            or any(map(str.isdigit, word))
            or not (word in _OFFER_WORDS or self._known.admits(word))
            for word in found
        )

    def is_intro(self, text: str) -> bool:
        """Return whether a text only announces the text after it."""
        lead = _phrases("courtesies").match(text)
        bare = text[lead.end() :].lstrip(" ,!.—–-") if lead else text
        # Without a colon, "According to the firm, ..." is a statement: only phrases such as "Here
        # is" announce.
        if not (_INTRO if bare.rstrip(MARKS).endswith(":") else _HERE).match(bare):
            return False
        found = words_in(bare)
        left = [word for word in found if word not in _INTRO_WORDS]
        for count, counted in pairwise(left):
            if (count in _COUNTS or re.fullmatch("[2-9]|10", count)) and counted in _COUNTED:
                left.remove(count)
                break
        content = [word for word in left if word not in FUNCTION_WORDS]
        if len(content) > _MAX_ANNOUNCED or sum(word in _BE for word in found) > 1:
            return False
        last = _OBJECT.search(bare)
        if last and last[1].islower() and not last[1].endswith("ed") and last[1] in left:
            left.remove(last[1])  # an intro may name a subject that no source names
        return not any(map(asserts, left)) and all(map(self._known.admits, left))

    def is_absence(self, text: str, *, may_name_some: bool = False) -> bool:
        """Return whether a text only says that the sources lack a thing whose words no source has.

        An example is "The sources do not say whether dogs are allowed", if the sources have neither
        "dogs" nor "allowed", in any form. With ``may_name_some``, it is enough that the sources
        lack one of these words. The sources may still say the same in other words. The result is
        also true if the text names no thing ("The sources do not say").

        The result is false if the text has a name that no source has, if it may also state a fact,
        or if the sources are too long to be searched as a whole.
        """
        found = _LACKS.search(text) and _phrases("absences").fullmatch(text.strip(MARKS + ".!"))
        topic = " ".join(group for group in found.groups() if group) if found else ""
        if not found or not self._known.is_searched or _STATES.search(topic):
            return False
        # A name that no source has may be invented, and so may be what is said about it.
        lacked = [w for w in WORD.findall(topic) if not self._known.names(w.casefold())]
        if any(word[0].isupper() and not text.startswith(word) for word in lacked):
            return False
        content = [word for word in words_in(topic) if word not in FUNCTION_WORDS]
        n_lacked = sum(word.casefold() in content for word in lacked)
        return not content or (n_lacked > 0 if may_name_some else n_lacked == len(content))

    def is_question(self, text: str) -> bool:
        """Return whether a text is a question that states nothing.

        Each word must be a function word or pass :func:`.is_plain`. A yes-or-no question that
        ``_YES_NO`` matches may also have words of the sources and of the user's question.
        """
        asks = text.endswith("?") and bool(_ASKS.match(text))
        has = self._known.admits if _YES_NO.fullmatch(text) else is_plain
        return asks and all(word in FUNCTION_WORDS or has(word) for word in words_in(text))

    def is_title(self, text: str, *, is_bare: bool = False, is_new: bool = False) -> bool:
        """Return whether a text is a title: it names the text after it, and states nothing.

        Args:
            text: A heading, a bold line, a cell, a comment in code, or a line without marks.
            is_bare: Whether the text has no mark of a heading. Then it is a title only if its words
                are function words or words that are common in titles.
            is_new: Whether the text may be the answer itself, such as the name that was asked for.
                Then the user's question must have all content words that are not common in titles,
                except those that a title may lack because it is a question.
        """
        bare = text[lead.end() :] if (lead := _TITLE_LEAD.match(text)) else text
        bare = bare.strip(MARKS + ":.")
        asks = bare.endswith("?") and bool(_ASKS.match(bare))
        found = words_in(bare)
        if bare.endswith(("!", ";", ",")) or len(found) > MAX_TITLE_WORDS + 4 * asks:
            return False
        # The first word is not tested if it is common in titles: "Costs" begins a title, but in
        # "Pro costs" the same word may be a verb.
        # A "not" before a single word is not tested either: "Not reimbursed" is the title of a list
        # of costs that are not reimbursed.
        is_denied = not is_bare and len(found) == 2 and found[0] == "not"
        rest = found[1:] if is_denied or (found and found[0] in TITLE_WORDS) else found
        if any(asserts(word) and not (asks and word in _AUXILIARY) for word in rest):
            return False
        content = [
            word for word in found if word not in FUNCTION_WORDS and not has_form(word, TITLE_WORDS)
        ]
        if is_bare:
            return bool(found) and not content
        if asks:
            # A question may have a few words that are not in the sources: the text after it may say
            # the same in other words.
            free = [w for w in content if w in bare and w[-2:] != "ed" and not self._known.has(w)]
            content = content if len(free) > _MAX_FREE else [w for w in content if w not in free]
        return self._known.have(content, in_question=is_new)


def is_name(text: str) -> bool:
    """Return whether a line below a farewell may be a signature."""
    return not any(map(asserts, words_in(text))) and not text.endswith((".", "!", "?", ":"))
