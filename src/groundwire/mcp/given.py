"""Which evidence a call means: what the server holds, what came with the call, or both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.mcp.arguments import MAX_SPANS, Arguments, CallError
from groundwire.mcp.backend import Backend
from groundwire.mcp.sessions import NO_SESSION
from groundwire.mcp.store import HeldSpan, SpanOrigin, describe
from groundwire.verify.citing import IdMap
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.spans import read_spans

#: The argument that names a store where there are no sessions.
HANDLE_ARGUMENT = "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The evidence of a call.

    Attributes:
        held: Spans that the server holds.
        passed: What came with the call, as it came; ``None`` if nothing did.
    """

    held: tuple[HeldSpan, ...] = ()
    passed: Any = None

    @property
    def all(self) -> Any:  # noqa: ANN401 - as the agent sent it, if that is all there is
        """All of it, the held spans first, as the library takes spans."""
        if not self.held:
            return self.passed
        held = [{"sid": span.sid, "text": span.text} for span in self.held]
        if self.passed is None:
            return held
        return [*held, *self.passed] if isinstance(self.passed, list) else self.passed

    def origins(self, ids: Sequence[str]) -> dict[str, str]:
        """Id → where the text of that span comes from."""
        held = {span.sid: span.origin for span in self.held}
        return {sid: str(held.get(sid, SpanOrigin.CALLER)) for sid in ids}


def given(arguments: Arguments, passed: str, backend: Backend, *, session: str | None) -> Given:
    """Find the evidence that a call means.

    Args:
        arguments: Of the call.
        passed: The argument with texts of its own.
        backend: What is held, if anything is, and whether texts of a call count.
        session: Whose call it is.

    Raises:
        CallError: If there is no such held span, a text of the call has an id that may mean one,
            or texts of a call do not count here.
    """
    stores = backend.stores
    texts = arguments.items(passed, most=MAX_SPANS)
    if backend.held_only and texts is not None:
        raise CallError(
            f"This server takes held evidence only. Leave {passed} out, add what you read with "
            "add_span or add_file_span, and pass use_held_spans or span_ids."
        )
    if stores is None:
        return Given(passed=texts)
    handle = arguments.optional_text(HANDLE_ARGUMENT, max_chars=100)
    store = stores.of(session, handle)
    known = {span.sid: span for span in store.spans} if store else {}
    wanted = arguments.names("span_ids", most=MAX_SPANS)
    wants_all = arguments.flag("use_held_spans")
    if session is None and handle is None and (wanted or wants_all):
        raise CallError(NO_SESSION)
    _refuse_clashes(_ids(texts), known)
    if wants_all:
        if not known:
            raise CallError(f"use_held_spans was asked for. {describe(known)}")
        return Given(held=tuple(known.values()), passed=texts)
    if missing := [sid for sid in wanted or () if sid not in known]:
        raise CallError(f"No span {missing[0][:60]!r} is held. {describe(known)}")
    chosen = tuple(known[sid] for sid in dict.fromkeys(wanted or ()))
    found = Given(held=chosen, passed=texts)
    if passed == "spans" and texts is not None:
        # One without an id gets one by its place.
        _refuse_clashes(set(ids_of(found.all)) - {span.sid for span in chosen}, known)
    return found


def ids_of(spans: object) -> tuple[str, ...]:
    """Ids of spans as the library reads them; none if it cannot."""
    try:
        return tuple(span.sid for span in read_spans(spans))
    except NotVerifiedError:
        return ()


def _refuse_clashes(ids: Iterable[str], known: Mapping[str, HeldSpan]) -> None:
    """Refuse ids that an answer may write for a held span: ``0`` and ``s0`` mean ``S0`` as well.

    Raises:
        CallError: If there is one.
    """
    meant = IdMap(frozenset(known))
    for sid in sorted(ids):
        if held := meant.meaning(sid):
            also = "" if held == sid else f", which {sid[:60]!r} may mean"
            raise CallError(
                f"The server holds another text under the id {held!r}{also}. Give what you pass "
                "ids of its own, or use the held span with span_ids."
            )


def _ids(texts: object) -> set[str]:
    """The ids that texts of a call have."""
    if not isinstance(texts, list):
        return set()
    return {
        str(each[key]).strip()
        for each in texts
        if isinstance(each, Mapping)
        for key in ("sid", "id")
        if isinstance(each.get(key), str | int)
    }
