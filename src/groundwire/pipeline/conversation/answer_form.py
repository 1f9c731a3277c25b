"""The form of the answer that a request asks for: free text, JSON, or the arguments of a tool."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from groundwire.detection.values import FrozenMapping
from groundwire.pipeline.conversation.content import items_of
from groundwire.text.records import words_of_key

#: A JSON Schema; empty if none is known.
Schema: TypeAlias = Mapping[str, Any]

#: Names of tools whose arguments frameworks use as the final output: pydantic-ai (which adds a
#: suffix if an output may have several types), smolagents, Google's ADK, LiteLLM.
_FINAL_TOOLS = ("final_result", "final_answer", "set_model_response", "json_tool_call")
#: Matches phrases with which pydantic-ai, Strands, instructor and the AI SDK describe tools whose
#: arguments are the final output.
_FINAL_DESCRIPTION = re.compile(
    r"final response which ends this conversation|StructuredOutputTool should only be invoked as"
    r"|Correctly extracted `|^Respond with a JSON object\.$"
)
_ANY_TOOL = ("required", "any")
#: Matches names of tools that frameworks (LangChain, Strands, LlamaIndex, instructor) take from the
#: class of the output; for a type without a name, LangChain uses response_format_...
_OUTPUT_TYPE = re.compile(r"(?!\w*_[a-z])[A-Z]\w*[a-z]\w*|response_format_\w+")
#: A tool whose name begins with one of these verbs, such as GetWeather, is not a type of output.
_VERBS = frozenset(
    (
        *("add", "ask", "book", "browse", "calculate", "call", "cancel", "check", "close"),
        *("create", "delete", "edit", "execute", "fetch", "find", "get", "invoke", "list", "load"),
        *("look", "make", "move", "open", "post", "put", "query", "read", "remove", "retrieve"),
        *("run", "save", "search", "send", "set", "start", "stop", "update", "use", "write"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form of the answer that a request asks for. Structured data is checked value by value.

    Attributes:
        is_json: Whether the text of the answer must be JSON, because the request asks for it.
        schema: The schema of the JSON; empty if none is known.
        final_tools: Name of a tool whose arguments are the final output → their schema. Calls of
            other tools are not answers.
    """

    is_json: bool = False
    schema: Schema = field(default_factory=dict, hash=False)
    final_tools: Mapping[str, Schema] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "final_tools", FrozenMapping(self.final_tools))


def read_form(body: Mapping[str, Any], *, final_tools: frozenset[str] = frozenset()) -> AnswerForm:
    """Read the form of the answer from the body of a request.

    The body is one of Chat Completions, of the Responses API or of the Messages API.
    ``final_tools`` has the names of tools whose arguments are the final output. Tools that follow
    the conventions of known frameworks are found without it.
    """
    wanted = _output_format(body)
    own = _mapping(wanted.get("json_schema")) or wanted
    tools = dict(_defined(body))
    known = final_tools.union(_FINAL_TOOLS)
    final = [
        name
        for name, tool in tools.items()
        if name in known
        or name.startswith("final_result_")
        or _FINAL_DESCRIPTION.search(str(tool.get("description")))
    ]
    return AnswerForm(
        is_json=wanted.get("type") in ("json_object", "json_schema"),
        schema=_mapping(own.get("schema")),
        final_tools={
            name: _schema(tools.get(name, {})) for name in (*final, *_forced(body, tools))
        },
    )


def _output_format(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the output format, which each API has in a field of its own; empty if there is none.

    The Messages API had it in ``output_format`` before it had ``output_config``.
    """
    named = [_mapping(body.get(key)).get("format") for key in ("text", "output_config")]
    named = [body.get("response_format"), *named, body.get("output_format")]
    return next(filter(None, map(_mapping, named)), {})


def _schema(tool: Mapping[str, Any]) -> Schema:
    """Return the schema of a tool's arguments; the Messages API names it ``input_schema``."""
    return _mapping(tool.get("parameters") or tool.get("input_schema"))


def _defined(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the definition of each tool with a name that a request defines."""
    for key in ("tools", "functions"):
        for said in map(_mapping, items_of(body.get(key))):
            own = _own(said)
            if isinstance(name := own.get("name"), str):
                yield name, own


def _forced(body: Mapping[str, Any], tools: Collection[str]) -> Iterator[str]:
    """Yield names of tools whose calls are the final output, because the model has to call a tool.

    If the request names the tool to call, that name is yielded. If the request demands a call of
    any tool, all names that look like a type of output are yielded. The name of a tool that is the
    only choice is yielded too: the only allowed tool or, if the request has no results of tools,
    the only defined tool.
    """
    for key in ("tool_choice", "function_call"):
        choice = body.get(key)
        said = _mapping(choice)
        if isinstance(name := _own(said).get("name"), str):
            yield name
            return
        mode = choice if isinstance(choice, str) else said.get("type")
        if mode == "allowed_tools":
            allowed = _mapping(said.get("allowed_tools")) or said
            mode, tools = allowed.get("mode"), [name for name, _ in _defined(allowed)]
            if len(tools) == 1 and mode in _ANY_TOOL:
                yield from tools
        if mode in _ANY_TOOL:
            is_only = len(tools) == 1 and not _has_results(body)
            yield from (name for name in tools if is_only or _is_output_type(name))


def _own(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object that has a tool's name: ``said``, or its ``function`` or ``custom``."""
    return _mapping(said.get("function")) or _mapping(said.get("custom")) or said


def _is_output_type(name: str) -> bool:
    if not _OUTPUT_TYPE.fullmatch(name):
        return False
    return words_of_key(name).lower().split()[0] not in _VERBS


def _has_results(body: Mapping[str, Any]) -> bool:
    """Return whether a request has the result of an earlier call of a tool.

    If it has one, the model's next call may fetch more data too, so that call need not be the final
    output.
    """
    for message in map(_mapping, items_of(body.get("messages", body.get("input")))):
        types = {_mapping(part).get("type") for part in items_of(message.get("content"))}
        if message.get("role") in ("tool", "function") or "tool_result" in types:
            return True
        if message.get("type") in ("function_call_output", "custom_tool_call_output"):
            return True
    return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
