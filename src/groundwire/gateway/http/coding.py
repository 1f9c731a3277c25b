"""Content codings of HTTP: decodes gzip and deflate piece by piece, up to a limit.

Upstreams may compress a response even if asked not to, and clients may compress requests. A body of
a few megabytes can decode to gigabytes, so decoding stops at a limit.
"""

import zlib

from groundwire.errors import GroundwireError

#: The content codings that can be decoded; ``x-gzip`` is another name of ``gzip``.
KNOWN = ("gzip", "deflate")
_NAMES = {"gzip", "x-gzip", "deflate"}

#: The window size (``wbits``) that makes zlib recognise gzip or deflate by the first bytes.
_EITHER = 47


class CodingError(GroundwireError):
    """The body of a request or response cannot be decoded, or decodes to too many bytes.

    ``problem`` is the reason, in words.
    """

    def __init__(self, coding: str, problem: str) -> None:
        super().__init__(coding, problem)
        self.coding, self.problem = coding, problem

    def __str__(self) -> str:
        return f"The body cannot be decoded ({self.coding}): {self.problem}."


def decoded(body: bytes, content_encoding: str, *, max_bytes: int) -> bytes:
    """Return a whole body without its content coding; for the parameters see :class:`Decoder`.

    Raises:
        CodingError: If the body cannot be decoded, or decodes to too many bytes.
    """
    decoder = Decoder(content_encoding, max_bytes=max_bytes)
    return decoder.feed(body) + decoder.finish()


class Decoder:
    """Decodes the content coding of one body, piece by piece.

    >>> import zlib
    >>> decoder = Decoder("deflate", max_bytes=100)
    >>> decoder.feed(zlib.compress(b"Paris")) + decoder.finish()
    b'Paris'
    """

    def __init__(self, content_encoding: str, *, max_bytes: int) -> None:
        """Prepare to decode one body.

        Args:
            content_encoding: The value of Content-Encoding; empty means ``identity``.
            max_bytes: Limit on the bytes of the decoded body.

        Raises:
            CodingError: If the content encoding is unknown.
        """
        self._coding = content_encoding.strip().lower()[:50] or "identity"
        if self._coding not in {"identity", *_NAMES}:
            raise CodingError(self._coding, f"known codings are {', '.join(KNOWN)}")
        self._inflate = zlib.decompressobj(_EITHER) if self._coding in _NAMES else None
        self._max_bytes, self._n_in, self._n_out = max_bytes, 0, 0

    def feed(self, data: bytes) -> bytes:
        """Decode the next piece of the body.

        Raises:
            CodingError: If the body is damaged, in another coding, has data after its end, or
                decodes to too many bytes.
        """
        self._n_in += len(data)
        if self._inflate is not None and data:
            try:
                # One byte over the limit is asked for, to see whether the body is too large. So the
                # maximum is never 0, which would mean no limit.
                data = self._inflate.decompress(data, self._max_bytes - self._n_out + 1)
            except zlib.error as error:
                raise CodingError(self._coding, "it is damaged, or in another coding") from error
            if self._inflate.unused_data:
                raise CodingError(self._coding, "there is data after its end")
        self._n_out += len(data)
        if self._n_out > self._max_bytes:
            raise CodingError(self._coding, f"it decodes to more than {self._max_bytes:,} bytes")
        return data

    def finish(self) -> bytes:
        """Make sure that the body is complete; an empty body is complete in any coding.

        The result is always empty: :meth:`feed` has returned all bytes.

        Raises:
            CodingError: If the body is not complete.
        """
        if self._inflate is not None and self._n_in and not self._inflate.eof:
            raise CodingError(self._coding, f"it ends in the middle, after {self._n_in:,} bytes")
        return b""
