"""Finds the evidence of a call: held spans, texts that came with the call, or both.

A held span is a text of evidence that an earlier call stored in the server.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.mcp.arguments import CallError, EvidenceInput
from groundwire.mcp.backend import Backend
from groundwire.mcp.sessions import NO_SESSION
from groundwire.mcp.store import HeldSpan, SpanOrigin, describe
from groundwire.verify.citing import IdMap
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.spans import read_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The evidence of a call.

    Attributes:
        held: The held spans that the call chose.
        passed: The texts that came with the call, unparsed; ``None`` if the call left them out.
    """

    held: tuple[HeldSpan, ...] = ()
    passed: list[Any] | None = None

    @property
    def all(self) -> list[Any] | None:
        """All evidence as input for :func:`read_spans`: held spans first, then texts of the call.

        ``None`` if the call chose no held span and left the texts out.
        """
        if not self.held:
            return self.passed
        return [*({"sid": span.sid, "text": span.text} for span in self.held), *(self.passed or ())]

    def origins(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the origin of each span's text: id → a value of :class:`.store.SpanOrigin`."""
        held = {span.sid: span.origin for span in self.held}
        return {sid: str(held.get(sid, SpanOrigin.CALLER)) for sid in ids}


def given(
    arguments: EvidenceInput, texts: list[Any] | None, backend: Backend, *, session: str | None
) -> Given:
    """Find the evidence of a call.

    Args:
        arguments: Arguments of the call, which choose held spans.
        texts: The texts that came with the call as evidence; ``None`` if the call left them out.
        backend: The backend, with the held evidence.
        session: Session of the call; ``None`` without one.

    Raises:
        CallError: If the handle or a chosen held span cannot be found; if all held spans are chosen
            and none is held; if held spans are chosen, but the call has neither a session nor a
            handle; if the id of a text of the call could be mistaken for that of a held span; or if
            the call has texts and this server refuses them.
    """
    stores, handle = backend.stores, arguments.evidence
    if backend.held_only and texts is not None:
        raise CallError(
            "This server takes held evidence only. Leave the texts of the call out, add what you "
            "read with add_span or add_file_span, and pass use_held_spans or span_ids."
        )
    if stores is None:
        return Given(passed=texts)
    wanted = list(dict.fromkeys(arguments.span_ids or ()))
    if session is None and handle is None and (wanted or arguments.use_held_spans):
        raise CallError(NO_SESSION)
    store = stores.of(session, handle)
    known = {span.sid: span for span in store.spans} if store else {}
    _refuse_clashes(_ids(texts), known)
    if arguments.use_held_spans and not known:
        raise CallError(f"use_held_spans was asked for. {describe(known)}")
    if missing := [sid for sid in wanted if sid not in known]:
        raise CallError(f"No span {missing[0][:60]!r} is held. {describe(known)}")
    chosen = known if arguments.use_held_spans else {sid: known[sid] for sid in wanted}
    found = Given(held=tuple(chosen.values()), passed=texts)
    # Texts without an id are numbered by position, even if read_spans refuses one of them. These
    # ids must not clash either.
    places = enumerate(texts or (), len(chosen) + 1)
    unnamed = (place for place, each in places if not any(_ids([each])))
    ids = ids_of(found.all) or [f"s{place}" for place in unnamed]
    _refuse_clashes(set(ids) - chosen.keys(), known)
    return found


def ids_of(spans: object) -> tuple[str, ...]:
    """Return the ids that a verification reads from spans; empty if the spans are malformed."""
    try:
        return tuple(span.id for span in read_spans(spans))
    except NotVerifiedError:
        return ()


def _refuse_clashes(ids: Iterable[str], known: Mapping[str, HeldSpan]) -> None:
    """Raise a CallError if an id may be mistaken for a held span's, such as ``0`` for ``S0``."""
    meant = IdMap(frozenset(known))
    for sid in sorted(ids):
        if held := meant.meaning(sid):
            also = "" if held == sid else f", which {sid[:60]!r} may mean"
            raise CallError(
                f"The server holds another text under the id {held!r}{also}. Give what you pass "
                "ids of its own, or use the held span with span_ids."
            )


def _ids(texts: Sequence[Any] | None) -> set[str]:
    """Return the ids that the caller gave to the texts of a call; a text may have none."""
    return {
        str(each[key]).strip()
        for each in texts or ()
        if isinstance(each, Mapping)
        for key in ("sid", "id")
        if isinstance(each.get(key), str | int)
    }
