"""Measures how many milliseconds the stages of a check take."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Measure how long a ``with`` block takes, and store the milliseconds under ``stage``."""
    started = perf_counter()
    try:
        yield
    finally:
        timings[stage] = round(1000 * (perf_counter() - started), 3)


def with_total(timings: Mapping[str, float]) -> dict[str, float]:
    """Return the timings of the stages, and their sum as ``total``."""
    return {**timings, "total": round(sum(timings.values()), 3)}
