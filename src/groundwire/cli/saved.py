"""A detection that ``groundwire check --json`` wrote, read back."""

import json
from collections.abc import Sequence
from pathlib import Path

from groundwire.cli.inputs import read_text
from groundwire.detection.detection_json import detection_of
from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Detection, Span
from groundwire.errors import InputError


def read_detection(path: Path, *, answer: str | None, sources: Sequence[Source]) -> Detection:
    """Read a detection, and make sure that it belongs to an answer and to sources.

    Args:
        path: The output of ``groundwire check --json``.
        answer: The answer, which is no part of the file; without it, the text between the claims is
            blank.
        sources: The sources of the check, with the ids that the detection has.

    Raises:
        InputError: If it is no detection, or one of another answer or other sources.
        NotUtf8Error: If the file is not UTF-8.
        OSError: If it cannot be read.
    """
    begin = f"{path.name} cannot be explained:"
    try:
        detection = detection_of(json.loads(read_text(path)), answer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{begin} it is no detection ({type(error).__name__}: {error}). Give what groundwire "
            "check --json printed."
        ) from error
    parts: list[Claim | Span] = [*detection.claims, *detection.spans]
    for part in parts:
        if detection.answer[part.start : part.end] != part.text:
            raise InputError(
                f"{begin} it is of another answer: characters {part.start}-{part.end} are not its "
                f"{part.text[:60]!r}. Give the answer that was checked, or none."
            )
    texts = {source.id: source.text for source in sources}
    for place in (place for claim in detection.claims for place in claim.evidence):
        if texts.get(place.source_id, "")[place.start : place.end] != place.text:
            raise InputError(
                f"{begin} it is of other sources: {place.source_id} {place.start}-{place.end} is "
                f"not {place.text[:60]!r}. Give the sources of the check, by the same options in "
                "the same order."
            )
    return detection
