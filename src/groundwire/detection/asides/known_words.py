"""Looks words up in the word lists for titles and remarks, in the sources and in the question."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path

from groundwire.detection.comparison.words import Word, has_negation
from groundwire.text.vocabulary import FUNCTION_WORDS, NEGATIONS, words
from groundwire.text.word_lists import read_lists

LISTS = read_lists(Path(__file__).with_name("words.txt"))
TITLE_WORDS, DOCUMENT_WORDS = words(LISTS["title_words"]), words(LISTS["document_words"])
ASSERTING = words(LISTS["asserting"]) | NEGATIONS
#: Limit on the characters that are searched for words, in all sources together.
_MAX_SEARCHED_CHARS = 2_000_000
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_GAPS = dict.fromkeys(map(ord, " -_"))
_YEAR = re.compile(r"(?:19|20)\d\d")
_QUARTERS = {"q1": "first", "q2": "second", "q3": "third", "q4": "fourth"}
#: :meth:`KnownWords.lacks` finds a word of at least ``_ROOTED`` letters by its first ``_ROOT``
#: letters.
_ROOT, _ROOTED = 4, 6


class KnownWords:
    """Searches the sources and the question for words."""

    def __init__(self, texts: Iterable[str], question: str) -> None:
        self.texts, self._question = tuple(_searched(texts)), question.casefold()
        self._places: Callable[[str], frozenset[int]] = cache(self._search)

    def has(self, word: str) -> bool:
        """Return whether a source or the question has a word, in any form."""
        return bool(self._places(word))

    @property
    def is_searched(self) -> bool:
        """Whether the sources are short enough to be searched as a whole."""
        return sum(map(len, self.texts)) < _MAX_SEARCHED_CHARS

    @cached_property
    def _plain_texts(self) -> tuple[str, ...]:
        return tuple(map(_plain, self.texts))

    def names(self, word: str) -> bool:
        """Return whether a source has a word, in any form, even as a part of other words.

        Accents, spaces, hyphens and underscores are ignored: "takeout" is found in "take out".
        """
        forms = [_plain(form) for form in _forms(re.sub("['’]s$", "", word))]
        return any(form in text for text in self._plain_texts for form in forms)

    def admits(self, word: str) -> bool:
        """Return whether a word is common, or in a source or the question.

        Function words and the words that :func:`is_plain` accepts count as common.
        """
        return word in FUNCTION_WORDS or is_plain(word) or self.has(word)

    def have(self, found: Sequence[str], *, in_question: bool = False) -> bool:
        """Return whether the question, alone or together with one source, has all of the words.

        With ``in_question``, the question alone must have all words of ``found``.
        """
        places = [p for word in found if -1 not in (p := self._places(word))]
        return not places or (not in_question and bool(frozenset.intersection(*places)))

    def writes(self, text: str) -> bool:
        """Return whether a source contains a text; case is ignored."""
        return any(text.casefold() in each for each in self.texts)

    def lacks(self, found: Sequence[Word]) -> bool:
        """Return whether no source has any of the content words among ``found``, in any form.

        A source has a word if one of its words begins with the same letters: the first four of a
        word of six letters or more, otherwise the whole word without any "s" at its end. The
        result is false if there is no content word but "yes" or "no", if a negation is among the
        words, or if the sources are too long to be searched as a whole.
        """
        content = [w.lower for w in found if w.is_content and w.lower not in ("yes", "no")]
        if not content or has_negation(found) or not self.is_searched:
            return False
        roots = {w[:_ROOT] if len(w) >= _ROOTED else w.rstrip("s") or w for w in content}
        # Most claims share a word with the sources. A plain search mostly finds it, without the
        # pattern, which takes long to compile.
        shares = any(_begins_word(text, text.find(root)) for root in roots for text in self.texts)
        pattern = rf"\b(?:{'|'.join(map(re.escape, sorted(roots)))})"
        return not (shares or any(re.search(pattern, text) for text in self.texts))

    def _search(self, word: str) -> frozenset[int]:
        forms = sorted(_forms(word))
        joined = "|".join(map(re.escape, forms))
        pattern = re.compile(rf"\b(?:{joined})(?:s|es|d|ed|ing|'s|’s)?\b")
        # Only texts with one of the forms are searched with the pattern: in long texts, a plain
        # search is much faster.
        near = [text if any(form in text for form in forms) else "" for text in self.texts]
        places = {at for at, text in enumerate(near) if pattern.search(text)}
        return frozenset(places | ({-1} if pattern.search(self._question) else set()))


def _searched(texts: Iterable[str]) -> Iterator[str]:
    room = _MAX_SEARCHED_CHARS
    for text in texts:
        if room <= 0:
            return
        yield text[:room].casefold()
        room -= len(text)


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or (at > 0 and not (text[at - 1].isalnum() or text[at - 1] == "_"))


def _plain(text: str) -> str:
    """Return a text without accents, spaces, hyphens and underscores."""
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(each for each in letters if not unicodedata.combining(each))
    return text.translate(_GAPS)


def words_in(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return [word.casefold() for word in WORD.findall(text)]


def _forms(word: str) -> set[str]:
    """Return a word, and words of which it may be a form: "sailing" and "sail" for "sailings".

    For "q1" the result has "first quarter" too. Forms of a single letter are left out, except
    ``word`` itself.
    """
    forms = {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
    forms |= {f"{_QUARTERS[word]} quarter"} if word in _QUARTERS else set()
    for form in tuple(forms):
        stem = re.sub("(?:ing|ed)$", "", form)
        if stem != form and len(stem) > 2:
            forms |= {stem, f"{stem}e", stem[:-1] if stem[-2:-1] == stem[-1:] else stem}
    return {form for form in forms if len(form) > 1} or {word}


def has_form(word: str, among: Collection[str]) -> bool:
    """Return whether ``among`` has a word, or another form of it, such as its plural."""
    return any(form in among or (len(form) > 3 and f"{form}s" in among) for form in _forms(word))


def is_plain(word: str) -> bool:
    """Return whether a word is, by the word lists, common in titles or in names of documents.

    Other forms of a word that is common in titles, such as its plural, are accepted too.
    """
    return has_form(word, TITLE_WORDS) or word in DOCUMENT_WORDS


def asserts(word: str) -> bool:
    """Return whether a word turns a title into a statement.

    Such words are negations, listed words such as "is" and "cheaper", and words that begin with a
    digit, except the years 1900 to 2099.
    """
    has_digit = any(map(str.isdigit, word))
    return (
        word in ASSERTING
        or word.endswith(("n't", "n’t"))
        or (has_digit and word[0].isdigit() and not _YEAR.fullmatch(word))
    )
