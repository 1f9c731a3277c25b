import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.gateway.http.coding import CodingError, Decoder, is_known, narrowed

MAX_BYTES = 1_000_000


def bare(data: bytes) -> bytes:
    compress = zlib.compressobj(wbits=-15)
    return compress.compress(data) + compress.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "members": ("x-gzip", lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
    "padded": ("gzip", lambda data: gzip.compress(data) + b"\0\0"),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare),
    "br": ("br", brotli.compress),
    "stacked": ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
    "identity": ("identity", bytes),
    "nothing": ("", bytes),
}

encoders = pytest.mark.parametrize("kind", ENCODERS)


def decoded(content_encoding: str, *pieces: bytes, max_bytes: int = MAX_BYTES) -> bytes:
    decoder = Decoder(content_encoding, max_bytes=max_bytes)
    return b"".join(map(decoder.feed, pieces)) + decoder.finish()


@encoders
@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_a_body_decodes_the_same_however_it_is_split(
    kind: str, data: bytes, cuts: list[int]
) -> None:
    name, encode = ENCODERS[kind]
    body = encode(data)
    ends = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[start:end] for start, end in pairwise(ends)]
    assert decoded(name, *pieces) == data


@encoders
def test_a_body_decodes_byte_by_byte(kind: str) -> None:
    name, encode = ENCODERS[kind]
    data = b"Der Eiffelturm ist 330 m hoch. " * 40
    assert decoded(name, *(bytes([byte]) for byte in encode(data))) == data


@pytest.mark.parametrize("name", ["gzip", "deflate", "br"])
def test_what_was_flushed_comes_at_once(name: str) -> None:
    flushed: tuple[bytes, bytes]
    if name == "br":
        compressor = brotli.Compressor()
        flushed = compressor.process(b"data: 1\n\n") + compressor.flush(), compressor.finish()
    else:
        zipped = zlib.compressobj(wbits=31 if name == "gzip" else 15)
        first = zipped.compress(b"data: 1\n\n") + zipped.flush(zlib.Z_SYNC_FLUSH)
        flushed = first, zipped.flush()
    decoder = Decoder(name, max_bytes=MAX_BYTES)
    assert decoder.feed(flushed[0]) == b"data: 1\n\n"
    assert decoder.feed(flushed[1]) + decoder.finish() == b""


@pytest.mark.parametrize("kind", ["gzip", "members", "deflate", "bare deflate", "br", "stacked"])
def test_a_body_that_is_cut_is_an_error_at_its_end(kind: str) -> None:
    name, encode = ENCODERS[kind]
    body = encode(b"The Eiffel Tower is 330 metres tall.")
    for end in range(1, len(body)):
        if kind == "members" and end == len(gzip.compress(b"The")):
            continue  # the end of a member is an end
        with pytest.raises(CodingError, match="it ends in the middle"):
            decoded(name, body[:end])


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "gzip, br"])
def test_a_body_of_no_bytes_is_one_in_any_coding(name: str) -> None:
    assert decoded(name) == b""


@pytest.mark.parametrize(
    ("name", "encode"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress)],
)
def test_a_bomb_goes_off_at_the_bound(name: str, encode: Callable[[bytes], bytes]) -> None:
    bomb = encode(b"\0" * 20_000_000)
    decoder = Decoder(name, max_bytes=100_000)
    with pytest.raises(CodingError, match="more than 100,000 bytes"):
        decoder.feed(bomb)


def test_of_stacked_codings_each_is_bounded() -> None:
    inner = gzip.compress(b"\0" * 20_000_000)
    bomb = gzip.compress(inner + b"\0" * 5_000_000)  # a bomb of padding, which decodes to little
    with pytest.raises(CodingError, match="more than 100,000 bytes"):
        decoded("gzip, gzip", bomb, max_bytes=100_000)


@encoders
def test_exactly_as_much_as_allowed_is_allowed(kind: str) -> None:
    name, encode = ENCODERS[kind]
    if kind == "stacked":
        return  # the bound holds for what is between as well
    assert decoded(name, encode(b"x" * 100), max_bytes=100) == b"x" * 100
    with pytest.raises(CodingError):
        decoded(name, encode(b"x" * 101), max_bytes=100)


@pytest.mark.parametrize("name", ["gzip", "br", "deflate"])
def test_what_is_not_in_the_coding_is_an_error(name: str) -> None:
    with pytest.raises(CodingError, match="damaged, or in another coding"):
        decoded(name, b"\xff\xff this is no such thing " * 20)


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br"])
def test_something_behind_the_end_is_an_error(kind: str) -> None:
    name, encode = ENCODERS[kind]
    with pytest.raises(CodingError):
        decoded(name, encode(b"answer"), b"more")
    with pytest.raises(CodingError):
        decoded(name, encode(b"answer") + b"more")


@given(st.sampled_from(["gzip", "br", "deflate", "gzip, br"]), st.lists(st.binary(max_size=60)))
def test_whatever_comes_is_decoded_or_refused(name: str, pieces: list[bytes]) -> None:
    decoder = Decoder(name, max_bytes=1000)
    try:
        out = b"".join(map(decoder.feed, pieces)) + decoder.finish()
    except CodingError:
        return
    assert len(out) <= 1000


def test_a_coding_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CodingError, match="known codings are gzip, br, deflate"):
        Decoder("zstd", max_bytes=1)
    assert not is_known("gzip, zstd")
    assert not is_known("gzip, gzip, gzip, gzip")


@pytest.mark.parametrize(
    ("accepted", "kept"),
    [
        (None, "identity"),
        ("", "identity"),
        ("zstd", "identity"),
        ("gzip, deflate, br, zstd", "gzip, deflate, br"),
        ("zstd;q=1.0, GZIP;q=0.8", "GZIP;q=0.8"),
        ("x-gzip", "x-gzip"),
        ("*", "gzip, br, deflate"),
        ("*;q=0", "gzip;q=0, br;q=0, deflate;q=0"),
        ("br;q=0, *;q=0.1", "br;q=0, gzip;q=0.1, deflate;q=0.1"),
        ("identity;q=0, gzip", "identity;q=0, gzip"),
    ],
)
def test_of_what_a_client_accepts_that_is_kept_which_can_be_decoded(
    accepted: str | None, kept: str
) -> None:
    assert narrowed(accepted) == kept


@given(st.text(max_size=60))
def test_what_is_kept_can_always_be_decoded(accepted: str) -> None:
    for offer in narrowed(accepted).split(","):
        assert is_known(offer.partition(";")[0].strip())
