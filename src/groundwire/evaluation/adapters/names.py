"""Names of the detectors of other projects: ``ngram``, ``nli:MODEL``, ``judge:MODEL@URL``..."""

import re
from dataclasses import dataclass

from groundwire.errors import SettingError

#: Kind of detector → form of its name.
FORMS = {
    "ngram": "ngram",
    "nli": "nli:MODEL",
    "judge": "judge:MODEL or judge:MODEL@URL",
}

# A model may have an @ in its name, so an address is recognized by its scheme.
_ADDRESS = re.compile("@(?P<scheme>https?)://", re.IGNORECASE)
# Matches text that looks like an address without a scheme. If it were read as a part of
# the model's name, the sources would be sent to the default endpoint, not the intended one.
_PERHAPS = re.compile(r"[/:]|localhost|\.[a-z]{2,}\.?$|^\d+(\.\d+){3}$", re.IGNORECASE)
_JUDGE_FORM = (
    f"{FORMS['judge']}, with a URL that begins with http:// or https://, such as "
    "judge:gpt-4o@https://llm.example/v1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterName:
    """The parsed name of a detector of another project.

    Attributes:
        kind: A key of :data:`FORMS`.
        model: Name of the model; empty for ``ngram``, which has none.
        url: URL of the endpoint that serves the model, or ``None``.
    """

    kind: str
    model: str = ""
    url: str | None = None


def is_adapter(name: str) -> bool:
    """Return whether the part of a detector's name before any colon is a kind of :data:`FORMS`."""
    return name.partition(":")[0] in FORMS


def parse(name: str | None) -> AdapterName | None:
    """Parse a detector's name; ``None`` for a detector of this project, a folder or a hub model.

    >>> parse("judge:gpt-4o@https://llm.example/v1")
    AdapterName(kind='judge', model='gpt-4o', url='https://llm.example/v1')
    >>> parse("reader") is None
    True

    Raises:
        SettingError: If the name begins with a kind of :data:`FORMS` and is malformed after it.
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
        # The rest is not shown: it may contain a key.
        raise SettingError("detector", f"judge:{model}{at}***", _JUDGE_FORM)
    url = found["scheme"].lower() + rest[found.end("scheme") :]
    return AdapterName(kind="judge", model=rest[: found.start()], url=url)
