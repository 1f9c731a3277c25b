"""Reads a request, in a thread with a time limit, so that its answers can be checked."""

import asyncio
import logging
from functools import partial
from typing import Any

from groundwire.detection.values import Outcome
from groundwire.errors import InputError, InvalidTextError
from groundwire.gateway.chat.answer_checks import CheckTimeoutError
from groundwire.gateway.chat.chat_request import ChatRequest
from groundwire.gateway.http.caller import Caller
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.services import Services
from groundwire.pipeline import RequestContext
from groundwire.policy.policy import Action, decide

log = logging.getLogger(__name__)


async def open_context(services: Services, chat: ChatRequest, caller: Caller) -> RequestContext:
    """Read a request, and return the context for the check of its answers.

    If the request cannot be read, or not in time, the context gives the reason, and no answer can
    be checked.

    Raises:
        InputError: If the request is not a conversation, or if its text is invalid (a lone
            surrogate) and the policy blocks unchecked answers.
        Problem: 503, if the request could not be read for another reason, such as the time limit,
            and the policy blocks unchecked answers.
    """
    loop, limit_s = asyncio.get_running_loop(), services.config.gateway.check_timeout_s
    who: dict[str, Any] = {
        "tenant": caller.tenant,
        "overrides": caller.overrides,
        "repair_s": limit_s / 2,
    }
    read = partial(services.pipeline.open, chat.body, **who, request=chat.asks)
    try:
        async with asyncio.timeout(limit_s):
            return await loop.run_in_executor(services.opening, read)
    except Exception as error:
        if isinstance(error, InputError) and not isinstance(error, InvalidTextError):
            raise
        is_late = isinstance(error, TimeoutError)
        reason = CheckTimeoutError.__name__ if is_late else type(error).__name__
        log.warning("A request could not be read before its answer: %s", reason)
        context = services.pipeline.unopened(reason, **who, request=chat.asks)
        if decide(context.policy, Outcome.UNAVAILABLE) is not Action.BLOCK:
            return context
        if isinstance(error, InputError):
            raise
        raise Problem.named("check_unavailable", limit_s=limit_s, reason=reason) from error
