"""Who says what: the messages of a request, in the order in which they stand."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation.content import (
    Content,
    Piece,
    Skipped,
    read_content,
    read_documents,
    read_result,
    usable_name,
)

_SYSTEM = ("system", "developer")
#: Roles in which some clients and chat templates put what was retrieved.
_EVIDENCE = ("context", "document", "documents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, read.

    Attributes:
        is_system: Whether it instructs (``system``, ``developer``), or holds evidence alone.
        is_user: Whether a user says it.
        is_assistant: Whether the model says it.
        says: Its running text; that of a tool is not read as such.
        asks: Its parts that are questions by their type.
        documents: Its parts that are documents by their type.
        grounding: Its parts that are sources by their type.
        results: The tool results that it carries.
    """

    is_system: bool
    is_user: bool
    is_assistant: bool
    says: tuple[Piece, ...]
    asks: tuple[Piece, ...]
    grounding: tuple[Piece, ...]
    documents: tuple[Piece, ...]
    results: tuple[Piece, ...]

    @property
    def begins_turn(self) -> bool:
        """Whether a user speaks; one that only carries tool results goes on with the turn."""
        return self.is_user and bool(self.says or self.asks or not self.results)


def read_messages(
    body: Mapping[str, object], *, final_tools: Container[str] = ()
) -> tuple[list[Message], Counter[Skipped]]:
    """Read ``messages`` (or ``input``, as the responses interface calls them) of a request.

    Args:
        body: The body of the request.
        final_tools: Tools that return the final output. What is replied to their calls, such as
            an error of validation, is no evidence.

    Returns:
        The messages, and how many things in them could not be read.

    Raises:
        InvalidConversationError: If there are none, they are no list, or one is no object.
    """
    skipped: Counter[Skipped] = Counter()
    tools: dict[str, str] = {}
    messages = []
    for item, place in _items(body):
        tools.update((call_id, name) for call_id, name in _calls(item) if call_id)
        kind, role = item.get("type", "message"), item.get("role")
        content = Content()
        if role in ("tool", "function"):
            id_ = usable_name(item.get("tool_call_id"))
            name = usable_name(item.get("name")) or tools.get(id_, "")
            read_result(item.get("content"), f"{place}.content", content, id_, name)
        elif kind == "file_search_call":
            read_documents(item.get("results"), f"{place}.results", content)
            content.results, content.grounding = content.grounding, []
        elif str(kind).endswith("call_output") or (
            str(kind).endswith("_call") and "output" in item
        ):
            id_ = usable_name(item.get("call_id"))
            read_result(item.get("output"), f"{place}.output", content, id_, tools.get(id_, ""))
        elif role == "system" and str(item.get("name", "")).startswith("example_"):
            pass  # as OpenAI's guides mark what is an example
        elif role in (*_SYSTEM, "user"):
            where = f"{place}.content" if place.endswith("]") else place
            content = read_content(item.get("content"), where, tools)
        elif role in _EVIDENCE:
            content = read_content(item.get("content"), f"{place}.content", tools)
            content.documents += [*content.says, *content.grounding]
            content.says, content.grounding = [], []
        elif role == "assistant":
            said = read_content(item.get("content"), f"{place}.content", tools)
            content.says, content.results = said.says, said.results
        elif not str(kind).endswith("_call") and kind != "reasoning":
            content.skipped[Skipped.MESSAGE] += 1
        skipped += content.skipped
        messages.append(
            Message(
                is_system=role in (*_SYSTEM, *_EVIDENCE),
                is_user=role == "user",
                is_assistant=role == "assistant",
                says=tuple(content.says),
                asks=tuple(content.asks),
                grounding=tuple(content.grounding),
                documents=tuple(content.documents),
                results=tuple(each for each in content.results if each.title not in final_tools),
            )
        )
    return messages, skipped


def _items(body: Mapping[str, object]) -> Iterator[tuple[Mapping[str, object], str]]:
    """The objects that are read as messages, each with its place."""
    for key in ("system", "instructions"):  # where the messages and responses interfaces put it
        if body.get(key) is not None:
            yield {"role": "system", "content": body[key]}, key
    key = "messages" if "messages" in body or "input" not in body else "input"
    messages = body.get(key)
    if key == "input" and isinstance(messages, str):
        yield {"role": "user", "content": messages}, key
        return
    if not isinstance(messages, (list, tuple)):
        problem = f"its type is {type(messages).__name__}" if key in body else "it is missing"
        raise InvalidConversationError(key, problem, "It must be a list of messages.")
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidConversationError(
                f"{key}[{i}]",
                f"its type is {type(message).__name__}",
                'A message is an object such as {"role": "user", "content": "..."}.',
            )
        yield message, f"{key}[{i}]"


def _calls(item: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The tool calls of a message: the id of each, and the name of the tool."""
    calls, content = item.get("tool_calls"), item.get("content")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        own = call.get("function", call.get("custom")) if isinstance(call, Mapping) else None
        if isinstance(own, Mapping):
            yield usable_name(call.get("id")), usable_name(own.get("name"))
    for part in content if isinstance(content, (list, tuple)) else ():
        if isinstance(part, Mapping) and str(part.get("type")).endswith("tool_use"):
            yield usable_name(part.get("id")), usable_name(part.get("name"))
    if str(item.get("type")).endswith("_call"):
        yield usable_name(item.get("call_id")), usable_name(item.get("name"))
