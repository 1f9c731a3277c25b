"""Whether a sentence of a prompt asks, instructs or informs, by its wording alone."""

import re
from enum import StrEnum

import re2

from groundwire.pipeline.conversation.roles import vocabulary

_QUESTION_WORDS = vocabulary(
    """
    who what when where why which whose whom how is are was were do does did can could
    """
)
#: A sentence that begins with one of these tells somebody to do something.
_IMPERATIVES = vocabulary(
    """
    act add adhere aim always analyse analyze answer apply ask assume avoid base be begin behave
    break calculate check choose cite classify communicate compare complete compose compute
    consider continue convert create critique debug define describe determine discuss do don't
    dont draft draw ensure evaluate examine explain extract fill find fix focus follow generate
    get give greet hello help hey hi highlight identify ignore imagine implement improve include
    judge keep let let's limit list listen look make mention must never note obey only outline
    output paraphrase pay pick plan please pretend prioritize proofread provide quote rank rate
    read recommend refactor refer refrain refuse reject decline remember reply respond rephrase
    restrict
    return rewrite say score see select show skip solve sort speak state stay stick suggest
    summarise summarize take talk tell thank thanks think translate treat try use using verify
    write remain respect preserve maintain double-check express sound
    """
)
#: Verbs that begin headings and facts too: they count before these words alone.
_ALSO_NOUNS = vocabulary(
    """
    list return output rate score state plan show note quote check
    """
)
_AFTER_VERBS = vocabulary(
    """
    the a an only all your it its in as to with any no not me this that each every everything
    what how why if by from at just one exactly them that: whether
    """
)
_FIRST_PERSON = vocabulary("i i'm i've i'd i'll my me mine")
_FIRST_PLURAL = vocabulary("we we're we've our us ours")
#: A sentence that begins with one of these goes on with what the sentence before it does.
_PRONOUNS = vocabulary("he she they his her their")
_VERBS = vocabulary(
    """
    is are was were has have had does did can will would may isn't aren't wasn't sells sell
    offers offer provides includes include contains contain costs cost opens open closes close
    ships ship takes lives works supports requires require allows allow stands holds means
    covers cover accepts accept delivers deliver owns employs produces operates operate comes
    runs serves lasts needs need receives gets uses begins ends starts weighs measures expires
    equals applies apply belongs became began got went left sold built made won lost grew rose
    fell ran cut gave took
    """
)
#: What is said to a model about its task, and hardly ever in a text that informs.
_OF_THE_TASK = re2.compile(
    r"(?i)(?:\bthe above\b|\babove[- ](?:context|information|documents?|passages?|sources?"
    r"|text|mentioned|is the)|\b(?:information|context|documents|sources|passages|text) above\b"
    r"|\b(?:based|rely|relying) (?:only |solely |strictly |exclusively )?(?:up)?on"
    r" (?:the|this|these|your)\b.{0,24}(?:context|information|documents?|passages?|sources?|text"
    r"|above|following|knowledge|content|data|excerpts?|results?|question|query)"
    r"|\b(?:given|using|use|with) (?:only )?(?:the|this|these) (?:provided |given |above"
    r" |following |retrieved )*(?:context|information|documents?|passages?|sources?|knowledge)\b"
    r"|\banswer (?:the|this|my|user'?s?|all|any|each|questions?|in|only|as|based|using|with"
    r"|concise)"
    r"|\bthe users?'?s?\b ?(?:current )?(?:question|query|request|comment|message|input"
    r"|prompt|that)"
    r"|\buser (?:question|query|request|comment|message|input)s?\b"
    r"|\byour (?:final )?(?:answers?|responses?|reply|replies|task|job|role|goal|own knowledge"
    r"|output|knowledge base)\b"
    r"|\byou (?:do not|don'?t|cannot|can'?t) (?:know|find|answer)|\bprior knowledge\b"
    r"|\bmak(?:e|ing) (?:up|things up)\b.{0,12}|\bas an ai\b|\bhallucinat(?:e|ing)\b"
    r"|\byou are (?:an?|the) [\w ,-]{0,60}(?:assistant|bot|chatbot|expert|ai|agent|model|helper)\b"
    r"|\bprovided (?:context|documents?|information|sources?|passages?|excerpts?|text)\b"
    r"|\b(?:if|when) the (?:answer|question|context|information|documents?|query)\b"
    r"|\b(?:not|n't) (?:\w+ ){0,3}(?:in|by|from) the (?:provided |given |above |retrieved )?"
    r"(?:context|documents?|sources?|passages?|knowledge base|excerpts?)\b"
    r"|\brespond (?:in|with|to|only|as)|\bcite (?:the|your|sources?|each|every|all)\b"
    r"|^\s*end of (?:the )?(?:\w+ ){0,2}"
    r"(?:context|data|documents?|sources?|passages?|information)\b"
    r"|\b(?:this|the|following) question\b|\bstep[- ]by[- ]step\b)"
)
#: Words of what describes a character or a style: no evidence outside marked sections.
_OF_THE_MODEL = vocabulary(
    """
    you your you're yourself assistant assistants chatbot persona tone helpful friendly polite
    concise concisely talkative truthfully empathetic cheerful witty user users user's users'
    response responses reply replies markdown json prompt instructions roleplay role-play speaks
    talks sarcastic personality capabilities cutoff enabled disabled timezone locale
    """
)
#: Every match of the two expressions has one of these words; without any, they need not be tried.
_TRIGGERS = vocabulary(
    """
    above end answer answering based rely relying given using use with user user's users users' your
    you prior make making ai hallucinate hallucinating provided if when not n't isn't aren't
    can't cannot doesn't don't respond cite question step-by-step step
    """
)
#: What speaks of evidence that stands before it.
_POINTS_BACK = re2.compile(
    r"(?i)(?:\b(?:the|this) above\b|\babove (?:context|information|documents?|passages?|sources?"
    r"|text|data|article)|\b(?:context|information|documents?|passages?|sources?|text|data|article)"
    r"(?: \w+){0,3} above\b)"
)
_WORD = re.compile(r"\w[\w'’-]*")
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+|\n")
_LEADING = " \t\r\n-*•>#+\"'“(["


