"""Reads the content of messages: a text, a list of parts, tool results, documents, JSON data."""

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeGuard

#: Limit on the characters of an id, a title or a tool's name; a longer one is ignored.
_MAX_NAME_CHARS = 200

# Known types of parts, from OpenAI's chat and Responses APIs, Anthropic's Messages API, and a few
# other origins. A part has at least one of the keys that ``_PAYLOADS`` gives for its type. An
# object without any of these keys is no part, but data that happens to have a ``type``: a tool that
# lists a folder may return ``[{"type": "file", ...}]``.
_TEXTS = ("text", "input_text", "output_text", "grounding_source", "query")
_TOOL_RESULTS = ("tool_result", "mcp_tool_result", "web_fetch_tool_result")
_PAYLOADS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_TEXTS, ("text",)),
    **dict.fromkeys(_TOOL_RESULTS, ("tool_use_id",)),
    "refusal": ("refusal",),
    "image_url": ("image_url",),
    "input_image": ("image_url", "file_id"),
    "image": ("source", "data"),
    "input_audio": ("input_audio",),
    "audio": ("data", "audio"),
    "file": ("file",),
    "input_file": ("file_id", "file_data", "file_url"),
    "document": ("source",),
    "search_result": ("content",),
}
#: Types of parts that the model reads like documents. Without a text they are unread evidence.
_DOCUMENTS = ("file", "input_file", "image", "image_url", "input_image")

#: Media types of files that are texts, besides those that begin with ``text/``.
_TEXT_FILES = ("application/json", "application/xml", "application/yaml", "application/x-yaml")
#: Keys for the title of a document, in the order in which they are tried.
_NAMES = ("title", "name", "filename", "url")
#: Keys for the text of a document, in the order in which they are tried.
_DOCUMENT_TEXTS = ("text", "content", "contents", "snippet", "page_content", "body", "passage")


class Skipped(StrEnum):
    """Kinds of content of a request that a check does not read."""

    MESSAGE = "message"  # a message with an unknown role, or an item of an unknown type
    PART = "part"  # a part of a message that is neither text nor document, such as sound
    DOCUMENT = "document"  # an image, file or document without text in a message: unread evidence
    RESULT_PART = "result_part"  # a part of a tool result that cannot be read: unread evidence
    SOURCE = "source"  # an item of a wrong type in the request's list of sources or documents


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestText:
    """One text of a request (a "piece"), with its place.

    Attributes:
        text: The text, which is not blank.
        place: The place of the text in the request, such as ``messages[3].content[0]``.
        id: Id of the text, or empty. Other texts may have the same id.
        title: The title of a document, or the name of the tool that returned the text; ``None`` if
            there is neither.
    """

    text: str
    place: str
    id: str = ""
    title: str | None = None


@dataclass(slots=True)
class Content:
    """The texts of one message, or of the documents beside the messages, sorted by kind.

    Attributes:
        says: Running text: questions, instructions, and texts that a template has filled in.
        asks: Questions: parts of the type ``query``.
        documents: Texts that are documents by the type of the part or the role of the message.
        grounding: Sources: parts of the type ``grounding_source``, and documents that a request has
            beside its messages.
        results: Results of tool calls.
        skipped: The number of things that could not be read, by kind.
    """

    says: list[RequestText] = field(default_factory=list)
    asks: list[RequestText] = field(default_factory=list)
    documents: list[RequestText] = field(default_factory=list)
    grounding: list[RequestText] = field(default_factory=list)
    results: list[RequestText] = field(default_factory=list)
    skipped: Counter[Skipped] = field(default_factory=Counter)


def read_content(content: object, place: str, found: Content, tools: Mapping[str, str]) -> None:
    """Read the ``content`` of a message: add its texts to ``found`` by kind.

    Parts that cannot be read are counted in ``found``.

    ``place`` is the place of the content in the request, and ``tools`` maps the id of a call to the
    name of the tool.
    """
    for part, where in _parts(content, place):
        if isinstance(part, str):
            found.says += _piece(part, where)
        elif not _is_part(part):
            found.skipped[Skipped.PART] += 1
        elif part["type"] in _TOOL_RESULTS:
            id_, inside = usable_name(part["tool_use_id"]), part.get("content")
            if part["type"] == "web_fetch_tool_result" and isinstance(inside, Mapping):
                inside = inside.get("content")
            read_result(inside, f"{where}.content", found, id_, tools.get(id_, ""))
        elif part["type"] in ("document", "search_result"):
            documents = list(_documents(part, where))
            found.documents += documents
            found.skipped[Skipped.DOCUMENT] += not documents
        elif (file := _text_file(part)) is not None:
            found.documents += _piece(file[0], where, title=file[1])
        elif isinstance(text := _text_of(part), str):
            kinds = {"grounding_source": found.grounding, "query": found.asks}
            title = usable_name(part.get("title")) or None
            id_ = usable_name(part.get("id"))
            kinds.get(str(part["type"]), found.says).extend(_piece(text, where, id_, title))
        elif part["type"] in _DOCUMENTS:
            found.skipped[Skipped.DOCUMENT] += 1
        else:
            found.skipped[Skipped.PART] += 1


def _text_file(part: Mapping[str, object]) -> tuple[str, str | None] | None:
    """Return the text and the name of a text file that is sent in base64.

    Return ``None`` for any other part, and for a file that cannot be decoded.
    """
    file = part.get("file") if part["type"] == "file" else part
    if part["type"] not in ("file", "input_file") or not isinstance(file, Mapping):
        return None
    head, _, data = str(file.get("file_data")).partition(",")
    kind = head.removeprefix("data:").partition(";")[0]
    if not (kind.startswith("text/") or kind in _TEXT_FILES):
        return None
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None
    return text, usable_name(file.get("filename")) or None


