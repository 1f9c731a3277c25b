"""Checks an answer while it is written, and stops at the first sentence without support."""

from collections.abc import Iterator

from groundwire import Detector, Label

SOURCES = [
    "The Eiffel Tower was built 1887-1889 and is 330 meters tall. It stands in Paris, France."
]
QUESTION = "What is the Eiffel Tower?"
ANSWER = (
    "The Eiffel Tower stands in Paris, France. It is 330 meters tall. "
    "It was painted green in 2010. It stands in Paris."
)


def write() -> Iterator[str]:
    """Stands for a model that writes its answer word by word."""
    for word in ANSWER.split():
        yield word + " "


def main() -> None:
    with Detector.load() as detector, detector.stream(sources=SOURCES, question=QUESTION) as stream:
        for delta in write():
            for claim in stream.feed(delta):
                print(f"{claim.label:<12} {claim.text}")
                if claim.label is not Label.SUPPORTED:
                    print("stopped")
                    return
        print(stream.finish().outcome)


if __name__ == "__main__":
    main()
