"""Time and memory that hostile texts take."""

import sys
from types import FrameType

import pytest

from groundwire.text.segment import Segmenter
from tests.text.segment.pieces import streamed

HOSTILE = [
    *["[", ".", " ", "`", "\n", "1. ", "[1", "[1] ", "foo. ", "`a ", "x", "\r", "#", "- ", "|a"],
    *[
        "。",
        "~",
        "*",
        "a\n",
        "`a``b```c",
        "a.[1 ",
        "a.\n[1]",
        "a. (",
        "Inc. ",
        "\\n",
        "> ",
        "\u0301",
    ],
]


def calls(text: str, size: int) -> int:
    """How many functions, of Python and of C, run while a text is fed in pieces."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        streamed(text, size)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.merge  # counting the calls is slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    for size in (1, 10_000):
        short, long = (calls((unit * n)[:n], size) for n in (2_000, 6_000))
        assert long <= 3.6 * short + 200
        assert long <= 120 * 6_000


@pytest.mark.parametrize("unit", HOSTILE)
def test_what_is_held_back_is_bounded(unit: str) -> None:
    segmenter = Segmenter()
    for _ in range(4):
        segmenter.feed((unit * 3_000)[:3_000])
        assert len(segmenter._view.text) <= 1_100  # the memory of a stream without claims
