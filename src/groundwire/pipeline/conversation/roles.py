"""The role of a part of a prompt by the name that its tag, heading or label gives it."""

import re
from collections.abc import Iterator
from enum import StrEnum


def vocabulary(text: str) -> frozenset[str]:
    """The words of a text, as a vocabulary."""
    return frozenset(text.split())


class Role(StrEnum):
    """What a named part of a prompt is for."""

    INFORM = "inform"  # evidence
    ASK = "ask"
    INSTRUCT = "instruct"
    ANSWER = "answer"
    EXAMPLE = "example"
    HISTORY = "history"  # earlier turns, with the model's own answers
    OPEN = "open"  # anything: its wording tells


_NAMES = {
    Role.INFORM: """
        context contexts document documents doc docs source sources passage passages excerpt
        excerpts snippet snippets chunk chunks reference references result results knowledge
        knowledgebase kb information info data dataset evidence fact facts background article
        articles text texts content contents paragraph paragraphs material materials record records
        memory memories file files page pages webpage webpages website websites transcript
        transcripts email emails report reports entity entities relationship relationships table
        tables faq faqs wiki abstract graph triplets triples hits summaries details profile
        observation observations findings notes manual attachment attachments corpus extract
        extracts quote quotes inventory catalog
        """,
    Role.ASK: """
        question questions query queries q request inquiry human user customer problem topic claim
        hypothesis
        comment
        """,
    Role.INSTRUCT: """
        instruction instructions rule rules guideline guidelines guidance task tasks goal goals
        objective objectives role persona style tone format output outputs constraint constraints
        requirement requirements restriction restrictions important system steps behavior behaviour
        criteria directive directives capabilities tools functions language personality identity
        skills workflow safety thinking code draft remember reminder formatting scope principles
        """,
    Role.ANSWER: """
        answer answers a response responses reply assistant ai bot completion summary thought
        reasoning explanation action
        """,
    Role.EXAMPLE: "example examples shot shots demonstration demonstrations exemplar exemplars",
    Role.HISTORY: "history conversation dialog dialogue chat",
    Role.OPEN: "input inputs message messages prompt body variables",
}
_ROLES = {word: role for role, names in _NAMES.items() for word in names.split()}
#: Words that may stand beside those above in a name.
_FILLERS = vocabulary(
    """
    the an of for from to in on and or is are here below above following given relevant
    retrieved provided supporting additional useful current final helpful follow up standalone
    original new latest last your my our number list section tool web search local external
    internal extracted related similar top some company base general few only these this begin
    start end block as with about product available
    """
)
#: "Summarize:" stands before what is to be summarized.
_TRANSFORMS = vocabulary(
    """
    summarize summarise translate paraphrase proofread shorten simplify classify analyze analyse
    extract rephrase
    """
)
_PREPOSITIONS = frozenset({"of", "for", "from", "to", "about", "in", "with", "on"})
#: What ends an open section of evidence; other names are likely headings of the evidence itself.
_ENDS = vocabulary(
    """
    question questions query q claim human user assistant ai answer answers a response instruction
    instructions task rules guidelines role goal output example examples history conversation
    remember reasoning comment
    """
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MAX_NAME_WORDS = 8


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: ``userQuestion`` and ``user_question`` have two."""
    return [word.lower() for word in _WORD.findall(name)]


def role_of(name: str) -> Role | None:
    """The role that a name gives; ``None`` if it says nothing about it."""
    words = words_of(name)
    if not words or len(words) > _MAX_NAME_WORDS:
        return None
    roles = [_ROLES[word] for word in words if word in _ROLES]
    for first in (Role.EXAMPLE, Role.HISTORY):
        if first in roles:
            return first
    # "Context of the question" is named by what stands before "of".
    head = next((i for i, word in enumerate(words) if i and word in _PREPOSITIONS), len(words))
    named = [_ROLES[word] for word in words[:head] if word in _ROLES]
    role = named[-1] if named else next(iter(roles), None)
    if role is Role.ANSWER and any(word in ("tool", "function", "search", "api") for word in words):
        return Role.INFORM
    return role


def is_plain_name(name: str) -> bool:
    """Whether all words of a name are words of roles, so that it is unlikely to be prose."""
    return all(word in _ROLES or word in _FILLERS for word in words_of(name))


def ends_evidence(name: str) -> bool:
    """Whether a label ends a section of evidence that nothing else ends."""
    return is_plain_name(name) and any(word in _ENDS for word in words_of(name))


def announced_role(sentence: str, *, points: bool = False) -> Role | None:
    """The role that a sentence gives to what comes next.

    "Use the following pieces of context", "answer from the documents below", "here are the rules".

    Args:
        sentence: One sentence, or one line.
        points: Whether it has to point at what comes next; else it may end with a name and a colon.
    """
    has_colon = sentence.rstrip(" \t\r\n*_").endswith(":")
    if not has_colon and not any(pointer in sentence.lower() for pointer in ("below", "following")):
        return None
    words = sentence.split()
    found: set[Role] = set()
    for i, word in enumerate(words):
        pointer = word.strip(".,:;()*_'\"").lower()
        if pointer == "below":
            found.update(_roles_near(reversed(words[max(0, i - 4) : i]), stops=False))
            found.update(_roles_near(words[i + 1 : i + 3], stops=True))
        elif pointer == "following" or (
            pointer in ("here", "here's", "this", "these") and has_colon
        ):
            named = list(_roles_near(words[i + 1 : i + 10], stops=True))
            # "Here is what I found:" names nothing, and gives something all the same.
            found.update(named or ([Role.INFORM] if pointer.startswith("here") else []))
    if not found and has_colon and words[0].rstrip(":").lower() in _TRANSFORMS:
        found.add(Role.INFORM)
    if not found and has_colon and not points:
        found.update(_roles_near(reversed(words[-3:]), stops=False))
    for role in (Role.INFORM, Role.EXAMPLE, Role.INSTRUCT, Role.HISTORY, Role.ASK, Role.OPEN):
        if role in found:
            return role
    return None


def _roles_near(words: "Iterator[str] | list[str]", *, stops: bool) -> Iterator[Role]:
    """The first role that the words name; ``stops`` at the end of a clause."""
    for word in words:
        role = _ROLES.get(word.strip(".,:;()*_'\"`").lower())
        if role is not None and role is not Role.ANSWER:
            yield role
            return
        if stops and word[-1] in ".;:?!":
            return
