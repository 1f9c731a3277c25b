"""Checks an answer against retrieved passages: what is not supported, and where to look."""

from groundwire import Detector, Source

PASSAGES = [
    Source(id="guide", text="The Eiffel Tower was built 1887-1889 and is 330 meters tall."),
    Source(id="hours", text="The tower is open daily from 9:00 to 23:45."),
    Source(id="route", text="It stands on the Champ de Mars in Paris, close to the Seine."),
]
QUESTION = "How tall is the Eiffel Tower, and when was it painted?"
ANSWER = "The Eiffel Tower is 330 meters tall. It was painted green in 2010."


def main() -> None:
    with Detector.load() as detector:
        detection = detector.detect(sources=PASSAGES, question=QUESTION, answer=ANSWER)
    print(f"{detection.outcome}, {detection.coverage.answer:.0%} of the answer read")
    for span in detection.spans:
        print(f"  {span.label}: {span.text!r}, probability {span.probability:.2f}")
        for place in span.evidence:
            print(f"    {place.source_id}: {place.text!r}")


if __name__ == "__main__":
    main()
