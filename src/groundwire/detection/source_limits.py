"""Limits on sources, as DVARA has them: sources too long or beyond a number are left out.

The library itself reads all sources. Where limits are set, sources are left out visibly: they count
as evidence offered and not indexed, so the outcome is at best ``partial``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from groundwire.detection.values import Detection, Reason, decide_outcome

#: DVARA's ``max-sources`` and ``max-source-length``.
MAX_SOURCES, MAX_SOURCE_CHARS = 50, 10_000


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited(Generic[_T]):
    """Sources within the limits, and what was left out.

    Attributes:
        kept: The sources within the limits, in their order.
        n_long: Number of sources that were too long.
        n_over_cap: Number of sources beyond the largest number.
        dropped_chars: Characters of all that were left out.
    """

    kept: tuple[_T, ...]
    n_long: int
    n_over_cap: int
    dropped_chars: int

    @property
    def reasons(self) -> dict[Reason, int]:
        """Reason → number of sources left out, with the reasons of coverage."""
        dropped = {Reason.DROPPED_LONG: self.n_long, Reason.DROPPED_OVER_CAP: self.n_over_cap}
        return {reason: count for reason, count in dropped.items() if count}

    def account_for(self, detection: Detection) -> Detection:
        """Count the sources left out in a detection of the others."""
        return account_for(detection, self.reasons, dropped_chars=self.dropped_chars)


def account_for(
    detection: Detection, reasons: Mapping[Reason, int], *, dropped_chars: int = 0
) -> Detection:
    """Count what was left out in the coverage and outcome of a detection.

    Args:
        detection: The detection of the rest.
        reasons: Reason → how often something was left out.
        dropped_chars: Characters of evidence that were left out.
    """
    added = {reason: count for reason, count in reasons.items() if count}
    if not added:
        return detection
    known = detection.coverage.reasons
    coverage = replace(
        detection.coverage,
        offered_chars=detection.coverage.offered_chars + dropped_chars,
        reasons={**known, **{each: known.get(each, 0) + added[each] for each in added}},
    )
    return replace(detection, coverage=coverage, outcome=decide_outcome(detection.claims, coverage))


def limit_by(
    sources: Iterable[_T],
    n_chars: Callable[[_T], int],
    *,
    max_sources: int = MAX_SOURCES,
    max_source_chars: int = MAX_SOURCE_CHARS,
) -> Limited[_T]:
    """Leave out sources that are too long, then those beyond a number.

    Args:
        sources: The sources.
        n_chars: Returns how many characters a source has.
        max_sources: Number of sources that are kept, the first ones; 0 or less keeps all.
        max_source_chars: A source with more characters is left out whole; 0 or less keeps all.
    """
    given = list(sources)
    fitting = [each for each in given if max_source_chars <= 0 or n_chars(each) <= max_source_chars]
    kept = tuple(fitting if max_sources <= 0 else fitting[:max_sources])
    return Limited(
        kept=kept,
        n_long=len(given) - len(fitting),
        n_over_cap=len(fitting) - len(kept),
        dropped_chars=sum(map(n_chars, given)) - sum(map(n_chars, kept)),
    )
