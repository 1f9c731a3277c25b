"""Known fields of OpenAI's Responses API, and fields that may be sent before the check ends."""

import re
from collections.abc import Mapping
from typing import Any

from groundwire.gateway.chat.blocks import only
from groundwire.gateway.dialects.held_output import EVENT
from groundwire.pipeline.conversation.known_fields import are_of, count_unread, without_text

#: Known fields of a response; most are settings copied from the request. Text in any other field is
#: counted as unchecked, unless the response reports an error.
RESPONSE = frozenset(
    (
        *("id", "object", "created_at", "completed_at", "status", "background", "error", "output"),
        *("incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "metadata"),
        *("model", "parallel_tool_calls", "previous_response_id", "conversation", "prompt"),
        *("prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "store"),
        *("service_tier", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"),
        *("truncation", "usage", "user", "output_text"),
    )
)
#: Fields of a response that may be sent while the answer is held back, unless they may hold prose
#: (see :func:`.may_hold_text`).
_BEGUN = frozenset(
    (
        *("id", "object", "created_at", "status", "background", "model", "parallel_tool_calls"),
        *("previous_response_id", "reasoning", "service_tier", "store", "text", "tool_choice"),
        *("truncation", "output"),
    )
)
#: Values that replace withheld values of these fields; in all other fields, ``null`` does.
_EMPTY: Mapping[str, Any] = {"metadata": {}, "tools": []}
#: Fields of a message that may be sent once its text has been checked.
ITEM = ("id", "type", "status", "role", "content", "phase")
#: Fields of a text part that may be sent once its text has been checked.
PART = ("type", "text", "annotations", "logprobs")

#: Known fields of the events of a stream. For most types of events, text in any other field is
#: counted as unchecked.
OF_EVENT = frozenset(
    (
        *(*EVENT, "response", "item", "part", "delta", "text", "logprobs", "obfuscation"),
        *("refusal", "arguments", "name", "input", "code", "summary_index", "annotation"),
        *("annotation_index", "partial_image_b64", "partial_image_index", "size", "quality"),
        *("background", "output_format", "summary", "command", "command_index", "output"),
    )
)
#: Known fields of output items. Text in any other field is counted as unchecked.
_OF_ITEM = frozenset(
    (
        *(*ITEM, "summary", "encrypted_content", "name", "arguments", "call_id", "action"),
        *("actions", "queries", "results", "code", "outputs", "container_id", "server_label"),
        *("error", "output", "input", "result", "revised_prompt", "tools", "namespace"),
        *("operation", "environment", "pending_safety_checks", "acknowledged_safety_checks"),
        *("background", "output_format", "quality", "size", "approval_request_id", "created_by"),
        *("execution", "max_output_length"),
    )
)
#: Known fields of a message's content parts. Text in any other field is counted as unchecked.
_OF_PART = frozenset((*PART, "refusal"))
#: Pattern of the types of output items that are tool calls.
_CALL = (
    r"(function|custom_tool|web_search|file_search|code_interpreter|computer|image_generation"
    r"|local_shell|shell|apply_patch|mcp|tool_search)_call"
)
#: Matches the known types of output items. Only ``message`` holds text of an answer.
_ITEMS = re.compile(
    rf"message|reasoning|compaction|{_CALL}(_output)?|mcp_list_tools|mcp_approval_request"
    r"|tool_search_output"
)
#: Matches known types of events, such as events about tool calls or annotations. The reader of
#: events handles some of these types, and all other known types, by name. Events of the rest add no
#: text to an answer.
EVENTS = re.compile(
    rf"response\.({_CALL}(_arguments|_code|_input|_command|_operation_diff)?|function_call_arguments"
    r"|custom_tool_call_input|mcp_list_tools|reasoning(_text|_summary|_summary_text|_summary_part)?"
    r"|refusal|output_text\.annotation)\.[a-z_]+"
)


def begun(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the known fields of a response, without text that must wait for the check.

    A field of ``_BEGUN`` keeps its value if the value holds no prose. Any other field keeps its
    value if all strings in the value are empty. All other values are replaced by an empty value,
    mostly ``null``.
    """
    may = only(response, _BEGUN)
    others = without_text({key: response[key] for key in response if key in RESPONSE}, ())
    return {
        key: may[key] if key in may else others.get(key, _EMPTY.get(key))
        for key in response
        if key in RESPONSE
    }


def logprobs_of(data: Mapping[str, Any], text: str) -> object:
    """Return the log probabilities of an event or part; ``[]`` if they belong to another text."""
    found = data.get("logprobs")
    return found if are_of(found, text) else []


def unread_in(item: Mapping[str, Any]) -> int:
    """Count an item's unknown fields that may hold text, plus 1 if its type is unknown.

    For a message, the unknown fields and types of its content parts are counted too.
    """
    is_known = _ITEMS.fullmatch(str(item.get("type"))) is not None
    parts = item.get("content") if item.get("type") == "message" else None
    in_parts = sum(map(unread_in_part, parts)) if isinstance(parts, list) else 0
    return (not is_known) + count_unread(item, _OF_ITEM) + in_parts


def unread_in_part(part: object) -> int:
    """Return the number of a part's unknown fields with text, plus 1 if its type is unknown."""
    is_known = isinstance(part, Mapping) and part.get("type") in ("output_text", "text", "refusal")
    return (not is_known) + count_unread(part, _OF_PART)
