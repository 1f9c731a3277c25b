"""Evidence that the server holds: ids, bounds, and who sees what."""

from dataclasses import dataclass

import pytest

from groundwire.mcp.arguments import CallError
from groundwire.mcp.sessions import Stores
from groundwire.mcp.store import EvidenceStore, FileRange, SpanOrigin, StoreLimits

LIMITS = StoreLimits(
    max_spans=3, max_span_chars=20, max_bytes=40, max_total_bytes=60, max_sessions=2
)


@dataclass
class Clock:
    """A clock that a test turns."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_ids_are_given_in_the_order_of_adding() -> None:
    store = EvidenceStore(StoreLimits())
    assert [store.add(text).sid for text in ("one", "two", "three")] == ["S0", "S1", "S2"]


def test_a_text_that_is_held_keeps_its_id() -> None:
    store = EvidenceStore(StoreLimits())
    assert store.add("one") is store.add("one")
    assert store.add("one", note="from the readme").sid == "S1"


def test_a_span_cannot_be_changed() -> None:
    span = EvidenceStore(StoreLimits()).add("one")
    with pytest.raises(AttributeError):
        span.text = "two"  # type: ignore[misc]


def test_a_span_tells_where_its_text_comes_from_and_what_it_is() -> None:
    store = EvidenceStore(StoreLimits())
    added = store.add("one", note="said")
    read = store.add("one", place=FileRange(path="/a/b.txt", start_line=2, end_line=3))
    assert (added.origin, read.origin) == (SpanOrigin.TEXT, SpanOrigin.FILE)
    assert added.to_dict() == {
        "sid": "S0",
        "origin": "held_text",
        "n_chars": 3,
        "sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        "note": "said",
    }
    assert read.to_dict()["path"] == "/a/b.txt"


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_a_blank_text_is_no_evidence(text: str) -> None:
    with pytest.raises(CallError, match="blank"):
        EvidenceStore(StoreLimits()).add(text)


def test_spans_of_a_session_are_bounded_in_length_number_and_bytes() -> None:
    with pytest.raises(CallError, match="21 characters, and a span has at most 20"):
        EvidenceStore(LIMITS).add("x" * 21)
    store = EvidenceStore(LIMITS)
    for text in ("a", "b", "c"):
        store.add(text)
    with pytest.raises(CallError, match="3 spans are held"):
        store.add("d")
    assert store.add("a").sid == "S0"  # it is held already
    store = EvidenceStore(LIMITS)
    store.add("\u20ac" * 10)
    with pytest.raises(CallError, match="30 bytes are held, this text has 11, and 40"):
        store.add("x" * 11)


def test_an_unknown_id_says_which_there_are() -> None:
    store = EvidenceStore(StoreLimits())
    with pytest.raises(CallError, match=r"No span 'S0' is held. None is held"):
        store.get("S0")
    for text in ("a", "b", "c"):
        store.add(text)
    with pytest.raises(CallError, match=r"Held: S0 to S2\."):
        store.get("S3")
    assert store.get("[S2]").text == "c"


def test_sessions_do_not_see_each_other() -> None:
    stores = Stores()
    stores.add("secret of a", session="session:a")
    stores.add("secret of b", session="session:b")
    a, b = stores.of("session:a"), stores.of("session:b")
    assert a is not None
    assert b is not None
    assert [span.text for span in a.spans] == ["secret of a"]
    assert [span.text for span in b.spans] == ["secret of b"]
    assert stores.of("session:c") is None


def test_without_a_session_a_handle_is_made_that_nobody_can_guess() -> None:
    stores = Stores()
    span, first = stores.add("one", session=None)
    _, second = stores.add("two", session=None)
    assert span.sid == "S0"
    assert first is not None
    assert second is not None
    assert first != second
    assert len(first) >= 24
    again, same = stores.add("three", session=None, handle=first)
    assert (again.sid, same) == ("S1", first)


@pytest.mark.parametrize("handle", ["ev_000000000000000000000000", "session:a", "only", ""])
def test_what_is_no_handle_opens_nothing(handle: str) -> None:
    stores = Stores()
    stores.add("secret of a", session="session:a")
    stores.add("secret", session="only")
    with pytest.raises(CallError, match="Nothing is held under this handle"):
        stores.of(None, handle)
    with pytest.raises(CallError, match="Nothing is held under this handle"):
        stores.add("mine", session="session:a", handle=handle)


def test_what_is_not_used_is_forgotten_and_what_is_used_is_not() -> None:
    clock = Clock()
    stores = Stores(clock=clock)
    stores.add("old", session="session:old")
    _, handle = stores.add("handled", session=None)
    stores.add("used", session="session:used")
    clock.now = 1000
    stores.of("session:used")
    clock.now = 1801
    assert stores.of("session:old") is None
    assert stores.of("session:used") is not None
    with pytest.raises(CallError, match="not used for 30 minutes is forgotten"):
        stores.of(None, handle)


def test_an_id_of_a_session_never_means_two_texts_even_if_the_first_was_forgotten() -> None:
    clock = Clock()
    stores = Stores(clock=clock)
    stores.add("first", session="session:a")
    clock.now = 4000
    assert stores.of("session:a") is None
    assert stores.add("second", session="session:a")[0].sid == "S1"


def test_the_only_client_of_a_process_loses_nothing() -> None:
    clock = Clock()
    stores = Stores(forgets=False, clock=clock)
    stores.add("one", session="only")
    clock.now = 1e9
    assert stores.of("only") is not None


def test_sessions_are_bounded_in_number_and_together_in_bytes() -> None:
    stores = Stores(limits=LIMITS)
    stores.add("x" * 20, session="session:a")
    stores.add("y" * 20, session="session:b")
    with pytest.raises(CallError, match="2 sessions hold evidence"):
        stores.add("z", session="session:c")
    stores.add("z" * 20, session="session:b")
    with pytest.raises(CallError, match="60 bytes of evidence are held for all sessions"):
        stores.add("w", session="session:b")


def test_a_failed_addition_leaves_no_session_that_nobody_knows() -> None:
    stores = Stores(limits=LIMITS)
    for _ in range(5):
        with pytest.raises(CallError, match="blank"):
            stores.add(" ", session=None)
    assert stores.add("one", session=None)[0].sid == "S0"


def test_if_full_the_evidence_of_sessions_that_are_idle_makes_place() -> None:
    clock = Clock()
    stores = Stores(LIMITS, clock=clock)
    for session in ("one", "two"):
        stores.add("a text", session=session)
        clock.now += 50
    with pytest.raises(CallError, match="2 sessions hold evidence"):
        stores.add("a text", session="three")
    clock.now += 21
    stores.add("a text", session="three")
    assert (stores.of("one"), stores.of("two") is None) == (None, False)
