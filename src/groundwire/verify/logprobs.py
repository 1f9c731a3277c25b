"""From the logarithms of token probabilities to P(yes), P(no) and P(unsure). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Any

from groundwire.verify.interval import UNKNOWN, ProbabilityInterval
from groundwire.verify.verifier import Readout, TopToken, Verdict, verdict_of

#: Some servers round a logarithm to a little above 0.
_SLACK = 1e-3
_LEAST = -1e9


class NoLogprobsError(ValueError):
    """An endpoint's answer has no logprobs."""


class MalformedLogprobsError(ValueError):
    """An endpoint's answer, or its logprobs, are not as the API describes them."""


@dataclass(frozen=True, slots=True)
class TokenPosition:
    """One token of an answer, with the likeliest tokens in its place; it is one of them or not."""

    token: TopToken
    top: tuple[TopToken, ...]


def read_positions(completion: object) -> tuple[str, tuple[TokenPosition, ...]]:
    """The text of a chat completion, and its tokens.

    Raises:
        NoLogprobsError: If it has no logprobs.
        MalformedLogprobsError: If it, or they, are not as described.
    """
    choices = completion.get("choices") if isinstance(completion, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise MalformedLogprobsError("there is no choice in it")
    logprobs = choices[0].get("logprobs")
    if logprobs is None or (isinstance(logprobs, Mapping) and logprobs.get("content") is None):
        raise NoLogprobsError
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list):
        raise MalformedLogprobsError("logprobs.content is no list")
    if not content:
        raise NoLogprobsError
    message = choices[0].get("message")
    text = message.get("content") if isinstance(message, Mapping) else None
    positions = tuple(_position(each) for each in content)
    return text if isinstance(text, str) else "", positions


def read_single(positions: Sequence[TokenPosition]) -> Readout:
    """The answer about one claim: its first token that is not white space.

    Raises:
        MalformedLogprobsError: If there is no token.
    """
    if not positions:
        raise MalformedLogprobsError("there is no token in it")
    return readout(next((p for p in positions if p.token.token.strip()), positions[0]))


def read_group(text: str, positions: Sequence[TokenPosition], n: int) -> tuple[Readout, ...] | None:
    """The answers about ``n`` claims; ``None`` unless letters, lines and tokens agree in all of it.

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
    """P(yes), P(no) and P(unsure) at one token: sums over the spellings of each that are told.

    Others may be among the tokens that are not, so each verdict may be as much likelier as all of
    those together. If no likeliest tokens are told, anything is possible of a verdict that is not
    there.
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


def _position(value: object) -> TokenPosition:
    if not isinstance(value, Mapping):
        raise MalformedLogprobsError("a token is no object")
    top = value.get("top_logprobs")
    if top is not None and not isinstance(top, list):
        raise MalformedLogprobsError("top_logprobs is no list")
    return TokenPosition(_token(value), tuple(_token(each) for each in top or ()))


def _token(value: Any) -> TopToken:  # noqa: ANN401 - whatever an endpoint sent
    token = value.get("token") if isinstance(value, Mapping) else None
    logprob = value.get("logprob") if isinstance(value, Mapping) else None
    if (
        not isinstance(token, str)
        or isinstance(logprob, bool)
        or not isinstance(logprob, int | float)
    ):
        raise MalformedLogprobsError("a token has no text or no logprob")
    if not _LEAST <= logprob <= _SLACK:  # which NaN is not
        raise MalformedLogprobsError("a logprob is no logarithm of a probability")
    return TopToken(token=token, logprob=float(logprob))
