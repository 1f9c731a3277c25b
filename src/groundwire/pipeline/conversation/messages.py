"""Reads the messages of a request, in order: the role of each, and its texts by kind."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from groundwire.errors import InvalidConversationError
from groundwire.pipeline.conversation import content
from groundwire.pipeline.conversation.content import Content, Skipped

_SYSTEM = ("system", "developer")
#: Roles of messages in which some clients and chat templates put retrieved texts.
_EVIDENCE = ("context", "document", "documents")
_READ = (*_SYSTEM, *_EVIDENCE, "user", "assistant")


@dataclass(slots=True, kw_only=True)
class Message(Content):
    """One message of a request: its role, and its texts sorted by their kind.

    Attributes:
        role: ``user``, ``assistant``, ``system``, ``developer``, ``context``, ``document`` or
            ``documents``; ``""`` for other messages, such as results of tools.
    """

    role: str

    @property
    def is_user(self) -> bool:
        """Whether the message has the role ``user``."""
        return self.role == "user"

    @property
    def begins_turn(self) -> bool:
        """Whether a turn of the user begins with this message.

        This is so for a user's message, unless it has tool results and no words of the user.
        """
        return self.is_user and bool(self.says or self.asks or not self.results)


def read_messages(
    body: Mapping[str, object], *, final_tools: Container[str] = ()
) -> tuple[list[Message], Counter[Skipped]]:
    """Read the system prompt and the messages of a request.

    Args:
        body: The body of the request.
        final_tools: Tools whose arguments are the final output. Replies to their calls, such as
            validation errors, are not evidence.

    Returns:
        The messages, and the number of things in them that could not be read, by kind.

    Raises:
        InvalidConversationError: If the messages are missing or of a wrong type.
    """
    skipped: Counter[Skipped] = Counter()
    tools: dict[str, str] = {}
    messages = []
    for item, place in _items(body):
        tools.update((call_id, name) for call_id, name in _calls(item) if call_id)
        kind, role = item.get("type", "message"), item.get("role")
        message = Message(role=str(role) if role in _READ else "")
        if role in ("tool", "function"):
            id_ = content.usable_name(item.get("tool_call_id"))
            name = content.usable_name(item.get("name")) or tools.get(id_, "")
            content.read_result(item.get("content"), f"{place}.content", message, id_, name)
        elif kind == "file_search_call":
            unread = content.Skipped.RESULT_PART
            content.read_documents(item.get("results"), f"{place}.results", message, unread)
            message.results, message.grounding = message.grounding, []
        elif str(kind).endswith("call_output") or (
            str(kind).endswith("_call") and "output" in item
        ):
            id_ = content.usable_name(item.get("call_id"))
            content.read_result(
                item.get("output"), f"{place}.output", message, id_, tools.get(id_, "")
            )
        elif role == "system" and str(item.get("name", "")).startswith("example_"):
            pass  # examples, which OpenAI names example_user or example_assistant, are not read
        elif role in (*_SYSTEM, "user"):
            where = f"{place}.content" if place.endswith("]") else place
            content.read_content(item.get("content"), where, message, tools)
        elif role in _EVIDENCE:
            content.read_content(item.get("content"), f"{place}.content", message, tools)
            message.documents += [*message.says, *message.grounding]
            message.says, message.grounding = [], []
        elif role == "assistant":
            said = Content()
            content.read_content(item.get("content"), f"{place}.content", said, tools)
            message.says, message.results = said.says, said.results
        elif not str(kind).endswith("_call") and kind != "reasoning":
            message.skipped[Skipped.MESSAGE] += 1
        message.results = [each for each in message.results if each.title not in final_tools]
        skipped += message.skipped
        messages.append(message)
    return messages, skipped


def _items(body: Mapping[str, object]) -> Iterator[tuple[Mapping[str, object], str]]:
    """Yield the objects that are read as messages, each with its place."""
    for key in ("system", "instructions"):  # the system prompt in the Messages and Responses APIs
        if body.get(key) is not None:
            yield {"role": "system", "content": body[key]}, key
    key = "messages" if "messages" in body or "input" not in body else "input"
    messages = body.get(key)
    if key == "input" and isinstance(messages, str):
        yield {"role": "user", "content": messages}, key
        return
    if not isinstance(messages, (list, tuple)):
        problem = content.type_problem(messages) if key in body else "it is missing"
        raise InvalidConversationError(key, problem, "It must be a list of messages.")
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            remedy = 'A message is an object such as {"role": "user", "content": "..."}.'
            raise InvalidConversationError(f"{key}[{i}]", content.type_problem(message), remedy)
        yield message, f"{key}[{i}]"


def _calls(item: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the tool calls of a message: the id of each call, and the name of the tool."""
    for call in content.items_of(item.get("tool_calls")):
        own = call.get("function", call.get("custom")) if isinstance(call, Mapping) else None
        if isinstance(own, Mapping):
            yield content.usable_name(call.get("id")), content.usable_name(own.get("name"))
    for part in content.items_of(item.get("content")):
        if isinstance(part, Mapping) and str(part.get("type")).endswith("tool_use"):
            yield content.usable_name(part.get("id")), content.usable_name(part.get("name"))
    if str(item.get("type")).endswith("_call"):
        yield content.usable_name(item.get("call_id")), content.usable_name(item.get("name"))
