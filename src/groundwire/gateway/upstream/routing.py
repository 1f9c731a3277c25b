"""Chooses the upstreams to which a request may be sent, and their order."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from random import Random

from groundwire.config.upstreams import Upstream

#: The pattern of an upstream that serves all models that no upstream names.
EVERYTHING = "*"


def serving(model: str, upstreams: Sequence[Upstream]) -> tuple[Upstream, ...]:
    """Return the upstreams that serve a model, in their configured order.

    If upstreams name the model, in full or by a pattern, only these serve it. Upstreams with the
    pattern ``*`` serve the models that no upstream names: otherwise some requests for a named model
    would go to an upstream that does not have it.
    """
    naming = tuple(each for each in upstreams if _names(each, model))
    return naming or tuple(each for each in upstreams if EVERYTHING in each.models)


def in_order(
    model: str | None, upstreams: Sequence[Upstream], *, random: Random
) -> tuple[Upstream, ...]:
    """Return the upstreams that may be asked, in the order in which they are tried.

    Args:
        model: Name of the model; only the upstreams that serve it are returned. With ``None``, all
            are returned, always those with the largest weight first: requests that name no model
            are often about a file or a batch that one upstream stores.
        upstreams: All upstreams.
        random: Generator for the order of the upstreams of a named model. An upstream with a larger
            weight is more likely to be early.
    """
    if model is None:
        return tuple(sorted(upstreams, key=lambda each: -each.weight))
    # Each upstream gets the number u ** (1 / weight), with a random u in [0, 1). Sorting by these
    # numbers, the largest first, gives the order of a weighted random sample without replacement
    # (Efraimidis and Spirakis, 2006).
    drawn = [(random.random() ** (1 / each.weight), each) for each in serving(model, upstreams)]
    return tuple(each for _, each in sorted(drawn, key=lambda pair: -pair[0]))


def _names(upstream: Upstream, model: str) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in upstream.models if pattern != EVERYTHING)
