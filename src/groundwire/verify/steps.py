"""Steps of a plan or a reasoning trace, read as claims with targets of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.detection.example import require_text
from groundwire.errors import InvalidTextError
from groundwire.verify.citing import IdMap
from groundwire.verify.claims import VerifiableClaim, bare_text, find_citations
from groundwire.verify.errors import NotVerifiedError

_NEXT = 'A step is such as {"idx": 0, "claim": "...", "cites": ["S0"], "confidence": 0.95}.'


def read_steps(
    steps: object, *, span_ids: Sequence[str], citation_regex: str | None = None
) -> tuple[VerifiableClaim, ...]:
    """Read steps, sorted by ``idx``; one without has its place.

    A step cites what ``cites`` names, and what stands in brackets in its claim.

    Args:
        steps: A list of mappings with ``claim`` and perhaps ``idx``, ``cites`` and ``confidence``
            (the probability the step has to reach, above 0 and below 1), or a mapping that has
            such a list as ``steps``.
        span_ids: Ids of the spans that may be cited.
        citation_regex: As :func:`~groundwire.verify.claims.read_claims` takes.

    Raises:
        NotVerifiedError: ``malformed_steps`` if a step is not as described or two have the same
            ``idx``; ``invalid_argument`` if the regular expression cannot be used.
    """
    if isinstance(steps, Mapping):
        steps = steps.get("steps")
    if isinstance(steps, str | bytes) or not isinstance(steps, Sequence):
        raise _malformed(f"steps is a {type(steps).__name__}, not a list. {_NEXT}")
    known = frozenset(span_ids)
    read = [_read(step, at, known, citation_regex) for at, step in enumerate(steps)]
    ids = IdMap.of(known, (id_ for claim in read for id_ in claim.raw_cites))
    numbers = [claim.idx for claim in read]
    if len(set(numbers)) < len(numbers):
        raise _malformed("Two steps have the same idx. Number each step once.")
    return tuple(sorted((_resolved(claim, ids) for claim in read), key=lambda claim: claim.idx))


def _read(
    step: object, at: int, known: frozenset[str], citation_regex: str | None
) -> VerifiableClaim:
    if not isinstance(step, Mapping):
        raise _malformed(f"step {at} is a {type(step).__name__}. {_NEXT}")
    claim, idx = step.get("claim"), step.get("idx", at)
    if not isinstance(claim, str) or not any(char.isalnum() for char in claim):
        raise _malformed(f"step {at} has no claim. {_NEXT}")
    if isinstance(idx, bool) or not isinstance(idx, int):
        raise _malformed(f"step {at} has an idx that is no whole number. {_NEXT}")
    try:
        require_text(claim, f"claim of step {at}")
    except InvalidTextError as error:
        raise _malformed(str(error)) from error
    marks = find_citations(claim, known, citation_regex)
    named = _cites(step.get("cites"), at)
    raw = dict.fromkeys([*named, *(id_ for mark in marks for id_ in mark.ids)])
    return VerifiableClaim(
        idx=idx,
        text=bare_text(claim, [(mark.start, mark.end) for mark in marks]) or claim,
        raw_text=claim,
        raw_cites=tuple(raw),
        target=_confidence(step.get("confidence"), at),
    )


def _resolved(claim: VerifiableClaim, ids: IdMap) -> VerifiableClaim:
    cites = ids.read(claim.raw_cites)
    return replace(
        claim, cites=cites.ids, normalizations=cites.normalizations, unknown=cites.unknown
    )


def _cites(value: object, at: int) -> list[str]:
    if value is None:
        return []
    items = [value] if isinstance(value, str | int) else value
    if isinstance(items, Mapping) or not isinstance(items, Sequence):
        raise _malformed(f"step {at} has cites that are no list of ids. {_NEXT}")
    found = []
    for each in items:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise _malformed(f"step {at} cites what is no id. {_NEXT}")
        id_ = str(each).strip().removeprefix("[").removesuffix("]").strip()
        try:
            require_text(id_, f"cites of step {at}")
        except InvalidTextError as error:
            raise _malformed(str(error)) from error
        if id_:
            found.append(id_)
    return found


def _confidence(value: object, at: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1:
        return float(value)
    raise _malformed(
        f"step {at} has a confidence that is no number above 0 and below 1. It is the "
        "probability that the step has to reach, such as 0.95."
    )


def _malformed(message: str) -> NotVerifiedError:
    return NotVerifiedError("malformed_steps", message)
