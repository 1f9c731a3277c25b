"""Reads the body of a chat request, and makes the bytes that are sent to the upstream."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from groundwire.config import overrides_from_metadata
from groundwire.config.tree import Gateway
from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.http.coding import CodingError, decoded
from groundwire.gateway.http.problems import Problem
from groundwire.gateway.middleware.limits import parse_json
from groundwire.policy.policy import Request

_OURS = "grounding."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A chat request, read for the check, with the body that is sent to the upstream.

    Attributes:
        dialect: The API that the client uses.
        body: The body in the form that the pipeline reads.
        forwarded: The body for the upstream, without ``grounding.*`` metadata unless
            ``gateway.forwards_sources`` is true.
        model: The model that the path or the body names; ``None`` if neither names one.
        asks: Changes to the policy that the request asks for in its metadata, under the names
            ``grounding.enabled`` and ``grounding.action``; ``None`` if it asks for none.
    """

    dialect: Dialect
    body: Mapping[str, Any]
    forwarded: bytes
    model: str | None
    asks: Request | None

    @classmethod
    def read(
        cls,
        raw: bytes,
        dialect: Dialect,
        *,
        deployment: str | None = None,
        content_encoding: str,
        settings: Gateway,
    ) -> Self:
        """Read the body of a request.

        Args:
            raw: The body as the client sent it.
            dialect: The API that the client uses.
            deployment: The model in the path of the request, as in Azure's API; ``None`` if the
                path has none.
            content_encoding: The value of the header Content-Encoding.
            settings: The settings that limit the bytes of a decompressed body, and say whether
                the upstream gets ``metadata["grounding.*"]``. By default it does not, since OpenAI
                refuses metadata whose values are not short strings.

        Raises:
            Problem: 400, if the body is not valid JSON or is nested too deeply; 415, if it cannot
                be decompressed, or is too large when decompressed.
            InvalidConversationError: If the body is not a JSON object.
        """
        if content_encoding:
            try:
                raw = decoded(raw, content_encoding, max_bytes=settings.max_body_bytes)
            except CodingError as error:
                raise Problem.named("unreadable_content_encoding", error=error) from error
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
            forwarded=raw if settings.forwards_sources or not ours else without_ours(raw, body),
            model=model if isinstance(model, str) else None,
            asks=_asks(ours),
        )


def without_ours(raw: bytes, body: Mapping[str, Any]) -> bytes:
    """Return a body without ``grounding.*`` in its metadata.

    If msgspec can read the body, all fields but ``metadata`` keep their bytes. Otherwise the whole
    body is written anew.
    """
    others = {key: value for key, value in body["metadata"].items() if not key.startswith(_OURS)}
    try:
        fields: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if others:
            fields["metadata"] = msgspec.Raw(json.dumps(others).encode())
        else:
            del fields["metadata"]
        return msgspec.json.encode(fields)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # msgspec refuses some JSON that the standard library reads, such as lone surrogates.
        rest = {key: value for key, value in body.items() if key != "metadata"}
        return json.dumps({**rest, "metadata": others} if others else rest).encode()


def _parsed(raw: bytes) -> tuple[Any, bytes]:
    """Parse a body; return its data, and bytes for the upstream in which no key is repeated.

    If an object has a key twice, some readers take the first value and some the last. Such a body
    is written anew from the data that were read here.
    """
    is_ambiguous = False

    def last_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_ambiguous
        found = dict(pairs)
        is_ambiguous |= len(found) < len(pairs)
        return found

    body = parse_json(raw, object_pairs_hook=last_of_each)
    return body, json.dumps(body).encode() if is_ambiguous else raw


def _asks(ours: Mapping[str, object]) -> Request | None:
    # Fields with invalid values are ignored.
    wish, _ = overrides_from_metadata(ours)
    if wish.enabled is None and wish.action is None:
        return None
    return Request(enabled=wish.enabled, action=wish.action)
