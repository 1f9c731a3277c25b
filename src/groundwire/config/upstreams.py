"""What answers requests: one server, or several that share the models among them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.config.document import DocumentEntry, LinePlace
from groundwire.config.fields import Problems, TableField, Texts, items_of, read_fields, unique
from groundwire.config.keys import Token
from groundwire.config.kinds import Endpoint, Name, Number, Secret, SettingKind, Text

#: The one that is given as ``upstream.url``.
DEFAULT_UPSTREAM = "default"

#: Fields of an upstream → what they may be.
UPSTREAM_KINDS: Mapping[str, SettingKind] = {
    "name": Name(),
    "url": Endpoint(),
    "api_key": Token(),
    "models": Texts(Text()),
    "weight": Number(low=1, high=1000, is_whole=True),
}

_REQUIRED = ("name", "url")


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


def read_upstreams(
    entry: DocumentEntry, problems: Problems
) -> dict[str, tuple[Upstream, LinePlace]]:
    """The list ``upstreams``: each by its name, and where it stands."""
    return {upstream.name: (upstream, place) for upstream, place in _read(entry, problems)}


def _read(entry: DocumentEntry, problems: Problems) -> Iterator[tuple[Upstream, LinePlace]]:
    fields = [
        TableField(name=name, kind=kind, is_required=name in _REQUIRED)
        for name, kind in UPSTREAM_KINDS.items()
    ]
    places: dict[str, LinePlace] = {}
    for part in items_of(entry.part, where="upstreams", problems=problems):
        values = read_fields(part, fields, where="an upstream", problems=problems)
        if values is not None and unique(places, values["name"], part.place, problems):
            places[values["name"]] = part.place
            yield Upstream(**values), part.place


def upstream_data(upstream: Upstream) -> dict[str, Any]:
    """An upstream as it stands in a file, but for its key."""
    return {
        "name": upstream.name,
        "url": upstream.url,
        "models": list(upstream.models),
        "weight": upstream.weight,
    }
