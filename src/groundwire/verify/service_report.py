"""A service's JSON → our report. What it does not say is not made up; what is odd is an error."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeGuard

from groundwire.verify.budget import Amount
from groundwire.verify.citing import Normalization
from groundwire.verify.claims import VerifiableClaim
from groundwire.verify.interval import UNKNOWN, ProbabilityInterval
from groundwire.verify.report import ClaimReport, VerificationSetup
from groundwire.verify.rule import (
    PASSED,
    ClaimDecision,
    ClaimStatus,
    DecisionRule,
    Measures,
    after_posterior,
)
from groundwire.verify.verifier import Readout

#: Whole numbers beyond are not those of a claim, nor all JSON readers'.
_MAX_NUMBER = 2**53

#: Numbers that are no further apart are one, written otherwise.
_ROUNDING = 1e-6

#: What says of a claim that it could not be verified, if it is true or not empty.
_NOT_VERIFIED = ("error", "unknown_citations", "empty_context", "no_spans", "skipped_verifier")


class NoReportError(ValueError):
    """A response is no report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a service was asked about.

    Attributes:
        claims: What it has to score, as we read it.
        is_numbered: Whether it was sent these claims by their numbers, as steps are, and so has to
            tell of each. An answer it divides as it likes.
    """

    claims: tuple[VerifiableClaim, ...]
    is_numbered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReport:
    """What a service found.

    Attributes:
        details: One report for each claim that it scored.
        is_truncated: Whether it says that it left claims out, or did.
        n_missing: Claims that it does not tell of, as far as can be told.
    """

    details: tuple[ClaimReport, ...]
    is_truncated: bool
    n_missing: int


def read_report(response: object, setup: VerificationSetup, sent: Sent) -> ServiceReport:
    """Read a service's report.

    Raises:
        NoReportError: If it is none, tells of an error, or does not agree with itself or with what
            was sent. A report that says no more than that all is well is none.
    """
    if not isinstance(response, Mapping):
        raise NoReportError("it is no object")
    if response.get("error"):
        kind = response.get("error_type")
        known = kind if kind in ("no_spans", "malformed_spans") else "an error"
        raise NoReportError(f"it tells of {known}")
    if not _is_text(response):
        raise NoReportError("it holds what is no text")
    flagged = response.get("flagged")
    if not isinstance(flagged, bool) or response.get("under_budget", flagged) is not flagged:
        raise NoReportError("it does not say whether the answer is flagged")
    details = response.get("details")
    if not isinstance(details, list) or not details:
        raise NoReportError("it has no details")
    targets = {each.idx: each.target for each in sent.claims} if sent.is_numbered else {}
    read = tuple(_detail(each, at, setup, targets) for at, each in enumerate(details))
    said = [each["flagged"] for each in details]
    summary = response.get("summary")
    summary = summary if isinstance(summary, Mapping) else {}
    total = _number(summary.get("claims_total")) or 0
    is_cut = summary.get("truncated") is True or total > len(read)
    if flagged is not any(said) and not (flagged and is_cut):
        raise NoReportError("what it says of the answer is not what it says of the claims")
    _require_counts(summary, setup, n_flagged=sum(said), n=len(read))
    _require_numbers([each.claim.idx for each in read], sent)
    n_missing = 0 if _tells_all(read, sent.claims) else len(sent.claims) - len(read)
    return ServiceReport(details=read, is_truncated=is_cut or n_missing > 0, n_missing=n_missing)


def _tells_all(read: Sequence[ClaimReport], claims: Sequence[VerifiableClaim]) -> bool:
    """Whether there are as many claims as ours, or fewer that hold ours one after the other."""
    if len(read) >= len(claims):
        return True
    told, at = _squeezed(" ".join(each.claim.raw_text for each in read)), 0
    for claim in claims:
        # A service may or may not have left the citations in its claims.
        ends = [
            found + len(text)
            for text in map(_squeezed, (claim.raw_text, claim.text))
            if (found := told.find(text, at)) >= 0
        ]
        if not ends:
            return False
        at = min(ends)
    return True


def _squeezed(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _require_counts(
    summary: Mapping[str, Any], setup: VerificationSetup, *, n_flagged: int, n: int
) -> None:
    words = setup.words
    if summary.get(words.scored, n) != n or summary.get(words.flagged, n_flagged) != n_flagged:
        raise NoReportError("it counts other claims than it tells of")


def _require_numbers(numbers: Sequence[int], sent: Sent) -> None:
    if len(set(numbers)) < len(numbers):
        raise NoReportError("two of its claims have one number")
    if sent.is_numbered and set(numbers) != {each.idx for each in sent.claims}:
        raise NoReportError("its steps are not those that were sent")


def _detail(
    value: object, at: int, setup: VerificationSetup, targets: Mapping[int, float | None]
) -> ClaimReport:
    if not isinstance(value, Mapping) or not isinstance(value.get("flagged"), bool):
        raise NoReportError(f"its claim {at} does not say whether it is flagged")
    idx, claim = value.get("idx", at), value.get("claim")
    if not _is_whole(idx) or not isinstance(claim, str):
        raise NoReportError(f"its claim {at} has no number or no text")
    wanted = targets.get(idx) or setup.target
    target = _probability(value.get("target"), wanted)
    if target < wanted - _ROUNDING:
        raise NoReportError(f"its claim {at} had to reach less than was asked for")
    if not value["flagged"]:
        _require_pass(value, at, setup)
    posterior = _readout(value.get("post_yes"))
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
        target=target,
        decision=_decision(value, posterior, target),
        measures=Measures(
            required=_amount(value.get("required")),
            observed=_amount(value.get("observed")),
            gap=_amount(value.get("budget_gap")),
        ),
        posterior=posterior,
        prior=_readout(value.get("prior_yes")),
        is_missing_citations=value.get("missing_citations") is True,
        has_empty_context=value.get("empty_context") is True,
        units=setup.units,
    )


def _require_pass(value: Mapping[str, Any], at: int, setup: VerificationSetup) -> None:
    """Make sure that nothing which is said of a claim speaks against its having passed."""
    if value.get("status") not in (None, ClaimStatus.PASSED):
        raise NoReportError(f"its claim {at} is not flagged, and did not pass")
    if any(value.get(name) for name in _NOT_VERIFIED):
        raise NoReportError(f"its claim {at} is not flagged, and could not be verified")
    gap = _amount(value.get("budget_gap"))
    if gap is not None and gap.min > _ROUNDING:
        raise NoReportError(f"its claim {at} is not flagged, and its evidence brings too little")
    is_cited = value.get("has_any_citations", True) and not value.get("missing_citations")
    if setup.require_citations and not is_cited:
        raise NoReportError(f"its claim {at} is not flagged, and lacks citations")


def _decision(value: Mapping[str, Any], posterior: Readout | None, target: float) -> ClaimDecision:
    """The service's own; but what its evidence speaks against has not passed, by whatever rule."""
    if not value["flagged"]:
        if posterior is None:
            return PASSED
        return after_posterior(posterior, target=target, rule=DecisionRule.SIGNED) or PASSED
    said = value.get("status")
    if isinstance(said, str) and said in set(ClaimStatus) - {ClaimStatus.PASSED}:
        return ClaimDecision(status=ClaimStatus(said))
    is_missing = value.get("missing_citations") is True
    return ClaimDecision(
        status=ClaimStatus.MISSING_CITATIONS if is_missing else ClaimStatus.UNDER_BUDGET
    )


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
    return Readout(
        yes=ProbabilityInterval(low, high), no=UNKNOWN, unsure=UNKNOWN, generated=generated
    )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or abs(value) > 1e9 or not isfinite(value):  # type: ignore[arg-type]
        return None
    return float(value)  # type: ignore[arg-type]


def _probability(value: object, default: float) -> float:
    number = _number(value)
    return number if number is not None and 0 < number < 1 else default


def _is_text(response: object) -> bool:
    """Whether all its strings can be written; JSON escapes may be halves of characters."""
    try:
        json.dumps(response, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(str(each) for each in items if isinstance(each, str) or _is_whole(each))


def _normalizations(value: object) -> tuple[Normalization, ...]:
    items = value if isinstance(value, list) else []
    return tuple(
        Normalization(_text(each.get("raw")), _text(each.get("resolved")))
        for each in items
        if isinstance(each, Mapping)
    )
