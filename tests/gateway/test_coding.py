"""Content codings: whatever comes is decoded within a bound, or refused."""

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.http.coding import CodingError, Decoder

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "X-GZIP": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
    "": bytes,
}


def decoded(content_encoding: str, *pieces: bytes, max_bytes: int = 1_000_000) -> bytes:
    decoder = Decoder(content_encoding, max_bytes=max_bytes)
    return b"".join(map(decoder.feed, pieces)) + decoder.finish()


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_a_body_decodes_the_same_however_it_is_split(
    name: str, data: bytes, cuts: list[int]
) -> None:
    body = ENCODERS[name](data)
    ends = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    assert decoded(name, *(body[start:end] for start, end in pairwise(ends))) == data


@given(data=st.binary(max_size=60), name=st.sampled_from(["gzip", "deflate"]))
def test_whatever_comes_is_decoded_or_refused(data: bytes, name: str) -> None:
    with suppress(CodingError):
        assert len(decoded(name, data, max_bytes=100)) <= 100


@pytest.mark.parametrize("name", ENCODERS)
def test_no_more_comes_out_than_may(name: str) -> None:
    body = ENCODERS[name](b" " * 10_001)
    assert len(decoded(name, body, max_bytes=10_001)) == 10_001
    with pytest.raises(CodingError, match="decodes to more than 10,000 bytes"):
        decoded(name, body, max_bytes=10_000)


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_body_that_ends_early_or_goes_on_is_refused(name: str) -> None:
    body = ENCODERS[name](b"Paris")
    with pytest.raises(CodingError, match=r"ends in the middle, after \d+ bytes"):
        decoded(name, body[:-1])
    for pieces in ((body + b"x",), (body, b"x")):
        with pytest.raises(CodingError, match="data after its end"):
            decoded(name, *pieces)
    assert decoded(name) == b""


@pytest.mark.parametrize("name", ["zstd", "br", "gzip, gzip"])
def test_an_unknown_coding_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(CodingError, match="known codings are gzip, deflate"):
        Decoder(name, max_bytes=1)
