"""The cache: bounded in bytes, least recently used out first, computed once."""

import random
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier, Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.engine.cache import ByteCache


@dataclass(frozen=True)
class Box:
    """A value of a stated size."""

    name: str
    nbytes: int


class Clock:
    """A timer that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Maker:
    """Makes boxes and counts them."""

    def __init__(self, nbytes: int = 10) -> None:
        self.made: list[str] = []
        self.nbytes = nbytes

    def fill(self, cache: ByteCache[Box], name: str, nbytes: int | None = None) -> Box:
        def compute() -> Box:
            self.made.append(name)
            return Box(name, self.nbytes if nbytes is None else nbytes)

        return cache.get(name, compute)


def test_a_value_is_computed_once_and_found_again() -> None:
    cache, maker = ByteCache[Box](100), Maker()
    assert maker.fill(cache, "a") is maker.fill(cache, "a")
    assert maker.made == ["a"]
    stats = cache.stats
    assert (stats.hits, stats.misses, stats.evictions) == (1, 1, 0)
    assert (stats.entries, stats.bytes, stats.max_bytes) == (1, 10, 100)


def test_the_least_recently_used_goes_first() -> None:
    cache, maker = ByteCache[Box](30), Maker()
    for name in ("a", "b", "c", "a", "d"):  # b was used longest ago when d comes
        maker.fill(cache, name)
    maker.made.clear()
    for name in ("a", "c", "d"):
        maker.fill(cache, name)
    assert maker.made == []
    maker.fill(cache, "b")
    assert maker.made == ["b"]
    assert cache.stats.evictions == 2


def test_a_large_value_drives_out_as_many_as_it_needs() -> None:
    cache, maker = ByteCache[Box](30), Maker()
    for name in ("a", "b", "c"):
        maker.fill(cache, name)
    maker.fill(cache, "large", 15)
    assert (cache.stats.entries, cache.stats.bytes, cache.stats.evictions) == (2, 25, 2)


def test_a_value_larger_than_the_cache_is_computed_and_drives_out_nothing() -> None:
    cache, maker = ByteCache[Box](30), Maker()
    maker.fill(cache, "a")
    assert maker.fill(cache, "huge", 31) == Box("huge", 31)
    assert maker.fill(cache, "huge", 31) == Box("huge", 31)
    assert maker.made == ["a", "huge", "huge"]
    assert (cache.stats.entries, cache.stats.bytes, cache.stats.evictions) == (1, 10, 0)


def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    cache, maker = ByteCache[Box](0), Maker()
    maker.fill(cache, "a")
    maker.fill(cache, "a")
    assert maker.made == ["a", "a"]
    assert (cache.stats.misses, cache.stats.bytes) == (2, 0)


def test_an_entry_is_gone_after_its_time_counted_from_when_it_was_made() -> None:
    clock, maker = Clock(), Maker()
    cache = ByteCache[Box](100, ttl_s=60, timer=clock)
    maker.fill(cache, "a")
    clock.now = 59.9
    maker.fill(cache, "a")  # being used does not prolong it
    assert maker.made == ["a"]
    clock.now = 60.1
    assert (cache.stats.entries, cache.stats.bytes) == (0, 0)
    maker.fill(cache, "a")
    assert maker.made == ["a", "a"]
    assert cache.stats.evictions == 0  # nothing had to make room


def test_tenants_never_find_what_was_computed_for_another() -> None:
    cache = ByteCache[Box](100)
    mine = cache.get(("me", "text"), lambda: Box("mine", 10))
    yours = cache.get(("you", "text"), lambda: Box("yours", 10))
    assert (mine.name, yours.name) == ("mine", "yours")
    assert cache.stats.hits == 0


def test_clearing_forgets_entries_and_keeps_counters() -> None:
    cache, maker = ByteCache[Box](100), Maker()
    maker.fill(cache, "a")
    cache.clear()
    maker.fill(cache, "a")
    assert maker.made == ["a", "a"]
    assert (cache.stats.misses, cache.stats.entries) == (2, 1)


def test_many_who_ask_at_once_wait_for_one() -> None:
    cache, n = ByteCache[Box](100), 8
    ready, done = Barrier(n), Event()
    made: list[int] = []

    def compute() -> Box:
        made.append(1)
        done.wait(5)
        return Box("a", 10)

    def ask() -> Box:
        ready.wait(5)
        return cache.get("a", compute)

    with ThreadPoolExecutor(n) as pool:
        asked = [pool.submit(ask) for _ in range(n)]
        done.set()
        boxes = {id(future.result()) for future in asked}
    assert (len(made), len(boxes)) == (1, 1)
    assert (cache.stats.hits, cache.stats.misses) == (n - 1, 1)


def fail() -> Box:
    raise OSError("disk")


def test_a_failure_is_told_and_not_kept() -> None:
    cache, maker = ByteCache[Box](100), Maker()
    with pytest.raises(OSError, match="disk"):
        cache.get("a", fail)
    assert maker.fill(cache, "a") == Box("a", 10)
    assert cache.stats.entries == 1


def test_who_waits_for_a_failure_hears_of_it() -> None:
    cache = ByteCache[Box](100)
    begun, go_on = Event(), Event()

    def compute() -> Box:
        begun.set()
        go_on.wait(5)
        return fail()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "a", compute)
        begun.wait(5)
        second = pool.submit(cache.get, "a", compute)
        while cache.stats.hits == 0:  # until the second waits too
            pass
        go_on.set()
        for future in (first, second):
            with pytest.raises(OSError, match="disk"):
                future.result(5)
    assert cache.get("a", lambda: Box("a", 1)) == Box("a", 1)


def test_a_value_that_does_not_know_its_size_blocks_nobody() -> None:
    cache = ByteCache[Box](100)
    for _ in range(2):
        with pytest.raises(AttributeError):
            cache.get("a", lambda: "no size")  # type: ignore[arg-type, return-value]
    assert cache.get("a", lambda: Box("a", 1)) == Box("a", 1)


def test_what_is_read_ahead_is_there_and_nothing_is_waited_for() -> None:
    cache, maker = ByteCache[Box](100), Maker()
    assert cache.lacks("k")
    assert cache.read_ahead("k", lambda: Box("k", 5)) == Box("k", 5)
    assert not cache.lacks("k")
    assert cache.read_ahead("k", fail) is None
    assert maker.fill(cache, "k", 5) == Box("k", 5)
    assert (cache.stats.hits, cache.stats.misses) == (1, 1)

    def compute() -> Box:
        assert not cache.lacks("other")
        assert cache.read_ahead("other", fail) is None  # this thread computes it right now
        return Box("other", 5)

    assert cache.get("other", compute) == Box("other", 5)


def test_what_fails_to_be_read_ahead_is_computed_by_whoever_asks() -> None:
    cache = ByteCache[Box](100)
    with pytest.raises(OSError, match="disk"):
        cache.read_ahead("k", fail)
    assert cache.lacks("k")
    assert cache.get("k", lambda: Box("k", 5)) == Box("k", 5)


@settings(max_examples=200)
@given(max_bytes=st.integers(0, 60), asked=st.lists(st.integers(0, 9), max_size=60))
def test_it_behaves_like_a_list_ordered_by_use(max_bytes: int, asked: list[int]) -> None:
    """Against a plain model: sizes follow from the name, so that both agree on them."""
    cache, maker = ByteCache[Box](max_bytes), Maker()
    model: OrderedDict[str, int] = OrderedDict()
    misses = evictions = 0
    for number in asked:
        name, size = f"k{number}", 1 + 4 * number
        if name in model:
            model.move_to_end(name)
        else:
            misses += 1
            if size <= max_bytes:
                while sum(model.values()) + size > max_bytes:
                    model.popitem(last=False)
                    evictions += 1
                model[name] = size
        assert maker.fill(cache, name, size) == Box(name, size)
        stats = cache.stats
        assert stats.bytes == sum(model.values()) <= max_bytes
        assert (stats.entries, stats.misses, stats.evictions) == (len(model), misses, evictions)
    assert cache.stats.hits == len(asked) - misses


def test_threads_that_hammer_it_get_the_right_values_within_the_bound() -> None:
    cache = ByteCache[Box](200)
    n_threads, n_each = 8, 400

    def hammer(seed: int) -> int:
        rng, most = random.Random(seed), 0
        for _ in range(n_each):
            name = f"k{rng.randrange(30)}"
            if rng.random() < 0.1:
                with pytest.raises(OSError, match="disk"):
                    cache.get(("fails", name), fail)
            assert cache.get(name, lambda name=name: Box(name, 11)).name == name  # type: ignore[misc]
            most = max(most, cache.stats.bytes)
        return most

    with ThreadPoolExecutor(n_threads) as pool:
        assert max(pool.map(hammer, range(n_threads))) <= 200
    stats = cache.stats
    assert stats.hits + stats.misses >= n_threads * n_each
    assert stats.entries == 18
