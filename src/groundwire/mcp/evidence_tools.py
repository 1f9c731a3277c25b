"""The tools for evidence that the server holds: add, list, get, search."""

from collections.abc import Mapping
from typing import Any

from groundwire.mcp import results, schemas
from groundwire.mcp.arguments import Arguments, CallError
from groundwire.mcp.backend import Backend
from groundwire.mcp.files import MAX_LINES, MAX_PATH_CHARS
from groundwire.mcp.given import HANDLE_ARGUMENT
from groundwire.mcp.sessions import NO_SESSION, Stores
from groundwire.mcp.store import EvidenceStore, FileRange, HeldSpan, SpanOrigin
from groundwire.mcp.text_results import lines_of, quoted, tell_found, tell_span
from groundwire.mcp.tool import Call, Schema, Told, Tool

MAX_NOTE_CHARS = 200
MAX_QUERY_CHARS = 1_000
MAX_FOUND = 50
MAX_LISTED = 200
_MAX_LINE = 10_000_000
_EXCERPT_CHARS = 120

_NOTE = schemas.text("Where it comes from, in your words.", most=MAX_NOTE_CHARS)
_SPAN = results.result_of(
    {
        "sid": schemas.text("Its id, to be cited as [S0]."),
        "origin": {"enum": [str(SpanOrigin.FILE), str(SpanOrigin.TEXT)]},
        "n_chars": {"type": "integer"},
        "sha256": schemas.text("Of the text, in UTF-8."),
        "note": {"type": "string"},
        "path": {"type": "string"},
        "start_line": {"type": "integer"},
        "end_line": {"type": "integer"},
    },
    *("sid", "origin", "n_chars", "sha256"),
)
_ADDED = results.result_of(
    {
        "span": _SPAN,
        HANDLE_ARGUMENT: schemas.text(
            "Pass this with later calls: this connection has no session."
        ),
    },
    "span",
)


def holding_tools(backend: Backend, stores: Stores) -> tuple[Tool, ...]:
    """All of them."""
    handle = schemas.handle_argument(needs_handle=backend.needs_handle)
    return (
        _adding(backend, stores, handle),
        _adding_files(backend, stores, handle),
        _listing(stores, handle),
        _getting(stores, handle),
        _searching(backend, stores, handle),
    )


def _adding(backend: Backend, stores: Stores, handle: Mapping[str, Schema]) -> Tool:
    most = stores.limits.max_span_chars
    inputs = {"text": schemas.text("The text, verbatim.", most=most), "note": _NOTE, **handle}

    def run(call: Call) -> Told:
        arguments = Arguments(call.arguments, inputs)
        text = arguments.text("text", max_chars=most)
        return _add(stores, call, arguments, text, None)

    return Tool(
        name="add_span",
        title="Hold a text as evidence",
        description="Have the server hold a text as evidence. It gives it an id (S0, S1...) to be "
        "cited, and the text under that id cannot be changed. Add what you read before you "
        "answer from it.",
        input_schema=schemas.object_of(inputs, "text"),
        output_schema=_ADDED,
        run=run,
        is_read_only=False,
    )


def _adding_files(backend: Backend, stores: Stores, handle: Mapping[str, Schema]) -> Tool:
    line = {"type": "integer", "minimum": 1}
    inputs = {
        "path": schemas.text("The file: absolute, or from an allowed folder on.", most=4096),
        "start_line": {**line, "description": "The first line, from 1."},
        "end_line": {
            **line,
            "description": f"The last line, included; at most {MAX_LINES:,} lines in all.",
        },
        "note": _NOTE,
        **handle,
    }

    def run(call: Call) -> Told:
        arguments = Arguments(call.arguments, inputs)
        found = backend.roots.read(
            arguments.text("path", max_chars=MAX_PATH_CHARS),
            arguments.whole("start_line", 1, _MAX_LINE),
            arguments.whole("end_line", 1, _MAX_LINE),
        )
        return _add(stores, call, arguments, found.text, found.place)

    allowed = ", ".join(map(str, backend.roots.folders)) or "none: see --root of the server"
    return Tool(
        name="add_file_span",
        title="Hold lines of a file as evidence",
        description="Have the server read lines of a text file and hold them as evidence, so that "
        f"nobody has to trust a copy. Only files in allowed folders: {allowed}.",
        input_schema=schemas.object_of(inputs, "path", "start_line", "end_line"),
        output_schema=_ADDED,
        run=run,
        is_read_only=False,
    )


