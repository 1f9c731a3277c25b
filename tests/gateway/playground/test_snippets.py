"""What is copied runs, and checks what the page has checked."""

import json
import shlex

import pytest

from groundwire import Detector
from groundwire.detection.example import Example, Source
from groundwire.detection.rows import row_example
from groundwire.gateway.playground.snippets import WRITERS

HOSTILE = "It's \"330\" m\\tall.\n```$(id) `id` {x} '; import os\u2028👩"
EXAMPLES = [
    Example.of(
        sources=[HOSTILE, Source(text="b", id="x'y", title="t")], question=HOSTILE, answer=HOSTILE
    ),
    Example.of(sources=[], answer="It is."),
]
each_example = pytest.mark.parametrize("example", EXAMPLES)


@each_example
def test_python_checks_the_same(
    example: Example, detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, object]] = []

    class Loaded:
        def detect(self, **given: object) -> object:
            calls.append(given)
            return detector.detect(sources=[], answer="It is.")

    monkeypatch.setattr(Detector, "load", Loaded)
    exec(WRITERS["python"](example, 0.3), {})
    (given,) = calls
    assert given.pop("operating_point") == 0.3
    assert Example.of(**given) == example  # type: ignore[arg-type]


@each_example
def test_the_test_checks_the_same(example: Example) -> None:
    calls: list[dict[str, object]] = []
    scope: dict[str, object] = {}
    exec(WRITERS["test"](example, "balanced"), scope)
    scope["test_the_answer_is_grounded"](lambda **given: calls.append(given))  # type: ignore[operator]
    (given,) = calls
    assert given.pop("operating_point") == "balanced"
    assert Example.of(**given) == example  # type: ignore[arg-type]


@each_example
def test_the_command_sends_the_same(example: Example) -> None:
    comment, _, command = WRITERS["curl"](example, 0.3).partition("\n")
    assert comment.startswith("# ")
    words = shlex.split(command)
    assert words[:2] == ["curl", "http://127.0.0.1:8080/v1/check"]
    body = json.loads(words[-1])
    assert body["operating_point"] == 0.3
    assert row_example(body) == example
