"""Upstreams: the servers that answer requests, one or several that share the models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from groundwire.config.document import DocumentEntry, LinePlace
from groundwire.config.fields import Problems, TableField, items_of, read_fields, unique
from groundwire.config.keys import Token
from groundwire.config.kinds import Endpoint, Kind, Name, Number, Secret, Text, list_of

#: The one that is given as ``upstream.url``.
DEFAULT_UPSTREAM = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server with an OpenAI-compatible API.

    Attributes:
        name: What logs and metrics call it.
        url: Where its API begins, such as ``https://api.openai.com/v1``.
        api_key: What it wants to see; ``None``: nothing, or what the caller has for it.
        models: Patterns of model names, as :func:`fnmatch.fnmatchcase` reads them.
        weight: Its share of the requests among those that have a model.
    """

    name: str
    url: str
    api_key: Secret | None = None
    models: tuple[str, ...] = ("*",)
    weight: int = 1


#: Fields of an upstream → what they may be.
UPSTREAM_KINDS: Mapping[str, Kind] = {
    "name": Kind(Name),
    "url": Kind(Endpoint),
    "api_key": Kind(Token),
    "models": Kind(list_of(Text)),
    "weight": Kind(Annotated[int, Number(ge=1, le=1000)]),
}
_FIELDS = [
    TableField(name, kind, is_required=name in ("name", "url"))
    for name, kind in UPSTREAM_KINDS.items()
]


def read_upstreams(
    entry: DocumentEntry, problems: Problems
) -> dict[str, tuple[Upstream, LinePlace]]:
    """The list ``upstreams``: each by its name, and where it stands."""
    found: dict[str, tuple[Upstream, LinePlace]] = {}
    for part in items_of(entry.part, where="upstreams", problems=problems):
        values = read_fields(part, _FIELDS, where="an upstream", problems=problems)
        places = {name: place for name, (_, place) in found.items()}
        if values is not None and unique(places, values["name"], part.place, problems):
            found[values["name"]] = Upstream(**values), part.place
    return found
