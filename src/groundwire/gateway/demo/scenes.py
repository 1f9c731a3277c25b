"""The scenes of the walk: what is asked, what must come back, and why.

No scene names a verdict that is not the embedded models' own: a scene whose expectations do not
hold fails, whoever is to blame.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from groundwire.gateway.demo import model
from groundwire.gateway.demo.asking import DemoReply, DemoRequest

CHAT = "/v1/chat/completions"
SOURCES = (
    "The Eiffel Tower was built from 1887 to 1889 by the company of Gustave Eiffel. "
    "It is 330 meters tall and stands in Paris, France.",
    "The tower has three levels for visitors. About seven million people visit it every year.",
)
#: The tool result of HaluGate's example.
FACTS = (
    '{"name": "Eiffel Tower", "built": "1887-1889", "height": "330 meters", '
    '"location": "Paris, France"}'
)
_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "landmark", "arguments": '{"name": "Eiffel Tower"}'},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneOutcome:
    """What is known once a scene is over.

    Attributes:
        reply: What the client got.
        n_asked: How often the model was asked.
        is_live: Whether the client read text before the model was done.
        record: What the audit log has about the request.
        metrics: The metrics of the gateway, a line each.
    """

    reply: DemoReply
    n_asked: int
    is_live: bool
    record: Sequence[Mapping[str, Any]] = ()
    metrics: Sequence[str] = ()


#: What must hold, in words → whether it does.
Expectations: TypeAlias = Iterator[tuple[str, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request, what must come back, and why.

    Attributes:
        name: What it is called.
        title: The same for people.
        why: One line of explanation.
        setting: The configuration of the gateway that is asked.
        ask: What is asked.
        expects: What must hold.
        shows: Headers that matter; those that are absent are not shown.
        waits: Whether the model is not done before the client has read something.
        records: Whether the audit log and the metrics are looked at.
    """

    name: str
    title: str
    why: str
    setting: str
    ask: DemoRequest
    expects: Callable[[SceneOutcome], Expectations]
    shows: Sequence[str] = ("x-vsr-", "x-groundwire-")
    waits: bool = False
    records: bool = False


def chat(question: str, *, facts: str = "", **more: Any) -> DemoRequest:  # noqa: ANN401 - fields of JSON
    """A chat request; with facts, a tool has already been called and has answered."""
    messages: list[Mapping[str, object]] = [{"role": "user", "content": question}]
    if facts:
        messages.append({"role": "assistant", "content": None, "tool_calls": [_CALL]})
        messages.append({"role": "tool", "tool_call_id": "call_1", "content": facts})
    return DemoRequest(CHAT, {"model": model.NAME, "messages": messages, **more})


def grounded_chat(question: str, **more: Any) -> DemoRequest:  # noqa: ANN401 - fields of JSON
    """A chat request that names its sources as DVARA's clients do."""
    return chat(question, **more, metadata={"grounding.sources": list(SOURCES)})


def _not_factual(seen: SceneOutcome) -> Expectations:
    yield _passes(seen, model.HAIKU)
    yield "no header accuses or warns", not _vsr(seen)


_UNVERIFIED = (
    "x-vsr-fact-check-needed",
    "x-vsr-unverified-factual-response",
    "x-vsr-verification-context-missing",
)


def _unverified(seen: SceneOutcome) -> Expectations:
    yield _passes(seen, model.BUILT)
    for name in (
        "fact-check-needed",
        "unverified-factual-response",
        "verification-context-missing",
    ):
        yield _header(seen, f"x-vsr-{name}", "true")
    yield _header(seen, "x-groundwire-outcome", "unverified")
    yield (
        "nothing says that something was detected",
        "x-vsr-hallucination-detected" not in _vsr(seen),
    )


#: HaluGate's headers about :data:`.model.BUILT`, as its documentation has them.
_DOCUMENTED = {
    "x-vsr-fact-check-needed": "true",
    "x-vsr-hallucination-detected": "true",
    "x-vsr-hallucination-spans": "1950; 500 meters",
    "x-vsr-nli-contradictions": "2",
    "x-vsr-max-severity": "4",
}


def _evidence(seen: SceneOutcome) -> Expectations:
    yield _passes(seen, model.BUILT)
    for name, value in _DOCUMENTED.items():
        yield _header(seen, name, value)
    yield _header(seen, "x-groundwire-outcome", "hallucinated")


