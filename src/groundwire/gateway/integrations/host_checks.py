"""Runs checks for other systems: with a time limit, counted and recorded as in ``/v1/check``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi import Request as HttpRequest
from pydantic import BaseModel, ConfigDict

from groundwire.detection.example import read_sources
from groundwire.detection.values import Claim, Label, Outcome, worst
from groundwire.gateway.http.refusals import blocked
from groundwire.gateway.http.streamed import until_disconnect
from groundwire.gateway.middleware.state import caller, services
from groundwire.gateway.native.recorded import Result, recorded
from groundwire.gateway.native.route import NativeRoute
from groundwire.pipeline import Checked, CheckPath, RequestContext
from groundwire.pipeline.conversation.response import Answer
from groundwire.policy.policy import Action, Request

#: Other systems (hosts) ask whether to withhold an answer, so each of their checks requests the
#: action ``block``.
_BLOCKS = Request(action=Action.BLOCK)

#: Outcomes of answers that were checked, or need no check.
_CHECKED = frozenset({Outcome.GROUNDED, Outcome.HALLUCINATED, Outcome.SKIPPED})


class HostModel(BaseModel):
    """Base class of models of bodies that other systems send; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def host_router() -> APIRouter:
    """Make the router for the endpoints of a host, which the OpenAPI document leaves out."""
    return APIRouter(route_class=NativeRoute, include_in_schema=False)


async def check_answer(
    http: HttpRequest, answer: str, *, sources: Sequence[str], question: str | None
) -> Checked:
    """Check an answer against the given sources.

    Raises:
        Problem: If the check takes too long, or its record is required and cannot be written.
        ClientGoneError: If the host has disconnected.
        InputError: If a source is not valid Unicode.
    """
    pipeline = services(http).pipeline
    (found,) = await _checked(
        http,
        # The sources are read here, in the thread of the check.
        lambda **own: pipeline.open_answer(read_sources(sources), question=question, **own),
        [answer],
    )
    return found


async def check_chat(
    http: HttpRequest, body: Mapping[str, Any] | None, answers: Sequence[str | Answer]
) -> tuple[Checked, ...]:
    """Check the answers to a chat request; its messages have the question and the evidence.

    If the ``body`` of the chat request is unknown (``None``), there is no evidence.

    Raises:
        InvalidConversationError: If the body is not a chat request.
        InputError: If the question or the evidence is not valid Unicode.
        Problem, ClientGoneError: For the same reasons as in :func:`check_answer`.
    """
    pipeline = services(http).pipeline
    opened = pipeline.open_answer if body is None else partial(pipeline.open, body)
    return await _checked(http, opened, answers)


async def _checked(
    http: HttpRequest, opened: Callable[..., RequestContext], answers: Sequence[str | Answer]
) -> tuple[Checked, ...]:
    """Check answers in the context that ``opened`` makes for the policy of the caller."""
    pipeline, who = services(http).pipeline, caller(http)

    def work() -> Result:
        context = opened(tenant=who.tenant, overrides=who.overrides, request=_BLOCKS)
        found = tuple(pipeline.check(context, each) for each in answers)
        outcome = worst(each.outcome for each in found) if found else None
        return Result(context=context, answers=found, outcome=outcome)

    return (await until_disconnect(http, recorded(http, work))).answers


def is_withheld(answers: Sequence[Checked]) -> bool:
    """Return whether the policy withholds one of the answers."""
    return any(each.action is Action.BLOCK for each in answers)


def refusal(answers: Sequence[Checked]) -> str:
    """Return the reason for withholding answers, without quoting them; empty if all may pass."""
    return blocked(answers).message if is_withheld(answers) else ""


def is_checked(answers: Sequence[Checked]) -> bool:
    """Return whether each answer was checked or needs no check; false if checks are switched off.

    A hallucinated answer counts as checked, even if some of its claims were not checked.
    """
    return all(e.outcome in _CHECKED and e.context.path is not CheckPath.OFF for e in answers)


def doubt(checked: Checked) -> float:
    """Return P(not supported) of an answer, in [0, 1].

    Without a probability, the result is 0 for a grounded or skipped answer, and 1 for others.
    """
    probability = None if checked.detection is None else checked.detection.probability
    if probability is None:
        return float(checked.outcome not in (Outcome.GROUNDED, Outcome.SKIPPED))
    return probability


def unread_claims(checked: Checked) -> tuple[Claim, ...]:
    """Return the claims that could not be checked."""
    claims = () if checked.detection is None else checked.detection.claims
    return tuple(each for each in claims if each.label is Label.UNCHECKED)
