"""Reads P(yes), P(no) and P(unsure) from the log-probabilities of an endpoint's tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum

from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.interval import UNKNOWN, ProbabilityInterval
from groundwire.verify.verifier import FailureKind, Readout, TopToken, Verdict, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPosition(TopToken):
    """One token of an answer, as chat completions report it.

    Attributes:
        top_logprobs: The likeliest tokens at this position, which may include the written one;
            ``None`` or empty if the endpoint gave none.
    """

    top_logprobs: tuple[TopToken, ...] | None = None


def read_answers(text: str, positions: Sequence[TokenPosition], n: int) -> tuple[Readout, ...]:
    """Read the answers about ``n`` claims from a reply.

    The answer about a single claim is the first token that is not white space, or else the first
    token. A reply about several claims must have exactly ``n`` verdicts, each alone on its line and
    one token long: in any other reply, a claim could get the verdict of its neighbour.
    ``positions`` are the tokens of the reply, at least one.

    Raises:
        NotVerifiedError: If a reply about several claims does not have one verdict for each.
    """
    read = [p for p in positions if p.token.strip()]
    if n == 1:
        return (readout(read[0] if read else positions[0]),)
    said = [verdict_of(p.token) for p in read]
    lines = [verdict_of(line) for line in text.splitlines() if line.strip()]
    if len(said) != n or None in said or lines != said:
        raise NotVerifiedError(
            FailureKind.MALFORMED, f"The endpoint's answer does not have {n} separate verdicts."
        )
    return tuple(readout(position) for position in read)


def readout(written: TokenPosition) -> Readout:
    """Read P(yes), P(no) and P(unsure) at one token, as sums over the spellings of each verdict.

    Tokens that the endpoint did not list may be further spellings, so the upper bound of each
    verdict includes the probability of all these tokens. If the endpoint listed no tokens, a
    verdict that was not written may have any probability.
    """
    top = written.top_logprobs or ()
    listed = (*top, written) if written.token not in {each.token for each in top} else top
    rest = max(0.0, 1.0 - fsum(_p(each.logprob) for each in listed))
    found: dict[Verdict, float] = {}
    for each in listed:
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
