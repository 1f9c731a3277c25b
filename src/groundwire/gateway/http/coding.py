"""Content codings of HTTP, read piece by piece, with a bound on what may come of them.

A body of a few kilobytes can decode to gigabytes. So the bytes that come out are counted as they
do, of every coding where several are stacked, and no more is held than may come out.
"""

import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli

from groundwire.errors import GroundwireError

#: Codings that can be read, in the order in which they are offered.
KNOWN = ("gzip", "br", "deflate")

#: Another name of the same (RFC 9110, 8.4.1.3).
_ALIASES = {"x-gzip": "gzip"}

#: Codings stacked on each other, at most: none are in earnest.
_MAX_STACKED = 3

#: Decoded at a time, in bytes: what is decoded in vain when a bound is met.
_STEP_BYTES = 65_536

_GZIP, _ZLIB, _RAW = 31, 15, -15


class CodingError(GroundwireError):
    """A body is not in the coding it says, ends before its end, or decodes to too much."""

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
        """Begin.

        Args:
            content_encoding: The value of Content-Encoding; empty is ``identity``. Of several
                headers, the values are joined by commas.
            max_bytes: What may come out at most, of each of the codings.

        Raises:
            CodingError: If a coding is not known.
        """
        if not is_known(content_encoding):
            shown = content_encoding[:50]
            raise CodingError(shown, f"known codings are {', '.join(KNOWN)}")
        # The last that was applied is the first that is undone.
        names = reversed(_names(content_encoding))
        self._steps = [_Counted(name, max_bytes=max_bytes) for name in names]
        self._max_bytes = max_bytes
        self._n_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """What comes of a piece: all that can be told from it and those before.

        Raises:
            CodingError: If it is not in the coding, or decodes to too much.
        """
        if self._steps:
            for step in self._steps:
                data = step.feed(data)
            return data
        self._n_bytes += len(data)
        if self._n_bytes > self._max_bytes:
            raise _too_much("identity", self._max_bytes)
        return data

    def finish(self) -> bytes:
        """End; what was still to come. A body of no bytes at all is one in any coding.

        Raises:
            CodingError: If the body is not complete.
        """
        rest = b""
        for step in self._steps:
            rest = step.feed(rest) + step.finish()
        return rest


def is_known(content_encoding: str) -> bool:
    """Whether a body with this Content-Encoding can be decoded.

    >>> is_known("gzip, br"), is_known(""), is_known("zstd")
    (True, True, False)
    """
    names = _names(content_encoding)
    return len(names) <= _MAX_STACKED and all(name in KNOWN for name in names)


def narrowed(accept_encoding: str | None) -> str:
    """Of what a client accepts, what can be decoded; ``identity`` if that is nothing.

    >>> narrowed("gzip;q=0.8, zstd, br")
    'gzip;q=0.8, br'
    >>> narrowed("zstd, *;q=0.5")
    'gzip;q=0.5, br;q=0.5, deflate;q=0.5'
    >>> narrowed(None)
    'identity'
    """
    offers = [offer.strip() for offer in (accept_encoding or "").split(",") if offer.strip()]
    named = {_coding(offer) for offer in offers}
    kept: list[str] = []
    for offer in offers:
        coding = _coding(offer)
        if coding in KNOWN or coding == "identity":
            kept.append(offer)
        elif coding == "*":
            parameters = offer.partition(";")[1] + offer.partition(";")[2]
            kept += [f"{each}{parameters}" for each in KNOWN if each not in named]
    return ", ".join(kept) or "identity"


class _Step(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def is_complete(self) -> bool: ...


class _Counted:
    """One coding, undone, and counted."""

    def __init__(self, name: str, *, max_bytes: int) -> None:
        self._name, self._max_bytes = name, max_bytes
        self._step: _Step = _Brotli() if name == "br" else _Zlib(name)
        self._n_in = self._n_out = 0

    def feed(self, data: bytes) -> bytes:
        if not data:
            return b""
        self._n_in += len(data)
        pieces = []
        try:
            for piece in self._step.feed(data):
                self._n_out += len(piece)
                if self._n_out > self._max_bytes:
                    raise _too_much(self._name, self._max_bytes)
                pieces.append(piece)
        except (zlib.error, brotli.error) as error:
            raise CodingError(self._name, "it is damaged, or in another coding") from error
        return b"".join(pieces)

    def finish(self) -> bytes:
        rest = b""
        if isinstance(self._step, _Zlib):
            rest = self.feed(self._step.undecided())
        if self._n_in and not self._step.is_complete:
            raise CodingError(self._name, f"it ends in the middle, after {self._n_in:,} bytes")
        return rest


class _Zlib:
    """gzip, of one member or several (RFC 1952, 2.2), and deflate.

    What is called deflate is meant to be zlib's format, and some servers send it bare.
    """

    def __init__(self, name: str) -> None:
        self._is_gzip = name == "gzip"
        self._head = b""
        self._inflate: zlib._Decompress | None = (
            zlib.decompressobj(_GZIP) if self._is_gzip else None
        )
        self._is_between = False  # a member has ended, and no other has begun

    @property
    def is_complete(self) -> bool:
        return self._is_between or (self._inflate is not None and self._inflate.eof)

    def undecided(self) -> bytes:
        """What was kept back because one byte does not tell which deflate it is."""
        head, self._head = self._head, b""
        if self._inflate is None:
            self._inflate = zlib.decompressobj(_RAW)
        return head

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            data = self._head + data
            if len(data) < 2:
                self._head = data
                return
            self._head = b""
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
            self._inflate = zlib.decompressobj(_ZLIB if is_zlib else _RAW)
        while data:
            if self._is_between:
                data = data.lstrip(b"\0")  # padding, as of tapes
                if not data:
                    return
                self._inflate, self._is_between = zlib.decompressobj(_GZIP), False
            yield self._inflate.decompress(data, _STEP_BYTES)
            while self._inflate.unconsumed_tail:
                yield self._inflate.decompress(self._inflate.unconsumed_tail, _STEP_BYTES)
            while not self._inflate.eof and (more := self._inflate.decompress(b"", _STEP_BYTES)):
                yield more
            data = self._inflate.unused_data
            if self._inflate.eof:
                if not self._is_gzip and data:
                    raise zlib.error("data after the end")
                self._is_between = self._is_gzip


class _Brotli:
    def __init__(self) -> None:
        self._decompress = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._decompress.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._decompress.is_finished():
            raise brotli.error("data after the end")
        yield self._decompress.process(data, output_buffer_limit=_STEP_BYTES)
        while not self._decompress.can_accept_more_data():
            yield self._decompress.process(b"", output_buffer_limit=_STEP_BYTES)


def _names(content_encoding: str) -> list[str]:
    words = (word.strip().lower() for word in content_encoding.split(","))
    return [_ALIASES.get(word, word) for word in words if word not in {"", "identity"}]


def _coding(offer: str) -> str:
    word = offer.partition(";")[0].strip().lower()
    return _ALIASES.get(word, word)


def _too_much(coding: str, max_bytes: int) -> CodingError:
    return CodingError(coding, f"it decodes to more than {max_bytes:,} bytes")
