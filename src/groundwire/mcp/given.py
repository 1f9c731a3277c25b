"""Which evidence a call means: what the server holds, what came with the call, or both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.mcp.arguments import MAX_SPANS, Arguments, CallError
from groundwire.mcp.sessions import NO_SESSION, Stores
from groundwire.mcp.store import HeldSpan, Origin, describe

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
        return {sid: str(held.get(sid, Origin.CALLER)) for sid in ids}


def given(
    arguments: Arguments, passed: str, *, stores: Stores | None, session: str | None
) -> Given:
    """Find the evidence that a call means.

    Args:
        arguments: Of the call.
        passed: The argument with texts of its own.
        stores: What is held; ``None`` if this server holds nothing.
        session: Whose call it is.

    Raises:
        CallError: If there is no such held span, or a text of the call has the id of one.
    """
    texts = arguments.items(passed, most=MAX_SPANS)
    if stores is None:
        return Given(passed=texts)
    handle = arguments.optional_text(HANDLE_ARGUMENT, max_chars=100)
    store = stores.of(session, handle)
    known = {span.sid: span for span in store.spans} if store else {}
    wanted = arguments.names("span_ids", most=MAX_SPANS)
    wants_all = arguments.flag("use_held_spans")
    if session is None and handle is None and (wanted or wants_all):
        raise CallError(NO_SESSION)
    if clashing := sorted(known.keys() & _ids(texts)):
        raise CallError(
            f"The server holds another text under the id {clashing[0]!r}. Give what you pass ids "
            "of its own, or use the held span with span_ids."
        )
    if wants_all:
        if not known:
            raise CallError(f"use_held_spans was asked for. {describe(known)}")
        return Given(held=tuple(known.values()), passed=texts)
    if missing := [sid for sid in wanted or () if sid not in known]:
        raise CallError(f"No span {missing[0][:60]!r} is held. {describe(known)}")
    return Given(held=tuple(known[sid] for sid in dict.fromkeys(wanted or ())), passed=texts)


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
