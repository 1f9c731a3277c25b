"""Who reads next: order and counts, never time."""

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread
from types import FrameType

import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire import Detector
from groundwire.detection import evidence
from groundwire.engine.reader import Reader
from groundwire.engine.roles import TextRole
from groundwire.engine.runtime import KeysValues
from groundwire.engine.scheduler import Turns
from tests.engine.lookup import LookupGraph, looking_up

FACTS = ["The tower is tall.", "The bridge is long."]
WAIT_S = 10


@pytest.fixture
def turns() -> Turns:
    return Turns(1)


def waiting(turns: Turns, kind: str, done: list[str], name: str) -> Thread:
    """A thread that waits for a turn, and says when it had it."""

    def run() -> None:
        with turns.answer() if kind == "answer" else turns.source():
            done.append(name)

    row = turns._answers if kind == "answer" else turns._sources
    n_before = len(row)
    thread = Thread(target=run)
    thread.start()
    until(lambda: len(row) > n_before)
    return thread


def until(holds: Callable[[], bool]) -> None:
    """Wait for another thread."""
    pause = Event()
    for _ in range(1000):
        if holds():
            return
        pause.wait(WAIT_S / 1000)
    raise AssertionError("the other thread did not get there")


def test_answers_go_before_sources_and_first_come_is_first(turns: Turns) -> None:
    done: list[str] = []
    with turns.answer():
        rows = ["source", "source", "answer", "source", "answer"]
        threads = [waiting(turns, row, done, f"{row} {i}") for i, row in enumerate(rows)]
    for thread in threads:
        thread.join(WAIT_S)
    assert done == ["answer 2", "answer 4", "source 0", "source 1", "source 3"]


def test_there_are_never_more_turns_than_there_are() -> None:
    turns, most, now, lock = Turns(2), 0, 0, threading.Lock()

    def take(n: int) -> None:
        nonlocal most, now
        with turns.answer() if n % 2 else turns.source():
            with lock:
                now += 1
                most = max(most, now)
            Event().wait(0.0001)
            with lock:
                now -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(100)))
    assert (most, now, turns._n_free) == (2, 0, 2)


def test_a_turn_comes_back_whatever_happens(turns: Turns) -> None:
    for row in (turns.answer, turns.source):
        with pytest.raises(OSError, match="memory"), row():
            raise OSError("out of memory")
    assert turns._n_free == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there a waiting thread is not interrupted")
def test_who_is_interrupted_while_waiting_takes_no_turn(turns: Turns) -> None:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def send() -> None:
        until(lambda: bool(turns._answers))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with turns.source():
            Thread(target=send).start()
            with pytest.raises(KeyboardInterrupt), turns.answer():
                pytest.fail("there is one turn, and it is taken")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (turns._n_free, len(turns._answers)) == (1, 0)


def test_jobs_begin_in_order_and_what_has_not_begun_is_dropped_at_the_end(turns: Turns) -> None:
    done: list[int] = []
    begun, go_on = Event(), Event()

    def first() -> None:
        begun.set()
        go_on.wait(WAIT_S)
        done.append(0)

    def fails() -> None:
        done.append(1)
        raise OSError("out of memory")

    for job in (first, fails, lambda: done.append(2)):
        turns.ahead(job)
    begun.wait(WAIT_S)
    go_on.set()
    until(lambda: len(done) == 3)
    assert done == [0, 1, 2]
    go_on.clear()
    begun.clear()
    turns.ahead(first)
    begun.wait(WAIT_S)
    turns.ahead(lambda: done.append(3))
    closing = Thread(target=turns.close)
    closing.start()
    until(lambda: turns._background._shutdown)
    go_on.set()
    closing.join(WAIT_S)
    assert done == [0, 1, 2, 0]


# What the reader does with them.


@pytest.fixture
def graph() -> LookupGraph:
    return LookupGraph()


def turns_of(detector: Detector) -> Turns:
    assert isinstance(detector.backend, Reader)
    return detector.backend.shared.turns


def rest(detector: Detector) -> None:
    """Wait until nothing is done in the background."""
    turns_of(detector)._background.shutdown()
    detector._shared.workers.shutdown()