class Wording(StrEnum):
    """What a sentence does."""

    ASKS = "asks"
    INSTRUCTS = "instructs"
    INFORMS = "informs"


def concerns_the_task(text: str) -> bool:
    """Whether a text speaks to the model about its task: "answer from the context above"."""
    return _concerns_the_task(text, _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _concerns_the_task(text: str, words: list[str]) -> bool:
    return not _TRIGGERS.isdisjoint(words) and _OF_THE_TASK.search(text) is not None


def points_back(text: str) -> bool:
    """Whether a text speaks of evidence before it: "given the context above"."""
    return _POINTS_BACK.search(text) is not None


def wording_of(sentence: str, *, is_user: bool) -> Wording | None:
    """What a sentence does, by its wording; ``None`` if it says nothing.

    Args:
        sentence: One sentence, or one line.
        is_user: Whether a user says it. What is said in the first person belongs to what is asked;
            a system may say "we" of the company whose facts it gives.
    """
    return _wording(sentence, _words(sentence), is_user=is_user)


def _wording(sentence: str, words: list[str], *, is_user: bool) -> Wording | None:
    if not words:
        return None
    bare = sentence.strip(_LEADING).rstrip(" \t\r\n\"'”*_)")
    if bare.endswith("?"):
        return Wording.ASKS
    if words[0] in _QUESTION_WORDS and len(words) < 30 and not bare.endswith((".", ":", "!")):
        return Wording.ASKS
    if is_imperative(words) or not _OF_THE_MODEL.isdisjoint(words):
        return Wording.INSTRUCTS
    if _concerns_the_task(sentence, words):
        return Wording.INSTRUCTS
    if words[0] in ("current", "today", "today's") and ":" in sentence:
        return Wording.INSTRUCTS  # the date, for the model to know
    if not _FIRST_PERSON.isdisjoint(words) or (is_user and not _FIRST_PLURAL.isdisjoint(words)):
        return Wording.ASKS
    return Wording.INFORMS


def goes_on(sentence: str) -> bool:
    """Whether a sentence is about whoever the one before it is about: "She is 300 years old"."""
    words = _words(sentence[:40])
    return bool(words) and words[0] in _PRONOUNS


def is_imperative(words: list[str]) -> bool:
    """Whether these words, in lower case, begin with an order."""
    first = words[0]
    if first in _ALSO_NOUNS:
        return len(words) > 1 and words[1] in _AFTER_VERBS
    return first in _IMPERATIVES or (first == "if" and len(words) > 1 and words[1] == "you")


def informs_as_block(text: str) -> bool:
    """Whether a text that something sets apart states something, and does not instruct a model.

    A manual gives orders too, and says "you": that alone makes no instruction of it.
    """
    n_sentences = n_of_task = n_informing = 0
    for start, end in sentences_of(text):
        sentence = text[start:end]
        words = _words(sentence)
        if not words:
            continue
        n_sentences += 1
        if _concerns_the_task(sentence, words):
            n_of_task += 1
        elif not is_imperative(words) and states_something(words) and "?" not in sentence[-4:]:
            n_informing += 1
    return n_informing * 3 >= n_sentences >= n_of_task * 3 and n_informing > 0


def n_informing_words(text: str, *, is_user: bool) -> int:
    """How many words stand in sentences that state something: with a verb or a figure."""
    total = 0
    for start, end in sentences_of(text):
        sentence = text[start:end]
        words = _words(sentence)
        is_stated = _wording(sentence, words, is_user=is_user) is Wording.INFORMS
        if is_stated and states_something(words):
            total += len(words)
    return total


def states_something(words: list[str]) -> bool:
    """Whether there is a verb, or a figure, among words in lower case."""
    return not _VERBS.isdisjoint(words) or any(
        word[0].isdigit() or (len(word) > 4 and word.endswith("ed")) for word in words
    )


def sentences_of(text: str) -> list[tuple[int, int]]:
    """The sentences and lines of a text, as ranges that leave nothing out."""
    ranges, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if match.end() < len(text):
            ranges.append((start, match.end()))
            start = match.end()
    ranges.append((start, len(text)))
    return ranges
