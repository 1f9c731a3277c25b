"""One question to a client, and what it showed its user."""

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

PROMPT = (
    "Context:\nThe Eiffel Tower stands in Paris. It was built from 1887 to 1889. It is 330 metres "
    "tall.\n\nQuestion: When was the Eiffel Tower built?"
)
CHAT: Any = [{"role": "user", "content": PROMPT}]
#: Each dialect below ``/v1/``.
COMPLETIONS, RESPONSES, MESSAGES = PATHS = ("chat/completions", "responses", "messages")
#: Which models are right and which are wrong. Clients treat names that they do not know otherwise.
SAYS = {
    "gpt-4.1": "right",
    "gpt-4o": "wrong",
    "claude-sonnet-4-5": "right",
    "claude-haiku-4-5": "wrong",
}


class Tower(BaseModel):
    """The structured answer that clients are asked for."""

    built: str
    height: int


@dataclass(frozen=True)
class Asking:
    """Where a client asks, and for what.

    Attributes:
        url: The base URL, without ``/v1``.
        key: The key for it.
        model: One of :data:`SAYS`.
    """

    url: str
    key: str
    model: str


@dataclass
class Got:
    """What a client showed, as far as it came.

    Attributes:
        text: What the user read.
        value: The structured answer, or as much as there was of it.
        ended: Why it ended, in the client's words, or its exception.
        seen: All that else can be printed: the last object, the chain of exceptions.
    """

    text: str = ""
    value: Any = None
    ended: str = ""
    seen: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Client:
    """A client and one way to use it.

    Attributes:
        name: The package.
        path: What it speaks, below ``/v1/``.
        wants: ``text`` or ``object``.
        streams: Whether it asks for a stream.
        ask: Asks it, and fills in what it shows.
    """

    name: str
    path: str
    wants: str
    streams: bool
    ask: Callable[[Asking, Got], None]

    def got(self, url: str, key: str, says: str) -> Got:
        """What it shows of an answer that is ``right`` or ``wrong``."""
        family = "claude" if self.path == MESSAGES else "gpt"
        model = next(name for name in SAYS if SAYS[name] == says and name.startswith(family))
        asking, got = Asking(url, key, model), Got()
        try:
            self.ask(asking, got)
        except Exception as error:  # noqa: BLE001 - each client has its own
            got.ended = _said_by(error)
            got.seen += [*traceback.format_exception(error), *_chain(error)]
        return got

    def __str__(self) -> str:
        return f"{self.name} {self.path} {self.wants}{' stream' if self.streams else ''}"


def _said_by(error: Exception) -> str:
    """The name of an exception, with the status that it or its cause tells."""
    name, cause = type(error).__name__, error
    while cause is not None:
        status = getattr(cause, "status_code", None)
        if isinstance(status, int):
            return f"{name} {status}"
        if found := re.search(r"\b403\b", str(cause)):
            return f"{name} {found.group()}"
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    return name


def _chain(error: BaseException | None) -> list[str]:
    """All fields of an exception, and of those that it comes from."""
    found = []
    while error is not None:
        found += [repr(error), repr(vars(error)), repr(getattr(error, "body", None))]
        response = getattr(error, "response", None)
        found += [repr(getattr(response, "headers", None)), repr(getattr(response, "content", ""))]
        error = error.__cause__ or error.__context__
    return found
