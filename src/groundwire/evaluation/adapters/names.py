"""What detectors of others are called: ``ngram``, ``nli:MODEL``, ``judge:MODEL@URL`` and so on."""

import re
from dataclasses import dataclass

from groundwire.errors import SettingError

#: Kind → what follows it.
FORMS = {
    "ngram": "ngram",
    "nli": "nli:MODEL",
    "lettucedetect": "lettucedetect:MODEL",
    "judge": "judge:MODEL or judge:MODEL@URL",
}

# A model may have an @ in its name, so the address is what begins like one.
_ADDRESS = re.compile("@(?P<scheme>https?)://", re.IGNORECASE)
# What follows an @ and is perhaps an address all the same. Taken for a part of the name it would
# send all sources to another endpoint than the one that was meant.
_PERHAPS = re.compile(r"[/:]|localhost|\.[a-z]{2,}\.?$|^\d+(\.\d+){3}$", re.IGNORECASE)
_JUDGE_FORM = (
    f"{FORMS['judge']}, with a URL that begins with http:// or https://, such as "
    "judge:gpt-4o@https://llm.example/v1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterName:
    """The name of a detector of others, taken apart.

    Attributes:
        kind: One of :data:`FORMS`.
        model: Its model; empty for one that has none.
        url: Where it is asked, or ``None``.
    """

    kind: str
    model: str = ""
    url: str | None = None


def is_adapter(name: str) -> bool:
    """Whether a name is that of a detector of others, however it goes on."""
    return name.partition(":")[0] in FORMS


def parse(name: str | None) -> AdapterName | None:
    """Take a name apart; ``None`` if it is one of our own detectors, a folder or a hub model.

    >>> parse("judge:gpt-4o@https://llm.example/v1")
    AdapterName(kind='judge', model='gpt-4o', url='https://llm.example/v1')
    >>> parse("reader") is None
    True

    Raises:
        SettingError: If it begins like one and ends like none.
    """
    if name is None or not is_adapter(name):
        return None
    kind, colon, rest = name.partition(":")
    if kind == "ngram":
        if colon:
            raise SettingError("detector", name, FORMS[kind])
        return AdapterName(kind=kind)
    if not rest.strip():
        raise SettingError("detector", name, FORMS[kind])
    if kind != "judge":
        return AdapterName(kind=kind, model=rest)
    return _judge(rest)


def _judge(rest: str) -> AdapterName:
    found = _ADDRESS.search(rest)
    model, at, other = rest.partition("@")
    if found is None and not _PERHAPS.search(other):
        return AdapterName(kind="judge", model=rest)
    if found is None or not rest[: found.start()].strip():
        # What follows may hold a key.
        raise SettingError("detector", f"judge:{model}{at}***", _JUDGE_FORM)
    url = found["scheme"].lower() + rest[found.end("scheme") :]
    return AdapterName(kind="judge", model=rest[: found.start()], url=url)