def read_documents(documents: object, place: str, found: Content, unread: Skipped) -> None:
    """Add documents to ``found``: those beside the messages of a request, or results of a search.

    A document is a text or an object. If the ``data`` of an object is a text, this is the text of
    the document. Otherwise the text is in a field such as ``text``, ``content`` or ``snippet``. The
    field is in ``data`` if ``data`` is an object, else beside it. Without such a field, the text is
    the JSON of all fields. Values of other types are counted in ``found`` as ``unread``.
    """
    for entry, where in _parts(documents, place):
        if isinstance(entry, str):
            found.grounding += _piece(entry, where)
        elif isinstance(entry, Mapping):
            found.grounding += _document_piece(entry, where)
        else:
            found.skipped[unread] += 1


def _document_piece(entry: Mapping[str, object], place: str) -> Iterator[RequestText]:
    data = entry.get("data", entry)
    if isinstance(data, str):
        data = {"text": data}
    fields = data if isinstance(data, Mapping) else entry
    named = (fields.get(key) or entry.get(key) for key in _NAMES)
    title = next((name for name in map(usable_name, named) if name), None)
    texts = [value for key in _DOCUMENT_TEXTS if isinstance(value := fields.get(key), str)]
    text = texts[0] if texts else json.dumps(fields, ensure_ascii=False)
    yield from _piece(text, place, usable_name(entry.get("id")), title)


def read_result(content: object, place: str, found: Content, call_id: str, tool: str) -> None:
    """Read the result of a tool: add its texts to ``found``, and its other data as texts in JSON.

    An object is read as a part of a message if :func:`_is_part` finds that it is one. A list that
    contains such a part, or only strings, is read item by item. Other values except texts are data.
    An empty result adds nothing, nor does a text that is ``null`` or has no letter or digit.

    The texts get the id of the call as their id. If ``call_id`` is empty, their id is ``tool:`` and
    the name of the tool; if both are empty, they have no id.
    """
    id_, title = call_id or (f"tool:{tool}" if tool else ""), tool or None
    if content is None or content in ([], {}, ()):
        return
    if not (isinstance(content, str) or _is_part(content) or _is_list_of_parts(content)):
        try:
            content = json.dumps(content, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):  # not JSON data, or nested too deeply
            found.skipped[Skipped.RESULT_PART] += 1
            return
    for part, where in _parts(content, place):
        if isinstance(part, str):
            found.results += _result(part, where, id_, title)
        elif not _is_part(part):
            found.skipped[Skipped.RESULT_PART] += 1
        elif isinstance(text := _text_of(part), str):
            found.results += _result(text, where, id_, title)
        else:
            documents = list(_documents(part, where))
            found.results += [replace(x, id=id_, title=x.title or title) for x in documents]
            found.skipped[Skipped.RESULT_PART] += not documents


def usable_name(value: object) -> str:
    """Return an id, a title or the name of a tool, if it is a short printable text; else ``""``."""
    if isinstance(value, str) and len(value) <= _MAX_NAME_CHARS and value.isprintable():
        return value.strip()
    return ""


def _documents(part: Mapping[str, object], place: str) -> Iterator[RequestText]:
    """Yield the texts of a document or a search result; nothing if the part has no text."""
    title = usable_name(part.get("title")) or None
    inside: object = part.get("content")
    if part["type"] == "document":
        source = part["source"]
        if not isinstance(source, Mapping):
            return
        inside = source.get({"text": "data", "content": "content"}.get(str(source.get("type")), ""))
    for block, where in _parts(inside, place):
        text = block if isinstance(block, str) else _text_of(block)
        if isinstance(text, str):
            yield from _piece(text, where, "", title)


def items_of(value: object) -> Sequence[Any]:
    """Return the items of a list; empty for any other value."""
    return value if isinstance(value, (list, tuple)) else ()


def type_problem(value: object) -> str:
    """Return a phrase for an error message that names the type of a value."""
    return f"its type is {type(value).__name__}"


def _parts(content: object, place: str) -> Iterator[tuple[object, str]]:
    """Yield the parts of a message's content, or of similar data, each with its place.

    The parts of a list are its items. Any other value is one part; ``None`` has no parts.
    """
    if isinstance(content, (list, tuple)):
        yield from ((part, f"{place}[{i}]") for i, part in enumerate(content))
    elif content is not None:
        yield content, place


def _is_part(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether a value has a type of part, and a key that ``_PAYLOADS`` gives for it."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and any(key in value for key in _PAYLOADS.get(kind, ()))


def _is_list_of_parts(content: object) -> bool:
    return isinstance(content, (list, tuple)) and (
        any(_is_part(part) for part in content) or all(isinstance(part, str) for part in content)
    )


def _text_of(part: object) -> object:
    """Return the text of a text part; ``None`` for any other value."""
    return part["text"] if _is_part(part) and part["type"] in _TEXTS else None


def _result(text: str, place: str, id_: str, title: str | None) -> Iterator[RequestText]:
    """Yield a text of a tool result; nothing if it is ``null`` or has no letter or digit."""
    if text.strip() != "null" and any(map(str.isalnum, text)):
        yield from _piece(text, place, id_, title)


def _piece(text: str, place: str, id_: str = "", title: str | None = None) -> Iterator[RequestText]:
    """Yield a text with its place, id and title; nothing if the text is blank."""
    if text.strip():
        yield RequestText(text=text, place=place, id=id_, title=title)