def _stream_marks(seen: SceneOutcome) -> Expectations:
    reply = seen.reply
    yield "the status is 200", reply.status == 200
    yield "the text is the model's, to the letter", reply.text == model.BUILT
    yield "text arrives while the model still writes", seen.is_live
    yield "the stream ends as the model ended it", reply.finish == "stop"
    said = reply.extension.get("headers", {})
    for name, value in _DOCUMENTED.items():
        yield f"the last chunk has {name}: {value}", said.get(name) == value


def _body(seen: SceneOutcome) -> Expectations:
    warning, _, rest = seen.reply.text.partition("\n\n")
    yield "the status is 200", seen.reply.status == 200
    yield "the answer stands below the warning", rest == model.BUILT
    yield "the warning is HaluGate's", warning.startswith("[Hallucination Warning] ")
    yield "it names both words", '"1950"' in warning and '"500 meters"' in warning


def _sources(seen: SceneOutcome) -> Expectations:
    yield _passes(seen, model.HEIGHT)
    yield _header(seen, "x-groundwire-outcome", "grounded")
    yield _header(seen, "x-groundwire-action", "none")


def _block(seen: SceneOutcome) -> Expectations:
    error = seen.reply.error
    yield "the status is 403", seen.reply.status == 403
    yield "type is guardrail_violation", error.get("type") == "guardrail_violation"
    yield "code is hallucination_detected", error.get("code") == "hallucination_detected"
    yield (
        "the message counts one ungrounded claim",
        error.get("message") == "Response blocked: hallucination detected (1 ungrounded claims)",
    )
    trace_id = seen.reply.headers.get("x-trace-id")
    yield "the trace id is that of X-Trace-ID", bool(trace_id) and error.get("trace_id") == trace_id
    yield (
        "no word of the answer is in it",
        # But for the trace id, whose digits are drawn: now and then it begins with 500.
        not any(word in str({**error, "trace_id": None}) for word in ("1950", "500")),
    )


def _sentence(seen: SceneOutcome) -> Expectations:
    reply = seen.reply
    yield "the status is 200", reply.status == 200
    yield "the two true sentences are delivered", reply.text.strip() == model.ABOUT_TRUE
    yield "the first arrives while the model still writes", seen.is_live
    yield "the false one is not, and nothing after it", "500" not in reply.text
    yield from _refused(reply)


def _deferred(seen: SceneOutcome) -> Expectations:
    yield "the status is 200", seen.reply.status == 200
    yield "all of the text is delivered", seen.reply.text == model.WHAT
    yield "none of it before the model was done", not seen.is_live
    yield "the stream ends as the model ended it", seen.reply.finish == "stop"


def _deferred_block(seen: SceneOutcome) -> Expectations:
    yield "the status is 200", seen.reply.status == 200
    yield "no character is delivered", seen.reply.text == ""
    yield from _refused(seen.reply)


def _unchecked(seen: SceneOutcome) -> Expectations:
    yield "the status is 403", seen.reply.status == 403
    yield "code is unchecked_endpoint", seen.reply.error.get("code") == "unchecked_endpoint"
    yield "the error says what to do", "chat/completions" in str(seen.reply.error.get("next_step"))
    yield "the model was not asked", seen.n_asked == 0


def _record(seen: SceneOutcome) -> Expectations:
    yield "the status is 403", seen.reply.status == 403
    yield "the audit log has one event about it", len(seen.record) == 1
    event: Mapping[str, Any] = seen.record[0] if seen.record else {}
    yield "its type is HALLUCINATION_DETECTED", event.get("type") == "HALLUCINATION_DETECTED"
    payload = event.get("payload", {})
    yield "it has the claim", payload.get("ungrounded_claims") == [model.BUILT]
    yield "and that it was withheld", payload.get("action") == "block"
    yield (
        "DVARA's counter counts it",
        _counts(seen, "gateway_grounding_check_total", 'action="BLOCK"', 'grounded="false"'),
    )
    yield (
        "and so does ours",
        _counts(seen, "groundwire_checks_total", 'action="block"', 'outcome="hallucinated"'),
    )


def _passes(seen: SceneOutcome, text: str) -> tuple[str, bool]:
    return (
        "the answer is delivered as the model wrote it",
        seen.reply.status == 200 and seen.reply.data == model.completion(text),
    )


def _header(seen: SceneOutcome, name: str, value: str) -> tuple[str, bool]:
    return f"{name}: {value}", seen.reply.headers.get(name) == value


