"""A service's JSON → our report. What it does not say is not made up; what is odd is an error."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from groundwire.verify.budget import Amount
from groundwire.verify.citing import Normalization
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.interval import UNKNOWN, Interval
from groundwire.verify.report import ClaimReport, Setup
from groundwire.verify.rule import Decision, Measures, Status
from groundwire.verify.verifier import Readout


class NoReportError(ValueError):
    """A response is no report."""


def read_details(response: object, setup: Setup) -> tuple[ClaimReport, ...]:
    """The claims of a service's report.

    Raises:
        NoReportError: If it is none, tells of an error, or does not agree with itself. A report
            that says no more than that all is well is none.
    """
    if not isinstance(response, Mapping):
        raise NoReportError("it is no object")
    if response.get("error"):
        kind = response.get("error_type")
        known = kind if kind in ("no_spans", "malformed_spans") else "an error"
        raise NoReportError(f"it tells of {known}")
    flagged = response.get("flagged")
    if not isinstance(flagged, bool) or response.get("under_budget", flagged) is not flagged:
        raise NoReportError("it does not say whether the answer is flagged")
    details = response.get("details")
    if not isinstance(details, list) or not details:
        raise NoReportError("it has no details")
    read = tuple(_detail(each, at, setup) for at, each in enumerate(details))
    if flagged is not any(each.flagged for each in read) and not (flagged and _is_cut(response)):
        raise NoReportError("what it says of the answer is not what it says of the claims")
    return read


def is_truncated(response: object) -> bool:
    """Whether a service says that it left claims out."""
    return isinstance(response, Mapping) and _is_cut(response)


def _is_cut(response: Mapping[str, Any]) -> bool:
    summary = response.get("summary")
    return isinstance(summary, Mapping) and summary.get("truncated") is True


def _detail(value: object, at: int, setup: Setup) -> ClaimReport:
    if not isinstance(value, Mapping) or not isinstance(value.get("flagged"), bool):
        raise NoReportError(f"its claim {at} does not say whether it is flagged")
    idx, claim = value.get("idx", at), value.get("claim")
    if isinstance(idx, bool) or not isinstance(idx, int) or not isinstance(claim, str):
        raise NoReportError(f"its claim {at} has no number or no text")
    return ClaimReport(
        claim=VerifiableClaim(
            idx=idx,
            text=claim,
            raw_text=_text(value.get("raw_claim")) or claim,
            cites=_texts(value.get("cites")),
            raw_cites=_texts(value.get("raw_cites")) or _texts(value.get("cites")),
            normalizations=_normalizations(value.get("citation_normalizations")),
            unknown=_texts(value.get("unknown_citations")),
        ),
        target=_probability(value.get("target"), setup.target),
        decision=Decision(status=_status(value)),
        measures=Measures(
            required=_amount(value.get("required")),
            observed=_amount(value.get("observed")),
            gap=_amount(value.get("budget_gap")),
        ),
        posterior=_readout(value.get("post_yes")),
        prior=_readout(value.get("prior_yes")),
        is_missing_citations=value.get("missing_citations") is True,
        has_empty_context=value.get("empty_context") is True,
        units=setup.units,
    )


def _status(value: Mapping[str, Any]) -> Status:
    """The service's status; of one that says none, what the flag says."""
    said = value.get("status")
    known = said if isinstance(said, str) and said in set(Status) else None
    if not value["flagged"]:
        if known not in (None, Status.PASSED):
            raise NoReportError("a claim is not flagged, and did not pass")
        return Status.PASSED
    if known is not None and known != Status.PASSED:
        return Status(known)
    is_missing = value.get("missing_citations") is True
    return Status.MISSING_CITATIONS if is_missing else Status.UNDER_BUDGET


def _amount(value: object) -> Amount | None:
    if not isinstance(value, Mapping):
        return None
    low, high = _number(value.get("min")), _number(value.get("max"))
    return None if low is None or high is None else Amount(low, high)


def _readout(value: object) -> Readout | None:
    if not isinstance(value, Mapping):
        return None
    low, high = _number(value.get("p_lower")), _number(value.get("p_upper"))
    if low is None or high is None or not 0 <= low <= high <= 1:
        return None
    generated = _text(value.get("generated"))
    return Readout(yes=Interval(low, high), no=UNKNOWN, unsure=UNKNOWN, generated=generated)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > 1e9 or not isfinite(value):  # type: ignore[arg-type]
        return None
    return float(value)  # type: ignore[arg-type]


def _probability(value: object, default: float) -> float:
    number = _number(value)
    return number if number is not None and 0 < number < 1 else default


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(str(each) for each in items if isinstance(each, str | int))


def _normalizations(value: object) -> tuple[Normalization, ...]:
    items = value if isinstance(value, list) else []
    return tuple(
        Normalization(_text(each.get("raw")), _text(each.get("resolved")))
        for each in items
        if isinstance(each, Mapping)
    )
