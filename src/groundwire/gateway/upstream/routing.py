"""Chooses the upstreams to ask for a model, and their order; the randomness is handed in."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from random import Random

from groundwire.config.upstreams import Upstream

#: The pattern of an upstream for all models that no other upstream names.
EVERYTHING = "*"


def serving(model: str, upstreams: Sequence[Upstream]) -> tuple[Upstream, ...]:
    """The upstreams that serve a model, in the order they are configured.

    Those that name it, by a pattern or in full, have it to themselves: an upstream of ``*`` is for
    what nobody names. Else half the requests for a model would go where it does not exist.

    Args:
        model: The name in the request.
        upstreams: All upstreams.
    """
    naming = tuple(each for each in upstreams if _names(each, model))
    return naming or tuple(each for each in upstreams if EVERYTHING in each.models)


def in_order(
    model: str | None, upstreams: Sequence[Upstream], *, random: Random
) -> tuple[Upstream, ...]:
    """Return the upstreams in the order in which they are asked, each if the one before fails.

    Args:
        model: Name of the model, or ``None`` where a request names none. Such requests are often
            about something that one upstream keeps, a file or a batch, so they always begin with
            the same: the heaviest.
        upstreams: All upstreams.
        random: Chooses by weight.
    """
    if model is None:
        return tuple(sorted(upstreams, key=lambda each: -each.weight))
    # Each draws u ** (1 / weight); the order of the draws is that of drawing without replacement
    # with these weights (Efraimidis and Spirakis, 2006).
    drawn = [(random.random() ** (1 / each.weight), each) for each in serving(model, upstreams)]
    return tuple(each for _, each in sorted(drawn, key=lambda pair: -pair[0]))


def _names(upstream: Upstream, model: str) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in upstream.models if pattern != EVERYTHING)
