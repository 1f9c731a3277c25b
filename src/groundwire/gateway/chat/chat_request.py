"""The body of a chat request: what it asks for, and the bytes that go on to the upstream."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from groundwire.config import overrides_from_metadata
from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.http.coding import CodingError, Decoder
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.limits import parse_json
from groundwire.policy.policy import Request

_OURS = "grounding."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A chat request.

    Attributes:
        dialect: The API that it is a request of.
        body: The body as the pipeline reads it.
        forwarded: The bytes for the upstream: those that came, without what is ours.
        model: What it names; ``None`` if it names none.
        streams: Whether the answer is to be streamed.
        asks: What it asks for beyond the policy, under DVARA's names in its metadata.
    """

    dialect: Dialect
    body: Mapping[str, Any]
    forwarded: bytes
    model: str | None
    streams: bool
    asks: Request | None

    @classmethod
    def read(
        cls,
        raw: bytes,
        dialect: Dialect,
        *,
        deployment: str | None = None,
        content_encoding: str,
        max_bytes: int,
        forwards_sources: bool,
    ) -> Self:
        """Read a body.

        Args:
            raw: The body as it came.
            dialect: The API that it is a request of.
            deployment: The model that its path names, as those of Azure's clients do.
            content_encoding: The value of its header Content-Encoding.
            max_bytes: The most bytes it may have, decompressed.
            forwards_sources: Whether the upstream gets ``metadata["grounding.*"]`` too. OpenAI
                refuses metadata whose values are no short texts.

        Raises:
            Problem: If it is no JSON, nested too deeply, or compressed in an unknown way.
            InvalidConversationError: If it is no object.
        """
        if content_encoding:
            raw = _decompressed(raw, content_encoding, max_bytes)
        body, raw = _parsed(raw)
        if not isinstance(body, dict):
            raise InvalidConversationError(
                "the request",
                f"its type is {type(body).__name__}",
                'A request is an object such as {"model": "...", "messages": [...]}.',
            )
        if deployment is not None and not isinstance(body.get("model"), str):
            body = {**body, "model": deployment}
            raw = json.dumps(body).encode()
        metadata = body.get("metadata")
        own = metadata if isinstance(metadata, dict) else {}
        ours = {key: value for key, value in own.items() if key.startswith(_OURS)}
        model = deployment or body.get("model")
        return cls(
            dialect=dialect,
            body=dialect.conversation(body),
            forwarded=raw if forwards_sources or not ours else without_ours(raw, body),
            model=model if isinstance(model, str) else None,
            streams=body.get("stream") is True,
            asks=_asks(ours),
        )


def without_ours(raw: bytes, body: Mapping[str, Any]) -> bytes:
    """The body without ``grounding.*`` in its metadata; all else stays byte for byte."""
    others = {key: value for key, value in body["metadata"].items() if not key.startswith(_OURS)}
    try:
        fields: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if others:
            fields["metadata"] = msgspec.Raw(json.dumps(others).encode())
        else:
            del fields["metadata"]
        return msgspec.json.encode(fields)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The standard library reads more, such as half a surrogate pair; so may the upstream.
        rest = {key: value for key, value in body.items() if key != "metadata"}
        return json.dumps({**rest, "metadata": others} if others else rest).encode()


def _parsed(raw: bytes) -> tuple[Any, bytes]:
    """A body as data, and the bytes that say the same to every reader.

    Readers differ about a key that an object has twice, so the upstream gets what is read here.
    """
    is_ambiguous = False

    def last_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_ambiguous
        found = dict(pairs)
        is_ambiguous |= len(found) < len(pairs)
        return found

    body = parse_json(raw, object_pairs_hook=last_of_each)
    return body, json.dumps(body).encode() if is_ambiguous else raw


def _decompressed(raw: bytes, content_encoding: str, max_bytes: int) -> bytes:
    try:
        decoder = Decoder(content_encoding, max_bytes=max_bytes)
        return decoder.feed(raw) + decoder.finish()
    except CodingError as error:
        raise Problem(
            415,
            "unreadable_content_encoding",
            message=str(error),
            next_step="Send the body as it is, or as gzip or deflate.",
        ) from error


def _asks(ours: Mapping[str, object]) -> Request | None:
    # A value that cannot be read asks for nothing, as everywhere under these names.
    wish, _ = overrides_from_metadata(ours)
    if wish.enabled is None and wish.action is None:
        return None
    return Request(enabled=wish.enabled, action=wish.action)