def _vsr(seen: SceneOutcome) -> set[str]:
    return {name for name in seen.reply.headers if name.startswith("x-vsr-")}


def _refused(reply: DemoReply) -> Expectations:
    yield "the stream ends with content_filter", reply.finish == "content_filter"
    code = reply.extension.get("code")
    yield "and says hallucination_detected", code == "hallucination_detected"
    yield "and is complete for a client", bool(reply.arrivals) and reply.arrivals[-1].data is None


def _counts(seen: SceneOutcome, name: str, *labels: str) -> bool:
    found = (line for line in seen.metrics if line.startswith(f"{name}{{"))
    return any(
        all(each in line for each in labels) and float(line.rpartition(" ")[2]) >= 1
        for line in found
    )


SCENES: Sequence[Scene] = (
    Scene(
        name="not-factual",
        title="A prompt that calls for no facts",
        why="The gate says that nothing has to be verified: the answer passes, unmarked.",
        setting="halugate.yaml",
        ask=chat(model.HAIKU_QUESTION),
        expects=_not_factual,
    ),
    Scene(
        name="unverified",
        title="A factual question without evidence",
        why="There is nothing to hold the answer against: it is unverified, and not clean.",
        setting="halugate.yaml",
        ask=chat(model.BUILT_QUESTION),
        expects=_unverified,
    ),
    Scene(
        name="evidence",
        title="A factual question with evidence",
        why="A tool has told the facts: the words that they contradict are named, with severity.",
        setting="halugate.yaml",
        ask=chat(model.BUILT_QUESTION, facts=FACTS),
        expects=_evidence,
    ),
    Scene(
        name="stream-marks",
        title="The same, streamed",
        why="Headers leave before the answer exists: the last chunk says it instead.",
        setting="halugate.yaml",
        ask=chat(model.BUILT_QUESTION, facts=FACTS, stream=True),
        expects=_stream_marks,
        waits=True,
    ),
    Scene(
        name="body",
        title="A warning in the body",
        why="Under the action body, users read what was found, above the answer.",
        setting="body.yaml",
        ask=chat(model.BUILT_QUESTION, facts=FACTS),
        expects=_body,
    ),
    Scene(
        name="sources",
        title="Sources in the metadata, and an answer that they support",
        why='DVARA\'s metadata["grounding.sources"]: every sentence is supported, nothing changes.',
        setting="dvara.yaml",
        ask=grounded_chat(model.HEIGHT_QUESTION),
        expects=_sources,
    ),
    Scene(
        name="block",
        title="BLOCK, and an answer that they contradict",
        why="The answer is withheld: the error counts the claims and quotes none of them.",
        setting="dvara.yaml",
        ask=grounded_chat(model.BUILT_QUESTION),
        expects=_block,
        shows=("x-trace-id",),
    ),
    Scene(
        name="sentence",
        title="BLOCK in a stream, released by the sentence",
        why="Each sentence leaves once it is judged; the finding ends the stream, unsaid.",
        setting="dvara.yaml",
        ask=grounded_chat(model.ABOUT_QUESTION, stream=True),
        expects=_sentence,
        waits=True,
    ),
    Scene(
        name="unchecked",
        title="An endpoint whose answers are not checked",
        why="What may be blocked must not get out by another door; the model is not even asked.",
        setting="dvara.yaml",
        ask=DemoRequest("/v1/responses", {"model": model.NAME, "input": model.BUILT_QUESTION}),
        expects=_unchecked,
        shows=("x-trace-id",),
    ),
    Scene(
        name="record",
        title="What is on record",
        why="Each finding leaves one event in the audit log, and is counted.",
        setting="dvara.yaml",
        ask=grounded_chat(model.BUILT_QUESTION),
        expects=_record,
        shows=("x-trace-id",),
        records=True,
    ),
    Scene(
        name="deferred",
        title="BLOCK in a stream, released at the end",
        why="Everything is held until all of it is judged, and then leaves at once.",
        setting="deferred.yaml",
        ask=grounded_chat(model.WHAT_QUESTION, stream=True),
        expects=_deferred,
    ),
    Scene(
        name="deferred-block",
        title="The same, and an answer with a finding",
        why="One sentence is false: no character of the answer leaves.",
        setting="deferred.yaml",
        ask=grounded_chat(model.ABOUT_QUESTION, stream=True),
        expects=_deferred_block,
    ),
)
