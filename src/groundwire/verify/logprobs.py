"""P(yes), P(no) and P(unsure) from the logarithms of token probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum

from groundwire.verify.interval import UNKNOWN, ProbabilityInterval
from groundwire.verify.verifier import Readout, TopToken, Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class TokenPosition:
    """One token of an answer, with the likeliest tokens at its place, which may include it."""

    token: TopToken
    top: tuple[TopToken, ...]


def read_single(positions: Sequence[TokenPosition]) -> Readout:
    """Read the answer about one claim from its first token that is not white space.

    Args:
        positions: The tokens of the answer, at least one.
    """
    return readout(next((p for p in positions if p.token.token.strip()), positions[0]))


def read_group(text: str, positions: Sequence[TokenPosition], n: int) -> tuple[Readout, ...] | None:
    """Read the answers about ``n`` claims; ``None`` unless all letters, lines and tokens agree.

    A reading that is off by one would give each claim its neighbour's verdict, so there is no
    partial one.
    """
    read = [p for p in positions if p.token.token.strip()]
    said = [verdict_of(p.token.token) for p in read]
    lines = [verdict_of(line) for line in text.splitlines() if line.strip()]
    if len(said) != n or None in said or lines != said:
        return None
    return tuple(readout(position) for position in read)


def readout(position: TokenPosition) -> Readout:
    """Read P(yes), P(no) and P(unsure) at one token, as sums over the spellings of each.

    Other spellings may be among the tokens that the endpoint left out, so each verdict may be
    likelier by all of those together. If it gave no likeliest tokens at all, a verdict that is not
    there may have any probability.
    """
    top, written = position.top, position.token
    told = (*top, written) if written.token not in {each.token for each in top} else top
    rest = max(0.0, 1.0 - fsum(_p(each.logprob) for each in told))
    found: dict[Verdict, float] = {}
    for each in told:
        verdict = verdict_of(each.token)
        if verdict is not None:
            found[verdict] = found.get(verdict, 0.0) + _p(each.logprob)
    absent = ProbabilityInterval(0.0, rest) if top else UNKNOWN
    yes, no, unsure = (
        _at_least(found[verdict], rest) if verdict in found else absent
        for verdict in (Verdict.YES, Verdict.NO, Verdict.UNSURE)
    )
    return Readout(yes=yes, no=no, unsure=unsure, generated=written.token, topk=top)


def _at_least(probability: float, rest: float) -> ProbabilityInterval:
    return ProbabilityInterval(min(1.0, probability), min(1.0, probability + rest))


def _p(logprob: float) -> float:
    return min(1.0, exp(logprob))
