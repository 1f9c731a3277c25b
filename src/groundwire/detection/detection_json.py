"""Reads back a detection that ``to_dict()`` wrote."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from groundwire.detection.values import Detection

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def detection_of(data: Mapping[str, Any], answer: str | None) -> Detection:
    """Read a detection that :meth:`groundwire.Detection.to_dict` wrote.

    ``answer`` is the checked answer, which the data does not contain. With ``None``, the answer of
    the result is put together from the claims, with spaces in place of the text between them.

    Raises:
        LookupError, TypeError, ValueError: If the data is not a detection.
    """
    claims = [
        {**row, "spans": [span for span in data["spans"] if _lies_in(span, row)]}
        for row in data["claims"]
    ]
    if answer is None:
        answer = ""
        for claim in claims:
            answer += " " * (claim["start"] - len(answer)) + claim["text"]
    return _adapter().validate_python({**data, "claims": claims, "answer": answer})


@cache
def _adapter() -> "TypeAdapter[Detection]":
    from pydantic import TypeAdapter  # slow to import, and few commands read detections

    return TypeAdapter(Detection)


def _lies_in(span: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    return bool(claim["start"] <= span["start"] and span["end"] <= claim["end"])
