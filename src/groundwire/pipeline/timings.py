"""Milliseconds that the stages of a check take."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Measure the time of the block, and keep it under the name of its stage."""
    started = perf_counter()
    try:
        yield
    finally:
        timings[stage] = round(1000 * (perf_counter() - started), 3)


def with_total(timings: Mapping[str, float]) -> dict[str, float]:
    """The stages, and their sum as ``total``."""
    return {**timings, "total": round(sum(timings.values()), 3)}
