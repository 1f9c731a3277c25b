"""The prompts of frameworks and guides: what is found in them is the evidence, and nothing else."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundwire.pipeline import Pipeline
from groundwire.pipeline.conversation.request import SourceOrigin, read_request


def read_prompts(name: str) -> list[dict[str, Any]]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    prompts: list[dict[str, Any]] = tomllib.loads(text)["prompt"]
    return prompts


PROMPTS, UNSEEN = read_prompts("prompts.toml"), read_prompts("unseen.toml")
QUESTION = "How many people does the reading hall of the Lantern Library seat?"
CONTEXTS = {
    "prose": (
        "The Lantern Library in Harwick was opened in 1934 by the architect Ida Voss.\n\n"
        "Its reading hall seats 212 people, and its roof was renewed in 2011.",
        ["opened in 1934", "seats 212 people", "renewed in 2011"],
    ),
    "line": (
        "The reading hall of the Lantern Library seats 212 people.",
        ["seats 212 people"],
    ),
    "manual": (
        "Lantern Library, house rules. Show your card at the desk. Do not bring food.\n"
        "You can borrow 12 books for 28 days. The reading hall seats 212 people.",
        ["12 books for 28 days", "seats 212 people", "Do not bring food"],
    ),
}
#: What a prompt says to the model: no evidence, wherever it stands.
TOLD = (
    "answer the",
    "don't know",
    "You are a",
    "concise",
    "prior knowledge",
    "make up",
    "Respond",
    "the user",
    "Based on the",
)


def filled(prompt: dict[str, Any], context: str) -> dict[str, Any]:
    """The request that a prompt makes of a question and a context."""
    values = {
        "$CONTEXT_JSON": json.dumps(context),
        "$CONTEXT": context,
        "$QUESTION": QUESTION,
    }
    messages = prompt.get("messages") or [
        {"role": role, "content": prompt[role]}
        for role in ("system", "developer", "user")
        if role in prompt
    ]
    for name, value in values.items():
        messages = [{**each, "content": each["content"].replace(name, value)} for each in messages]
    return {"messages": messages}


def assert_divided(prompt: dict[str, Any], kind: str) -> None:
    context, facts = CONTEXTS[kind]
    conversation = read_request(filled(prompt, context))
    found = "\n".join(source.text for source in conversation.sources)
    assert [fact for fact in facts if fact not in found] == []
    unwanted = [QUESTION, *TOLD, *prompt.get("excludes", ())]
    assert [text for text in unwanted if text in found] == []
    assert {offered.origin for offered in conversation.offered} == {SourceOrigin.CONTEXT}
    assert QUESTION in (conversation.question or "")
    assert not any(fact in (conversation.question or "") for fact in facts)


@pytest.mark.parametrize("kind", CONTEXTS)
@pytest.mark.parametrize("prompt", PROMPTS, ids=[each["name"] for each in PROMPTS])
def test_the_evidence_is_what_the_prompt_informs_of(prompt: dict[str, Any], kind: str) -> None:
    assert_divided(prompt, kind)


def test_each_prompt_names_the_commit_or_the_date_of_its_source() -> None:
    has_version = re.compile(r", (?:[0-9a-f]{8}\b|as of |\d+ [A-Z]\w+ 20\d\d$)").search
    assert [each["name"] for each in PROMPTS if not has_version(each["source"])] == []


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    with Pipeline.load() as loaded:
        yield loaded


@pytest.mark.merge
@pytest.mark.parametrize("prompt", [*PROMPTS, *UNSEEN], ids=lambda prompt: prompt["name"])
def test_wrong_answers_are_found_and_right_ones_pass(
    prompt: dict[str, Any], pipeline: Pipeline
) -> None:
    context = pipeline.open(filled(prompt, CONTEXTS["prose"][0]))
    outcomes = [
        str(pipeline.check(context, f"The reading hall seats {n} people.").outcome)
        for n in (900, 212)
    ]
    assert outcomes == ["hallucinated", "grounded"]


@pytest.mark.parametrize("prompt", UNSEEN, ids=[each["name"] for each in UNSEEN])
def test_so_it_is_in_shapes_that_nobody_had_thought_of(prompt: dict[str, Any]) -> None:
    assert_divided(prompt, "prose")
