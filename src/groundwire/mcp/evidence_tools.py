"""The tools for held evidence, which the server stores: add, list, get and search spans."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field

from groundwire.mcp.arguments import MAX_ID_CHARS, CallError, HandleInput, Whole, Written
from groundwire.mcp.backend import Backend
from groundwire.mcp.files import MAX_LINES, MAX_PATH_CHARS
from groundwire.mcp.sessions import NO_SESSION, Stores
from groundwire.mcp.store import EvidenceStore, FileRange, SearchHit, SpanOrigin, StoreLimits
from groundwire.mcp.text_results import hits_text, lines_of, quoted, span_line
from groundwire.mcp.tool import Call, Tool, ToolResult

_EXCERPT_CHARS = 120


class NoteInput(HandleInput):
    """Arguments of every tool that adds a span: a handle, and a note about the text."""

    note: str | None = Field(
        None, max_length=200, description="Where it comes from, in your words."
    )


class AddInput(NoteInput):
    """Arguments to add a text as held evidence."""

    text: Written = Field(
        max_length=StoreLimits().max_span_chars, description="The text, verbatim."
    )


class AddFileInput(NoteInput):
    """Arguments to add lines of a file as held evidence."""

    path: Written = Field(
        max_length=MAX_PATH_CHARS, description="The file: absolute, or from an allowed folder on."
    )
    start_line: Whole = Field(ge=1, description="The first line, from 1.")
    end_line: Whole = Field(
        ge=1, description=f"The last line, included; at most {MAX_LINES:,} lines in all."
    )


class ListInput(HandleInput):
    """Arguments to list one page of the held spans."""

    limit: Whole = Field(50, ge=1, le=200, description="How many at most.")
    offset: Whole = Field(0, ge=0, le=1_000_000, description="How many to leave out first.")


class GetInput(HandleInput):
    """Arguments to read a held span."""

    sid: Written = Field(max_length=MAX_ID_CHARS, description="The id: S0.")


class SearchInput(HandleInput):
    """Arguments to search the held spans."""

    query: Written = Field(max_length=1_000, description="Words to look for.")
    limit: Whole = Field(5, ge=1, le=50, description="How many at most.")


class SpanResult(BaseModel):
    """A held span, described without its text."""

    sid: str = Field(description="Its id, to be cited as [S0].")
    origin: Annotated[str, Field(json_schema_extra={"enum": [SpanOrigin.FILE, SpanOrigin.TEXT]})]
    n_chars: int
    sha256: str = Field(description="Of the text, in UTF-8.")
    note: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0


class AddedResult(BaseModel):
    """The result of adding a span: the span, and a handle if the connection has no session."""

    span: SpanResult
    evidence: str = Field(
        "", description="Pass this with later calls: this connection has no session."
    )


class ListedSpan(SpanResult):
    """A held span in a list, with the beginning of its text."""

    excerpt: str = ""


class ListResult(BaseModel):
    """One page of the held spans, and the number of all."""

    spans: list[ListedSpan]
    total: int


class TextSpan(SpanResult):
    """A held span with its text."""

    text: str


class GetResult(BaseModel):
    """The result of reading a held span: the span with its text."""

    span: TextSpan


class SearchResult(BaseModel):
    """Held spans that share words with a query, best first, and the number of all held spans."""

    found: list[SearchHit]
    total: int


@dataclass(frozen=True, slots=True)
class HeldEvidence:
    """The tools that work with held evidence: each public method is a tool.

    Agents read the docstring of such a method as the description of the tool.
    """

    backend: Backend
    stores: Stores

    def add_span(self, call: Call, own: AddInput) -> Annotated[ToolResult, AddedResult]:
        """Have the server hold a text as evidence.

        The text gets an id (S0, S1...) to be cited, and cannot be changed under that id. Add what
        you read before you answer from it.
        """
        return self._add(call, own, own.text, None)

    def add_file_span(self, call: Call, own: AddFileInput) -> Annotated[ToolResult, AddedResult]:
        """Have the server read lines of a text file and hold them as evidence.

        The server reads the file itself, so nobody has to trust a copy of the lines.
        """
        text, place = self.backend.roots.read(own.path, own.start_line, own.end_line)
        return self._add(call, own, text, place)

    def list_spans(self, call: Call, own: ListInput) -> Annotated[ToolResult, ListResult]:
        """List the spans that are held, in the order they were added, without their full texts."""
        spans = self._store(call, own).spans
        shown = spans[own.offset : own.offset + own.limit]
        found = [
            {**each.to_dict(), "excerpt": quoted(each.text)[:_EXCERPT_CHARS]} for each in shown
        ]
        text = lines_of(f"{len(spans)} spans are held.", [span_line(each) for each in shown])
        return ToolResult(data={"spans": found, "total": len(spans)}, text=text)

    def get_span(self, call: Call, own: GetInput) -> Annotated[ToolResult, GetResult]:
        """Read the text of a span that is held, as it was added."""
        span = self._store(call, own).get(own.sid)
        return ToolResult(data={"span": {**span.to_dict(), "text": span.text}}, text=span.text)

    def search_spans(self, call: Call, own: SearchInput) -> Annotated[ToolResult, SearchResult]:
        """Rank the held spans by the words they share with a query, best first.

        Use it to find what a claim should cite.
        """
        from groundwire.mcp.search import search  # imported here: it loads numpy, which is slow

        spans = self._store(call, own).spans
        reader = self.backend.models.reader
        found = search(own.query, spans, reader, most=own.limit, tenant=call.tenant)
        data = {"found": [asdict(each) for each in found], "total": len(spans)}
        return ToolResult(data=data, text=hits_text(found, n=len(spans)))

    def _add(self, call: Call, own: NoteInput, text: str, place: FileRange | None) -> ToolResult:
        span, handle = self.stores.add(
            text, session=call.session, handle=own.evidence, note=own.note or "", place=place
        )
        data: dict[str, Any] = {"span": span.to_dict()}
        text_shown = f"Held as {span_line(span)}. Cite it as [{span.sid}]."
        if handle is not None:
            data["evidence"] = handle
            text_shown += f" Pass evidence={handle!r} with later calls."
        return ToolResult(data=data, text=text_shown)

    def _store(self, call: Call, own: HandleInput) -> EvidenceStore:
        """Return the store of evidence of a call's session or handle.

        The store is empty if the session has added no span.

        Raises:
            CallError: If the call has neither session nor handle, or nothing is held under the
                handle.
        """
        if call.session is None and own.evidence is None:
            raise CallError(NO_SESSION)
        return self.stores.of(call.session, own.evidence) or EvidenceStore(self.stores.limits)


def holding_tools(backend: Backend, stores: Stores) -> tuple[Tool, ...]:
    """Make all tools for held evidence."""
    held, make = HeldEvidence(backend, stores), partial(Tool.of, hidden=backend.hidden)
    allowed = ", ".join(map(str, backend.roots.folders)) or "none: see --root of the server"
    more = f"Only files in allowed folders: {allowed}."
    return (
        make(held.add_span, "Hold a text as evidence", is_read_only=False),
        make(held.add_file_span, "Hold lines of a file as evidence", more=more, is_read_only=False),
        make(held.list_spans, "List held evidence"),
        make(held.get_span, "Read held evidence"),
        make(held.search_spans, "Search held evidence", is_long=True),
    )
