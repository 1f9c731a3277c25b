"""The messages of Envoy's ``ext_proc`` v3, with the fields that are read or written here.

https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/ext_proc/v3/external_processor.proto

Protocol buffers skip unknown fields, so the other fields need no names. Packages with all of
Envoy's messages are not used: they are large, and ``xds-protos`` overwrites files of OpenTelemetry.
"""

from collections.abc import Collection
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClassesForFiles

#: The full name of the gRPC service, and the name of its only method.
SERVICE, METHOD = "envoy.service.ext_proc.v3.ExternalProcessor", "Process"

#: The body modes of Envoy that can be used.
BUFFERED, FULL_DUPLEX_STREAMED = 2, 4
#: Ways to change a header: add a value, or replace all old values with a new one.
_APPEND, OVERWRITE = 0, 2

_FILE = "groundwire/ext_proc.proto"

#: Message → number, type and name of each field; a star marks a repeated field. Messages of Envoy
#: with the same fields have one name here, since names are not sent.
_MESSAGES = {
    "HeaderValue": "1 string key, 3 bytes raw_value, 2 string value",
    "HeaderMap": "1 HeaderValue* headers",
    "Headers": "1 HeaderMap headers, 3 bool end_of_stream",
    "Body": "1 bytes body, 2 bool end_of_stream",
    "Empty": "",
    "Modes": "1 int32 request_body_mode, 2 int32 response_body_mode",
    "ProcessingRequest": "2 Headers request_headers, 3 Headers response_headers,"
    "4 Body request_body, 5 Body response_body, 6 Empty request_trailers,"
    "7 Empty response_trailers, 11 Modes protocol_config",
    "HeaderValueOption": "1 HeaderValue header, 3 int32 append_action",
    "HeaderMutation": "1 HeaderValueOption* set_headers, 2 string* remove_headers",
    "BodyMutation": "1 bytes body, 3 Body streamed_response",
    "CommonResponse": "2 HeaderMutation header_mutation, 3 BodyMutation body_mutation",
    "Part": "1 CommonResponse response",
    "HttpStatus": "1 int32 code",
    "ImmediateResponse": "1 HttpStatus status, 2 HeaderMutation headers, 3 bytes body",
    "ProcessingResponse": "1 Part request_headers, 2 Part response_headers, 3 Part request_body,"
    "4 Part response_body, 5 Empty request_trailers, 6 Empty response_trailers,"
    "7 ImmediateResponse immediate_response",
}


def _message(name: str, fields: str) -> DescriptorProto:
    described = DescriptorProto(name=name)
    for number, kind, field in (each.split() for each in fields.split(",") if each):
        label = FieldDescriptorProto.LABEL_OPTIONAL
        if kind.endswith("*"):
            kind, label = kind[:-1], FieldDescriptorProto.LABEL_REPEATED
        added = described.field.add(name=field, number=int(number), label=label)
        if kind in _MESSAGES:
            added.type, added.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{kind}"
        else:
            added.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    return described


# A separate pool keeps these names apart from those of other packages. The syntax proto2 is used,
# because it sends each field that was set, even to its default value: with proto3, an empty body
# would not be sent.
_POOL = DescriptorPool()
_DESCRIBED = [_message(name, fields) for name, fields in _MESSAGES.items()]
_POOL.Add(FileDescriptorProto(name=_FILE, syntax="proto2", message_type=_DESCRIBED))
CLASSES: dict[str, Any] = GetMessageClassesForFiles([_FILE], _POOL)
ProcessingRequest, ProcessingResponse = CLASSES["ProcessingRequest"], CLASSES["ProcessingResponse"]

#: Headers as pairs: the name in lower case, and the value.
Pairs = list[tuple[bytes, bytes]]


def pairs_of(headers: Any) -> Pairs:  # noqa: ANN401 - protobuf has no types
    """Return the headers in a message from Envoy, with pseudo-headers such as ``:path``."""
    found = headers.headers.headers
    return [(each.key.lower().encode(), each.raw_value or each.value.encode()) for each in found]


def header_changes(old: Pairs, new: Pairs, *, keep: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a ``HeaderMutation`` that turns old headers into new ones.

    Args:
        old: All headers that Envoy has, except pseudo-headers such as ``:path``.
        new: The headers that Envoy must send on.
        keep: Names of headers that stay as Envoy has them.
    """
    before, after = _by_name(old), _by_name(new)
    added = [
        {
            "header": {"key": name, "raw_value": value},
            "append_action": _APPEND if place else OVERWRITE,
        }
        for name, values in after.items()
        if name not in keep and before.get(name) != values
        for place, value in enumerate(values)
    ]
    removed = [name for name in before if name not in after and name not in keep]
    return {"set_headers": added, "remove_headers": removed}


def _by_name(pairs: Pairs) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name, value in pairs:
        found.setdefault(name.decode("latin-1"), []).append(value)
    return found


def part(changes: dict[str, Any], body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the answer to Envoy's message about headers or a body: the changes to make."""
    changed = {"header_mutation": changes}
    return {"response": changed if body is None else {**changed, "body_mutation": body}}
