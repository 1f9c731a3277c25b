"""The upstreams: servers with an LLM API that answer requests, each for certain models."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated

from groundwire.config.document import DocumentEntry
from groundwire.config.fields import Problems, TableField, items_of, read_fields
from groundwire.config.keys import Token
from groundwire.config.kinds import Endpoint, Kind, Name, Number, Texts

#: Name of the upstream whose URL is given as ``upstream.url``.
DEFAULT_UPSTREAM = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A server with an OpenAI-compatible API.

    Attributes:
        name: Name of the upstream in logs and metrics.
        url: Base URL of its API, such as ``https://api.openai.com/v1``.
        api_key: The key for its API; ``None``: the key that the caller sends for it, if any.
        models: Patterns of the names of its models, as :func:`fnmatch.fnmatchcase` reads them.
        weight: Weight of the upstream when one is chosen among several that have a model.
    """

    name: Name
    url: Endpoint
    api_key: Token | None = None
    models: Texts = ("*",)
    weight: Annotated[int, Number(ge=1, le=1000)] = 1


#: The fields of an upstream in a file, and their types.
UPSTREAM_KINDS: Mapping[str, Kind] = {each.name: Kind(each.type) for each in fields(Upstream)}
_FIELDS = [
    TableField(each.name, UPSTREAM_KINDS[each.name], is_required=each.default is MISSING)
    for each in fields(Upstream)
]


def read_upstreams(entry: DocumentEntry, problems: Problems) -> tuple[Upstream, ...]:
    """Read the list ``upstreams``; leave out wrong items, and add their errors to ``problems``."""
    found = []
    for part in items_of(entry.part, where="upstreams", problems=problems):
        values = read_fields(part, _FIELDS, where="an upstream", problems=problems)
        if values is not None and problems.is_new("upstreams", values["name"], part.place):
            found.append(Upstream(**values))
    return tuple(found)