def _listing(stores: Stores, handle: Mapping[str, Schema]) -> Tool:
    inputs = {
        "limit": schemas.whole("How many at most.", 1, MAX_LISTED, 50),
        "offset": schemas.whole("How many to leave out first.", 0, 1_000_000, 0),
        **handle,
    }
    listed = results.result_of({**_SPAN["properties"], "excerpt": {"type": "string"}}, "sid")

    def run(call: Call) -> Told:
        arguments = Arguments(call.arguments, inputs)
        limit = arguments.whole("limit", 1, MAX_LISTED, default=50)
        offset = arguments.whole("offset", 0, 1_000_000, default=0)
        spans = _held(stores, call, arguments)
        shown = spans[offset : offset + limit]
        found = [{**each.to_dict(), "excerpt": _excerpt(each)} for each in shown]
        text = lines_of(f"{len(spans)} spans are held.", [tell_span(each) for each in shown])
        return Told(data={"spans": found, "total": len(spans)}, text=text)

    return Tool(
        name="list_spans",
        title="List held evidence",
        description="List the spans that are held, in the order they were added, without texts.",
        input_schema=schemas.object_of(inputs),
        output_schema=results.result_of(
            {"spans": {"type": "array", "items": listed}, "total": {"type": "integer"}},
            *("spans", "total"),
        ),
        run=run,
    )


def _getting(stores: Stores, handle: Mapping[str, Schema]) -> Tool:
    inputs = {"sid": schemas.text("The id: S0.", most=100), **handle}

    def run(call: Call) -> Told:
        arguments = Arguments(call.arguments, inputs)
        store = _store(stores, call, arguments) or EvidenceStore(stores.limits)
        span = store.get(arguments.text("sid", max_chars=100))
        return Told(data={"span": {**span.to_dict(), "text": span.text}}, text=span.text)

    return Tool(
        name="get_span",
        title="Read held evidence",
        description="The text of a span that is held, as it was added.",
        input_schema=schemas.object_of(inputs, "sid"),
        output_schema=results.result_of(
            {
                "span": results.result_of(
                    {**_SPAN["properties"], "text": {"type": "string"}}, *("sid", "text")
                )
            },
            "span",
        ),
        run=run,
    )


def _searching(backend: Backend, stores: Stores, handle: Mapping[str, Schema]) -> Tool:
    inputs = {
        "query": schemas.text("Words to look for.", most=MAX_QUERY_CHARS),
        "limit": schemas.whole("How many at most.", 1, MAX_FOUND, 5),
        **handle,
    }
    found_schema = results.result_of(
        {
            "sid": {"type": "string"},
            "score": {"type": "number"},
            "start": {"type": "integer"},
            "end": {"type": "integer"},
            "line": schemas.text("Its line that says most about the query."),
        },
        *("sid", "score", "line"),
    )

    def run(call: Call) -> Told:
        from groundwire.mcp.search import search  # with numpy

        arguments = Arguments(call.arguments, inputs)
        query = arguments.text("query", max_chars=MAX_QUERY_CHARS)
        limit = arguments.whole("limit", 1, MAX_FOUND, default=5)
        spans = _held(stores, call, arguments)
        tenant = call.tenant
        found = search(query, spans, backend.models.reader, most=limit, tenant=tenant)
        data = {"found": [each.to_dict() for each in found], "total": len(spans)}
        return Told(data=data, text=tell_found(found, {each.sid: each for each in spans}))

    return Tool(
        name="search_spans",
        title="Search held evidence",
        description="Rank the spans that are held by the words they share with a query, best "
        "first, to find what a claim should cite.",
        input_schema=schemas.object_of(inputs, "query"),
        output_schema=results.result_of(
            {"found": {"type": "array", "items": found_schema}, "total": {"type": "integer"}},
            *("found", "total"),
        ),
        run=run,
        is_long=True,
    )


def _add(
    stores: Stores, call: Call, arguments: Arguments, text: str, place: FileRange | None
) -> Told:
    note = arguments.optional_text("note", max_chars=MAX_NOTE_CHARS) or ""
    span, handle = stores.add(
        text, session=call.session, handle=_handle(arguments), note=note, place=place
    )
    data: dict[str, Any] = {"span": span.to_dict()}
    told = f"Held as {tell_span(span)}. Cite it as [{span.sid}]."
    if handle is not None:
        data[HANDLE_ARGUMENT] = handle
        told += f" Pass {HANDLE_ARGUMENT}={handle!r} with later calls."
    return Told(data=data, text=told)


def _held(stores: Stores, call: Call, arguments: Arguments) -> tuple[HeldSpan, ...]:
    store = _store(stores, call, arguments)
    return store.spans if store else ()


def _store(stores: Stores, call: Call, arguments: Arguments) -> EvidenceStore | None:
    handle = _handle(arguments)
    if call.session is None and handle is None:
        raise CallError(NO_SESSION)
    return stores.of(call.session, handle)


def _handle(arguments: Arguments) -> str | None:
    return arguments.optional_text(HANDLE_ARGUMENT, max_chars=100)


def _excerpt(span: HeldSpan) -> str:
    return quoted(span.text)[:_EXCERPT_CHARS]
