"""Detections of the texts in ``texts.toml``, by each embedded detector."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundwire import Detection, Detector

#: What :meth:`Detector.load` takes, by the name of the golden file.
DETECTORS = {
    "reader": None,
    "similarity": "similarity",
    "similarity-hash": "similarity:hash",
}
#: A threshold this much higher or lower has to mark the same words.
MARGIN = 0.02
#: So many characters of a streamed answer come at a time.
PIECE = 7


def texts() -> dict[str, dict[str, Any]]:
    """The texts by their id: what :meth:`Detector.detect` takes."""
    entries = tomllib.loads((Path(__file__).parent / "texts.toml").read_text(encoding="utf-8"))
    return {entry.pop("id"): entry for entry in entries["text"]}


def load(name: str) -> Detector:
    """A detector of :data:`DETECTORS`."""
    return Detector.load(DETECTORS[name], threads=2)


def told(detection: Detection) -> dict[str, Any]:
    """What of a detection is kept: all but times, the weights' revision and texts told twice."""
    data = detection.to_dict()
    del data["timings_ms"], data["detector"]["revision"]
    for each in (*data["spans"], *data["claims"]):
        for evidence in each["evidence"]:
            del evidence["text"]
    return data


def streamed(detector: Detector, text: dict[str, Any]) -> Detection:
    """The detection of an answer that came in pieces."""
    inputs = {key: value for key, value in text.items() if key != "answer"}
    answer = text["answer"]
    with detector.stream(**inputs) as stream:
        for start in range(0, len(answer), PIECE):
            stream.feed(answer[start : start + PIECE])
        return stream.finish()


def build() -> Iterator[tuple[str, object]]:
    """The golden files, anew.

    Raises:
        SystemExit: If a threshold a little higher or lower would mark other words: that text
            would fail on some other processor.
    """
    for name in DETECTORS:
        found = {}
        with load(name) as detector:
            for id_, text in texts().items():
                detection = detector.detect(**text)
                _require_clear(detector, id_, text, detection)
                found[id_] = told(detection)
        yield f"detections/{name}", found


def _require_clear(detector: Detector, id_: str, text: dict[str, Any], own: Detection) -> None:
    threshold = detector.info.threshold
    # Hashed words are counted, and so the same everywhere.
    margin = 0.001 if detector.info.name == "similarity:hash" else MARGIN
    for other in (threshold - margin, threshold + margin):
        spans = detector.detect(**text, operating_point=other).spans
        if [(s.start, s.end) for s in spans] != [(s.start, s.end) for s in own.spans]:
            raise SystemExit(
                f"{id_} is close to the threshold of {detector.info.name}: at {other:.3f}, what is "
                f"marked is {[s.text for s in spans]}, not {[s.text for s in own.spans]}. "
                "Write another text in tests/golden/texts.toml."
            )
