"""Work after a response: counted, waited for, and never silent."""

import asyncio

import pytest

from groundwire.gateway.http.background import Background

pytestmark = pytest.mark.asyncio


async def test_the_end_waits_for_all_and_for_what_they_start() -> None:
    background, done = Background(), []

    async def work(n: int) -> None:
        await asyncio.sleep(0)
        done.append(n)
        if n:
            background.start(work(n - 1))

    background.start(work(3))
    assert background.n_running == 1
    await background.close(20.0)
    assert done == [3, 2, 1, 0]
    assert background.n_running == 0


async def test_what_takes_too_long_is_cancelled_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    background = Background()
    background.start(asyncio.Event().wait())
    background.start(asyncio.Event().wait())
    await background.close(0.0)
    assert "cancelled at the end: 2" in caplog.text


async def test_a_failure_is_logged_by_its_class(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()

    async def fail() -> None:
        raise RuntimeError("what a user wrote")

    background.start(fail(), name="audit")
    await background.close(20.0)
    assert "Work after a response failed: audit: RuntimeError" in caplog.text
    assert "what a user wrote" not in caplog.text
