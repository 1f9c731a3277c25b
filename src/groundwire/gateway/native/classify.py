"""Endpoints in the API of HaluGate, the hallucination check of vLLM Semantic Router.

The endpoints say whether a prompt needs a fact check, and whether one text follows from another.
"""

from collections.abc import Callable, Coroutine
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response
from fastapi.exceptions import RequestValidationError

from groundwire.detection.example import require_text
from groundwire.detection.values import Entailment
from groundwire.errors import GateError, InputError, UnreadableError
from groundwire.explain import Explainer, best_lines
from groundwire.gateway.http.problems import Problem, as_problem
from groundwire.gateway.middleware.state import services
from groundwire.gateway.native import models
from groundwire.gateway.native.described import errors, request_examples
from groundwire.gateway.native.route import NativeRoute
from groundwire.gateway.native.running import answer_in_thread, answered
from groundwire.policy.gate import Gate, decide
from groundwire.policy.signals import NEEDED, NOT_NEEDED

#: HaluGate's error code for invalid input.
INVALID_INPUT = "INVALID_INPUT"

#: The label of every prompt if the gate, which finds the prompts that need a fact check, is off.
DISABLED = "fact_check_disabled"
#: Names of the three classes of entailment, which are also fields of :class:`.Entailment`.
_CLASSES = ("entailment", "neutral", "contradiction")


class HaluGateRoute(NativeRoute):
    """A route whose errors 400 and 422 become 400 with HaluGate's code for invalid input."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that replaces errors 400 and 422 by HaluGate's error 400."""
        handle = super().get_route_handler()

        async def handle_renamed(request: Request) -> Response:
            try:
                return await handle(request)
            except (Problem, RequestValidationError, InputError) as error:
                problem = as_problem(error)
                if problem.status in (400, 422):
                    problem = invalid_input(problem.message, problem.next_step, problem.param)
                raise problem from None

        return handle_renamed


router = APIRouter(route_class=HaluGateRoute, tags=["HaluGate"])

_FACT_CHECK, _NLI = "/api/v1/classify/fact-check", "/api/v1/nli"
_EXAMPLES, _RESPONSES = request_examples(), errors(400, 500)


@router.post(
    _FACT_CHECK,
    operation_id="classify_fact_check",
    summary="Does a prompt call for a check?",
    response_model=models.FactCheckResponse,
    responses=_RESPONSES,
)
async def classify_fact_check(
    request: Request,
    body: Annotated[models.FactCheckRequest, Body(openapi_examples=_EXAMPLES[_FACT_CHECK])],
) -> Response:
    """Tell whether the answer to a prompt has to be checked, as the gate decides.

    A prompt that is only white space needs no check, with confidence 1. With the gate off
    (`gate.enabled: false`) the label is `fact_check_disabled`, and says nothing about the prompt.
    """
    is_on = services(request).config.gate.enabled
    gate = services(request).pipeline.gate if is_on else None
    if gate is None:
        return answered(_gated(False, 0.0, DISABLED, 0))
    return await answer_in_thread(request, lambda: _ask(gate, body))


def _ask(gate: Gate, body: models.FactCheckRequest) -> dict[str, Any]:
    started = perf_counter()
    require_text(body.text, "text")
    try:
        result = gate.classify(body.text)
    except GateError as error:
        raise Problem.named("gate_failed", n_chars=error.n_chars) from error
    threshold = body.options.confidence_threshold if body.options else None
    if threshold and body.text.strip():
        result = decide(result.probability, threshold=threshold)
    label = NEEDED if result.needs_fact_check else NOT_NEEDED
    return _gated(result.needs_fact_check, result.confidence, label, _ms_since(started))


def _gated(needed: bool, confidence: float, label: str, ms: int) -> dict[str, Any]:
    return {
        "needs_fact_check": needed,
        "confidence": confidence,
        "label": label,
        "processing_time_ms": ms,
    }


@router.post(
    _NLI,
    operation_id="nli",
    summary="What does a premise say of a hypothesis?",
    response_model=models.NliResponse,
    responses=_RESPONSES,
)
async def nli(
    request: Request, body: Annotated[models.NliRequest, Body(openapi_examples=_EXAMPLES[_NLI])]
) -> Response:
    """Let the model that explains findings tell whether a hypothesis follows from a premise.

    If the premise has more than 4,000 characters, the model reads only the lines that have most in
    common with the hypothesis; `premise_read` says which.
    """
    for name in ("premise", "hypothesis"):
        if not getattr(body, name).strip():
            raise invalid_input(f"{name}: it has no text.", "Send a text.", name)
    explainer = _explainer(request)
    return await answer_in_thread(request, lambda: _judge(explainer, body))


def _explainer(request: Request) -> Explainer:
    explainer = services(request).pipeline.explainer
    if not isinstance(explainer, Explainer):
        raise Problem.named("no_entailment_model")
    return explainer


def _judge(explainer: Explainer, body: models.NliRequest) -> dict[str, Any]:
    started = perf_counter()
    lines = best_lines(body.premise, body.hypothesis)
    try:
        found = explainer.entailment(body.hypothesis, lines)
    except UnreadableError as error:
        raise invalid_input(str(error)) from error
    except Exception as error:
        raise Problem.named("entailment_failed", kind=type(error).__name__) from error
    label, confidence = likeliest(found)
    return {
        "label": label,
        "confidence": confidence,
        **{f"{each}_prob": getattr(found, each) for each in _CLASSES},
        "processing_time_ms": _ms_since(started),
        "premise_chars": len(body.premise),
        "premise_read": [{"start": line.start, "end": line.end} for line in lines],
    }


def likeliest(found: Entailment) -> tuple[str, float]:
    """Return HaluGate's name of the likeliest class, and the probability of this class.

    Of equally likely classes, the first is returned; their order is entailment, neutral,
    contradiction.
    """
    name = max(_CLASSES, key=lambda each: float(getattr(found, each)))
    return name.upper(), getattr(found, name)


def invalid_input(message: str, next_step: str = "", param: str | None = None) -> Problem:
    """Return the error (status 400) for a request with invalid input."""
    return Problem(400, INVALID_INPUT, message=message, next_step=next_step, param=param)


def _ms_since(started: float) -> int:
    """Return the time since ``started`` in whole milliseconds: HaluGate's clients need integers."""
    return round(1000 * (perf_counter() - started))
