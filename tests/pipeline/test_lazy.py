"""What is made when it is first needed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwire.pipeline.lazy import Lazy


def test_it_is_made_once_however_many_ask() -> None:
    go_on, made = threading.Event(), []

    def make() -> object:
        assert go_on.wait(20)
        made.append(object())
        return made[-1]

    lazy = Lazy(make)
    assert not made
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lazy.get) for _ in range(4)]
        go_on.set()
        assert {each.result(20) for each in asked} == {made[0]}
    assert (lazy.get(), len(made)) == (made[0], 1)


def test_a_failure_is_remembered_for_a_while_and_then_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, tries, works = [0.0], [], [False]

    def make() -> str:
        tries.append(now[0])
        if not works[0]:
            raise OSError("gone")
        return "made"

    monkeypatch.setattr("groundwire.pipeline.lazy.monotonic", lambda: now[0])
    lazy = Lazy(make)
    for moment in (0.0, 10.0, 29.0, 30.0, 31.0):
        now[0] = moment
        with pytest.raises(OSError, match="gone"):
            lazy.get()
    assert tries == [0.0, 30.0]
    works[0], now[0] = True, 60.0
    assert (lazy.get(), lazy.get(), len(tries)) == ("made", "made", 3)


def test_what_is_made_may_be_nothing() -> None:
    tries: list[None] = []
    lazy = Lazy(lambda: tries.append(None))
    assert (lazy.get(), lazy.get(), len(tries)) == (None, None, 1)
