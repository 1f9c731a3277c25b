"""Checks many answers over threads, and prints a row of JSON for each; errors keep their place."""

import json

from groundwire import Detector, Example, GroundwireError

SOURCE = "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
ANSWERS = [
    "It was painted green in 2010.",
    "It stands in Paris, France.",
    "Она стоит в Париже.",
]


def main() -> None:
    examples = [Example.of(sources=[SOURCE], answer=answer) for answer in ANSWERS]
    with Detector.load() as detector:
        for result in detector.detect_batch(examples):
            if isinstance(result, GroundwireError):
                print(json.dumps({"error": str(result)}))
            else:
                marked = [span.text for span in result.spans]
                print(json.dumps({"outcome": result.outcome, "marked": marked}))


if __name__ == "__main__":
    main()
