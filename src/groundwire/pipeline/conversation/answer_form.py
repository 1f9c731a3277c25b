"""The form of the answer that a request asks for: free text, JSON, or the arguments of a tool."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from groundwire.detection.values import FrozenMapping

#: A JSON Schema; an empty one says nothing.
Schema: TypeAlias = Mapping[str, Any]

#: Tools by which frameworks return the final output: of pydantic-ai (with a suffix if there are
#: several), smolagents, Google's ADK.
_FINAL_TOOLS = ("final_result", "final_answer", "set_model_response")
_ANY_TOOL = ("required", "any")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """The form of an answer. Structured data in it is checked leaf by leaf.

    Attributes:
        is_json: Whether the text of the answer is JSON, by ``response_format``.
        schema: The schema of that JSON.
        final_tools: The schemas of the tools whose arguments are the final output, by name. Calls
            of other tools are no answers.
    """

    is_json: bool = False
    schema: Schema = field(default_factory=dict, hash=False)
    final_tools: Mapping[str, Schema] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "final_tools", FrozenMapping(self.final_tools))


def read_form(body: Mapping[str, Any], *, final_tools: frozenset[str] = frozenset()) -> AnswerForm:
    """Read the form of the answer from a chat request.

    Args:
        body: The body of the request.
        final_tools: Further tools whose arguments are the final output.
    """
    wanted = _mapping(body.get("response_format"))
    own = _mapping(wanted.get("json_schema")) or wanted
    tools = dict(_tools(body))
    forced = _forced(body, tools)
    return AnswerForm(
        is_json=wanted.get("type") in ("json_object", "json_schema"),
        schema=_mapping(own.get("schema")),
        final_tools={
            name: schema
            for name, schema in tools.items()
            if name == forced or name in final_tools or _is_final(name)
        },
    )


def _tools(body: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    """The tools that are defined: the name of each, and the schema of its arguments."""
    for key in ("tools", "functions"):
        for said in map(_mapping, _items(body.get(key))):
            function = _mapping(said.get("function")) or said
            if isinstance(name := function.get("name"), str):
                # The messages interface calls it input_schema.
                schema = function.get("parameters") or function.get("input_schema")
                yield name, _mapping(schema)


def _forced(body: Mapping[str, Any], tools: Mapping[str, Schema]) -> str | None:
    """The tool that the model has to call, if there is no choice."""
    for key in ("tool_choice", "function_call"):
        choice = body.get(key)
        said = _mapping(choice)
        name = _mapping(said.get("function")).get("name") or said.get("name")
        if isinstance(name, str):
            return name
        is_any = choice in _ANY_TOOL if isinstance(choice, str) else said.get("type") in _ANY_TOOL
        if is_any and len(tools) == 1 and not _has_results(body):
            return next(iter(tools))
    return None


def _has_results(body: Mapping[str, Any]) -> bool:
    """Whether a tool was called before: then the only one that there is may be called for more."""
    for message in map(_mapping, _items(body.get("messages", body.get("input")))):
        types = {_mapping(part).get("type") for part in _items(message.get("content"))}
        if message.get("role") in ("tool", "function") or "tool_result" in types:
            return True
        if message.get("type") == "function_call_output":
            return True
    return False


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


def _is_final(name: str) -> bool:
    return name in _FINAL_TOOLS or name.startswith(f"{_FINAL_TOOLS[0]}_")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
