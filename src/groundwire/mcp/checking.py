"""The tool ``check_answer``, which marks the words that an answer's sources do not support."""

from collections.abc import Mapping
from dataclasses import replace

from groundwire.detection.example import Example, Source, read_sources
from groundwire.detection.values import Detection, Outcome
from groundwire.explain import Explained
from groundwire.mcp.arguments import CallError, CheckInput
from groundwire.mcp.backend import Backend
from groundwire.mcp.given import Given, given
from groundwire.mcp.results import CheckResult
from groundwire.mcp.text_results import answer_text, origins_text
from groundwire.mcp.tool import Call, Tool, ToolResult
from groundwire.render.descriptions import OUTCOMES, explain_outcome

#: Number of characters of the answer that are read at a time, between reports of progress.
_STEP_CHARS = 1_000

#: Fields of a claim in a result. The texts are left out, because the agent has them.
_CLAIM_FIELDS = ("start", "end", "label", "probability", "citations", "reason")

_DESCRIPTION = """\
Check an answer against its sources, without citations: marks the words that no source supports or \
that one contradicts, and says why. outcome grounded is the only pass. Give the question that was \
asked if there is one: it helps to find evidence, and is none."""


def answer_tool(backend: Backend) -> Tool:
    """Make the tool ``check_answer``."""
    return Tool(
        name="check_answer",
        title="Check an answer against its sources",
        description=_DESCRIPTION,
        arguments=CheckInput,
        hidden=backend.hidden,
        result=CheckResult,
        run=lambda call, own: _check(backend, call, own),
        fails=_failed,
        is_long=True,
    )


def _check(backend: Backend, call: Call, arguments: CheckInput) -> ToolResult:
    evidence = given(arguments, arguments.sources, backend, session=call.session)
    example = Example.of(
        sources=_sources(evidence), answer=arguments.answer, question=arguments.question
    )
    detection = _detect(backend, call, example)
    explained = backend.models.explainer.explain(detection, example.sources)
    return _result(explained, evidence.origins([source.id for source in example.sources]))


def _sources(evidence: Given) -> list[Source]:
    """Return the sources of a call: held spans, then texts that came with the call.

    A text without an id gets ``s1``, ``s2`` and so on, by its position among all sources. Before,
    :func:`.given.given` has refused ids that could be mistaken for those of held spans.
    """
    held = [Source(id=span.sid, text=span.text) for span in evidence.held]
    own = [Source.of(each, at) for at, each in enumerate(evidence.passed or ())]
    every = enumerate([*held, *own], 1)
    return list(read_sources(each if each.id else replace(each, id=f"s{at}") for at, each in every))


def _detect(backend: Backend, call: Call, example: Example) -> Detection:
    """Check the answer in pieces, to report progress; the detection is that of the whole answer.

    Raises:
        CallError: If the call is cancelled before all pieces were read.
    """
    answer, n_chars = example.answer, len(example.answer)
    stream = backend.models.detector.stream(
        sources=example.sources, question=example.question, tenant=call.tenant
    )
    with stream:
        for at in range(0, n_chars, _STEP_CHARS):
            if call.watch.is_over():
                raise CallError("The call was cancelled before all of the answer was read.")
            stream.feed(answer[at : at + _STEP_CHARS])
            done = min(at + _STEP_CHARS, n_chars)
            call.watch.tell(done, n_chars, f"{done:,} of {n_chars:,} characters read")
        return stream.finish()


def _result(explained: Explained, origins: Mapping[str, str]) -> ToolResult:
    detection = explained.detection
    spans = [
        {
            **span.to_dict(),
            "why": why.text,
            "category": str(why.category),
            "subtype": str(why.subtype),
            "counterpart": why.counterpart.to_dict() if why.counterpart else None,
        }
        for span, why in zip(detection.spans, explained.explanations, strict=True)
    ]
    found = detection.to_dict()
    data = {
        "outcome": str(detection.outcome),
        "meaning": explain_outcome(detection),
        "spans": spans,
        "claims": [{name: claim[name] for name in _CLAIM_FIELDS} for claim in found["claims"]],
        **{name: found[name] for name in ("probability", "coverage", "detector")},
        "source_origins": dict(origins),
    }
    return ToolResult(data=data, text=answer_text(explained) + origins_text(origins))


def _failed(error_type: str, error: str) -> ToolResult:
    meaning = OUTCOMES[Outcome.UNAVAILABLE]
    data = {
        "outcome": str(Outcome.UNAVAILABLE),
        "meaning": meaning,
        "spans": [],
        "error": error,
        "error_type": error_type,
    }
    text = f"unavailable ({error_type}): {error} {meaning.capitalize()}."
    return ToolResult(data=data, text=text, is_error=True)
