"""The tool ``check_answer``: which words of an answer its sources do not support, and why."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groundwire.detection.example import Example, Source, read_sources
from groundwire.detection.values import Detection, Outcome
from groundwire.mcp import results, schemas
from groundwire.mcp.arguments import (
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHARS,
    MAX_SPANS,
    Arguments,
    CallError,
)
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import Given, given
from groundwire.mcp.text_results import tell_answer, tell_origins
from groundwire.mcp.tool import Call, Schema, Told, Tool
from groundwire.mcp.verifying import evidence_inputs
from groundwire.render import explain_outcome
from groundwire.render.descriptions import OUTCOMES

if TYPE_CHECKING:  # it comes with the models, which the first call loads
    from groundwire.explain import Explained

#: Characters that are read until the next word about how far it is, and until somebody who no
#: longer waits is noticed.
_STEP_CHARS = 1_000

_DESCRIPTION = """\
Check an answer against its sources, without citations: marks the words that no source supports or \
that one contradicts, and says why. outcome grounded is the only pass. Give the question that was \
asked if there is one: it helps to find evidence, and is none."""


def answer_tool(backend: Backend) -> Tool:
    """``check_answer``."""
    question = schemas.text("What was asked.", most=MAX_QUESTION_CHARS)
    answer = schemas.text("The answer to check.", most=MAX_ANSWER_CHARS)
    sources = evidence_inputs(backend, {"sources": schemas.SOURCES})
    inputs = {"answer": answer, **sources, "question": question}
    return Tool(
        name="check_answer",
        title="Check an answer against its sources",
        description=_DESCRIPTION,
        input_schema=schemas.object_of(inputs, "answer"),
        output_schema=results.detection(),
        run=lambda call: _check(backend, call, inputs),
        fails=_failed,
        is_long=True,
    )


def _check(backend: Backend, call: Call, inputs: Mapping[str, Schema]) -> Told:
    arguments = Arguments(call.arguments, inputs)
    answer = arguments.text("answer", max_chars=MAX_ANSWER_CHARS)
    question = arguments.optional_text("question", max_chars=MAX_QUESTION_CHARS)
    evidence = given(arguments, "sources", backend, session=call.session)
    example = Example.of(sources=_sources(evidence), answer=answer, question=question)
    detection = _detect(backend, call, example)
    explained = backend.models.explainer.explain(detection, example.sources)
    origins = evidence.origins([source.id for source in example.sources])
    return _told(explained, origins)


def _sources(evidence: Given) -> list[Source]:
    """All sources, with ids that nothing which is held could have."""
    passed = [] if evidence.passed is None else evidence.passed
    if not isinstance(passed, list):
        raise CallError("sources must be a list of texts, or of objects with text, id and title.")
    if len(passed) > MAX_SPANS:
        raise CallError(f"sources has {len(passed):,} items and at most {MAX_SPANS:,} are allowed.")
    held = [Source(id=span.sid, text=span.text) for span in evidence.held]
    own = [Source.of(each, at) for at, each in enumerate(passed)]
    named = [
        each if each.id else Source(id=f"s{at}", text=each.text, title=each.title)
        for at, each in enumerate(own, 1)
    ]
    return list(read_sources([*held, *named]))


def _detect(backend: Backend, call: Call, example: Example) -> Detection:
    """Read the answer piece by piece; that it comes in pieces changes nothing in what is found."""
    answer, n_chars = example.answer, len(example.answer)
    stream = backend.models.detector.stream(
        sources=example.sources, question=example.question, tenant=call.tenant
    )
    with stream:
        for at in range(0, n_chars, _STEP_CHARS):
            if call.watch.is_cancelled:
                raise CallError("The call was cancelled before all of the answer was read.")
            stream.feed(answer[at : at + _STEP_CHARS])
            done = min(at + _STEP_CHARS, n_chars)
            call.watch.tell(done, n_chars, f"{done:,} of {n_chars:,} characters read")
        return stream.finish()


def _told(explained: "Explained", origins: Mapping[str, str]) -> Told:
    detection = explained.detection
    whys = explained.explanations
    spans = [
        {
            **span.to_dict(),
            "why": why.text,
            "category": str(why.category),
            "subtype": str(why.subtype),
            "counterpart": why.counterpart.to_dict() if why.counterpart else None,
        }
        for span, why in zip(detection.spans, whys, strict=True)
    ]
    found = detection.to_dict()
    kept = {name: found[name] for name in ("probability", "coverage", "detector")}
    data = {
        "outcome": str(detection.outcome),
        "meaning": explain_outcome(detection),
        "spans": spans,
        "claims": _without_text(found["claims"]),
        **kept,
        "source_origins": dict(origins),
    }
    return Told(data=data, text=tell_answer(explained) + tell_origins(origins))


def _without_text(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Claims by their place; the agent has the answer, and spans have the evidence."""
    wanted = ("start", "end", "label", "probability", "citations", "reason")
    return [{name: claim[name] for name in wanted} for claim in claims]


def _failed(error_type: str, error: str) -> Told:
    data: dict[str, Any] = {
        "outcome": str(Outcome.UNAVAILABLE),
        "meaning": OUTCOMES[Outcome.UNAVAILABLE],
        "spans": [],
        "error": error,
        "error_type": error_type,
    }
    text = f"unavailable ({error_type}): {error} {OUTCOMES[Outcome.UNAVAILABLE].capitalize()}."
    return Told(data=data, text=text, is_error=True)