def test_a_stream_that_is_closed_while_it_waits_reads_nothing_ahead(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph, threads=1)
    turns = turns_of(detector)
    with turns.answer():
        stream = detector.stream(sources=FACTS, question="How tall is the tower?")
        until(lambda: bool(turns._sources))
        stream.close()
    rest(detector)
    assert graph.texts == []


def test_an_answer_does_not_wait_for_what_is_to_be_read_ahead(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph, threads=1)
    turns = turns_of(detector)
    with turns.answer():
        stream = detector.stream(sources=FACTS, question="How tall is the tower?")
        until(lambda: bool(turns._sources))
        feeding = Thread(target=stream.feed, args=["The tower is tall. The"])
        feeding.start()
        until(lambda: bool(turns._answers))
    feeding.join(WAIT_S)
    assert [claim.text for claim in stream.claims] == ["The tower is tall."]
    rest(detector)
    # Each text once, whoever read it.
    sources = [text.ids for text in graph.texts if text.role is TextRole.SOURCE]
    assert len(sources) == len(set(sources)) == 2


def test_what_several_streams_ask_for_at_once_is_read_once(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph)
    sources = [f"The tower number {i} is tall." for i in range(20)]
    gate = Barrier(4)

    def run(_: int) -> object:
        gate.wait(WAIT_S)
        stream = detector.stream(sources=sources, question="Which tower is tall?")
        stream.feed("The tower number 3 is tall. The tower number 7 is red.")
        return stream.finish()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, range(4)))
    rest(detector)
    assert all(each == found[0] for each in found)
    read = [(text.role, text.ids) for text in graph.texts]
    assert len(read) == len(set(read))


def test_what_the_next_claim_looks_back_at_is_read_before_it_comes(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph)
    stream = detector.stream(sources=FACTS, question="How tall is the tower?")
    stream.feed("The tower is tall. The")
    rest(detector)
    assert [text.role for text in graph.texts].count(TextRole.HISTORY) == 1
    stream.feed(" bridge is long. And")
    assert [text.role for text in graph.texts].count(TextRole.HISTORY) == 1


def test_nothing_looks_back_at_the_last_claim(reader: Reader, graph: LookupGraph) -> None:
    detector = looking_up(reader, graph)
    stream = detector.stream(sources=FACTS)
    stream.feed("The tower is tall.")
    stream.finish()
    detector.detect(sources=FACTS, answer="The bridge is long.")
    rest(detector)
    assert TextRole.HISTORY not in [text.role for text in graph.texts]


def test_a_claim_has_missing_passages_read_side_by_side(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for floor in ("FIRST_FLOOR", "SECOND_FLOOR", "SOURCE_FLOOR"):
        monkeypatch.setattr(evidence, floor, -1e9)
    both = Barrier(2)

    class Meeting(LookupGraph):
        def read_source(self, ids: Sequence[int] | NDArray[np.int32], role: TextRole) -> KeysValues:
            if role is TextRole.SOURCE:
                both.wait(WAIT_S)  # broken if one is read after the other
            return super().read_source(ids, role)

    graph = Meeting()
    found = looking_up(reader, graph).detect(sources=FACTS, answer="The tower is tall and long.")
    assert found.claims[0].reason is None
    assert len(graph.texts) == 2


def test_a_stream_goes_on_without_the_threads_of_a_detector_that_was_closed(
    reader: Reader, graph: LookupGraph
) -> None:
    detector = looking_up(reader, graph)
    stream = detector.stream(sources=FACTS)
    detector.close()
    stream.feed("The tower is tall. The bridge")
    assert [claim.reason for claim in stream.claims] == [None]


def test_how_many_read_at_a_time_changes_no_bit() -> None:
    sources = [*FACTS, "It was painted red in 1968. " * 40]
    answer = "The tower is tall. It was painted green in 1970. The bridge is short."
    found = []
    for threads in (1, 3):
        with Detector.load(threads=threads) as detector:
            found.append(detector.detect(sources=sources, answer=answer, question="What is it?"))
    assert found[0] == found[1]
