"""Which language a short text is written in: by its script, else by its commonest words.

It says nothing where it cannot tell, rather than guess. Models of letter sequences were weighed for
this (py3langid): on prompts of five words they name a wrong language with confidence ("When was
Einstein born?" is German to it), and loading one takes longer than loading the reader. Prompts are
short, and nearly every sentence of them has a question word, an article or a preposition.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

#: The commonest words of languages in Latin letters, by their ISO 639-1 code.
WORDS = {
    "cs": "a je se na v že s z do pro jak co kde kdy proč kdo jsou byl byla které který nebo ale",
    "da": "og er det en at til af på med hvad hvor hvornår hvorfor hvem ikke jeg har den der kan",
    "de": (
        "der die das und ist ein eine den dem des nicht was wer wie wo wann warum welche welcher "
        "mit für von im zu auf ich du wir sie es wurde war sind hat kann bitte über oder"
    ),
    "en": (
        "the a an is are was were of to in and for with what who how when where why which does do "
        "did can could would should you your my me this that it from about please have has write "
        "be been or not on at by as i we they there tell give explain"
    ),
    "es": (
        "el la los las de que y en un una es por con para qué quién cómo cuándo dónde cuál no se "
        "del al lo su fue son está mi me puede sobre más"
    ),
    "fi": "ja on se ei mikä kuka miten milloin missä miksi oli ovat että tämä minun sinun tai kun",
    "fr": (
        "le la les des de du et est un une en que qui quoi quand où comment pourquoi quel quelle "
        "pour dans sur avec pas je tu il elle nous vous ce cette au aux été sont a-t-elle mon"
    ),
    "hu": "a az és hogy nem egy van mi ki mit hol mikor miért hogyan volt melyik vagy de ez",
    "id": "yang dan di ke dari apa siapa kapan mana mengapa bagaimana adalah ini itu untuk tidak",
    "it": (
        "il lo la gli le di che e è un una per con non come quando dove chi perché quale cosa del "
        "della nel nella sono stato stata mi su"
    ),
    "nl": (
        "de het een en van is in op te dat niet wat wie hoe waar wanneer waarom welke met voor "
        "zijn was ik je naar deze er aan"
    ),
    "no": "og er det en å til av på med hva hvor når hvorfor hvem ikke jeg har som den kan",
    "pl": "i w na z do że się nie jest co kto jak gdzie kiedy dlaczego czy który która są był dla",
    "pt": (
        "o a os as de que e em um uma é por com para quem como quando onde qual não se do da no na "
        "foi são está meu me pode sobre mais"
    ),
    "ro": "și este un o în de la cu nu ce cine cum când unde care pe pentru sunt a fost din mai",
    "sv": "och är det en ett att till av på med vad var när varför vem inte jag har den kan hur",
    "tr": "ve bir bu ne kim nasıl nerede neden için mi mı mu değil var ile da de olan zaman hangi",
}

#: Scripts that one language of today writes, or nearly.
_OF_SCRIPT = {
    "HANGUL": "ko",
    "GREEK": "el",
    "HEBREW": "he",
    "THAI": "th",
    "ARMENIAN": "hy",
    "GEORGIAN": "ka",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "GUJARATI": "gu",
    "BENGALI": "bn",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
}
_UKRAINIAN = frozenset("іїєґ")
_RUSSIAN = frozenset("ыэёъ")
_PERSIAN = frozenset("پچژگ")

#: What a language condition may name.
LANGUAGES = tuple(sorted({*WORDS, *_OF_SCRIPT.values(), "ar", "fa", "ru", "uk"}))

#: As much of a text is looked at: enough to tell, and a bound on the work.
MAX_CHARS = 2_000

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SETS = {code: frozenset(words.split()) for code, words in WORDS.items()}


def identify(text: str) -> str | None:
    """The language of a text as an ISO 639-1 code of :data:`LANGUAGES`, or ``None``.

    >>> identify("When was Einstein born?"), identify("Wann wurde Einstein geboren?")
    ('en', 'de')
    >>> identify("Berlin") is None
    True
    """
    text = unicodedata.normalize("NFC", text[:MAX_CHARS])
    letters = [letter for letter in text.casefold() if letter.isalpha()]
    if not letters:
        return None
    scripts = Counter(map(_script, letters))
    script, count = scripts.most_common(1)[0]
    if script in {"CJK", "HIRAGANA", "KATAKANA"}:
        # Japanese mixes its own letters with Han; Chinese has none of them.
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        script, count = ("HIRAGANA" if kana else "CJK"), kana + scripts["CJK"]
    if 2 * count <= len(letters):
        return None
    if script == "LATIN":
        return _by_words(text)
    if script == "CYRILLIC":
        return _by_letters(letters, {"uk": _UKRAINIAN, "ru": _RUSSIAN})
    if script == "ARABIC":
        return "fa" if _PERSIAN.intersection(letters) else "ar"
    return _OF_SCRIPT.get(script)


def _by_words(text: str) -> str | None:
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    counts = {code: sum(word in known for word in words) for code, known in _SETS.items()}
    best, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    # Related languages share words: only a lead tells them apart.
    return best if counts[best] > counts[second] else None


def _by_letters(letters: list[str], signs: dict[str, frozenset[str]]) -> str | None:
    found = [code for code, own in signs.items() if own.intersection(letters)]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
