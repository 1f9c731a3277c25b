"""Content codings of HTTP: decodes gzip and deflate piece by piece, up to a limit.

Upstreams whose answers are checked are asked for none (``identity``). Some compress all the same,
and clients may compress requests. A body of a few kilobytes can decode to gigabytes, so no more is
decoded than may come out.
"""

import zlib

from groundwire.errors import GroundwireError

#: The codings that can be read.
KNOWN = ("gzip", "deflate")
_NAMES = {"gzip", "x-gzip", "deflate"}

#: Lets zlib tell the formats of gzip and deflate apart by how a body begins.
_EITHER = 47


class CodingError(GroundwireError):
    """A body is not in its declared coding, is truncated, or decodes to too many bytes."""

    def __init__(self, coding: str, problem: str) -> None:
        super().__init__(coding, problem)
        self.coding, self.problem = coding, problem

    def __str__(self) -> str:
        return f"The body cannot be decoded ({self.coding}): {self.problem}."


class Decoder:
    """Decodes one body.

    >>> import zlib
    >>> decoder = Decoder("deflate", max_bytes=100)
    >>> decoder.feed(zlib.compress(b"Paris")) + decoder.finish()
    b'Paris'
    """

    def __init__(self, content_encoding: str, *, max_bytes: int) -> None:
        """Prepare to decode one body.

        Args:
            content_encoding: The value of Content-Encoding; empty is ``identity``.
            max_bytes: The most bytes that may come out.

        Raises:
            CodingError: If the coding is not known.
        """
        self._coding = content_encoding.strip().lower()[:50] or "identity"
        if self._coding not in {"identity", *_NAMES}:
            raise CodingError(self._coding, f"known codings are {', '.join(KNOWN)}")
        self._inflate = zlib.decompressobj(_EITHER) if self._coding in _NAMES else None
        self._max_bytes, self._n_in, self._n_out = max_bytes, 0, 0

    def feed(self, data: bytes) -> bytes:
        """Decode the next piece.

        Raises:
            CodingError: If it is not in the coding, or decodes to too much.
        """
        self._n_in += len(data)
        if self._inflate is not None and data:
            data = self._inflated(self._inflate, data)
        self._n_out += len(data)
        if self._n_out > self._max_bytes:
            raise CodingError(self._coding, f"it decodes to more than {self._max_bytes:,} bytes")
        return data

    def finish(self) -> bytes:
        """End; nothing more comes. A body of no bytes at all is one in any coding.

        Raises:
            CodingError: If the body is not complete.
        """
        if self._inflate is not None and self._n_in and not self._inflate.eof:
            raise CodingError(self._coding, f"it ends in the middle, after {self._n_in:,} bytes")
        return b""

    def _inflated(self, inflate: "zlib._Decompress", data: bytes) -> bytes:
        if inflate.eof:
            raise CodingError(self._coding, "there is data after its end")
        try:
            # One byte more than may come out, so that too much is noticed; 0 would be no bound.
            found = inflate.decompress(data, self._max_bytes - self._n_out + 1)
        except zlib.error as error:
            raise CodingError(self._coding, "it is damaged, or in another coding") from error
        if inflate.unused_data:
            raise CodingError(self._coding, "there is data after its end")
        return found
