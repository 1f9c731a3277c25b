"""Leaves out sources beyond limits on their length and number, and counts what was left out.

The sources that were left out count as evidence that was offered and not indexed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from groundwire.detection.values import Detection, Reason, decide_outcome

#: Defaults of the settings ``max-sources`` and ``max-source-length`` of DVARA, an LLM gateway.
MAX_SOURCES, MAX_SOURCE_CHARS = 50, 10_000

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited(Generic[_T]):
    """The sources within the limits, and counts of the sources that were left out.

    Attributes:
        kept: The sources within the limits, in the order in which they were given.
        reasons: Reason → number of sources that were left out for it.
        dropped_chars: Characters of all sources that were left out.
    """

    kept: tuple[_T, ...]
    reasons: Mapping[Reason, int]
    dropped_chars: int


def account_for(
    detection: Detection, reasons: Mapping[Reason, int], *, dropped_chars: int = 0
) -> Detection:
    """Add parts that were left out to the coverage of a detection, and decide its outcome anew.

    Args:
        detection: The detection, which was made without these parts of evidence or answer.
        reasons: Reason → how often something was left out for it; if all counts are 0, the
            detection is returned unchanged.
        dropped_chars: Characters of evidence that were left out.
    """
    added = +Counter(reasons)
    if not added:
        return detection
    coverage = replace(
        detection.coverage,
        offered_chars=detection.coverage.offered_chars + dropped_chars,
        reasons=added + Counter(detection.coverage.reasons),
    )
    return replace(detection, coverage=coverage, outcome=decide_outcome(detection.claims, coverage))


def limit_by(
    sources: Iterable[_T],
    n_chars: Callable[[_T], int],
    *,
    max_sources: int = MAX_SOURCES,
    max_source_chars: int = MAX_SOURCE_CHARS,
) -> Limited[_T]:
    """Leave out sources that are too long, and then all after the first ``max_sources``.

    ``n_chars`` returns the number of characters of a source. With a limit of 0 or less, there is no
    limit.
    """
    given = list(sources)
    fitting = [each for each in given if max_source_chars <= 0 or n_chars(each) <= max_source_chars]
    kept = tuple(fitting if max_sources <= 0 else fitting[:max_sources])
    n_long, n_over_cap = len(given) - len(fitting), len(fitting) - len(kept)
    return Limited(
        kept=kept,
        reasons=+Counter({Reason.DROPPED_LONG: n_long, Reason.DROPPED_OVER_CAP: n_over_cap}),
        dropped_chars=sum(map(n_chars, given)) - sum(map(n_chars, kept)),
    )
