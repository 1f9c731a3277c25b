"""The prompts of frameworks and guides: what is found in them is the evidence, and nothing else."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groundwire.pipeline.conversation import SourceOrigin, read_request

PROMPTS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "prompts.toml").read_text(encoding="utf-8")
)["prompt"]
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
    messages = []
    for role in ("system", "user"):
        if role in prompt:
            text = prompt[role]
            for name, value in values.items():
                text = text.replace(name, value)
            messages.append({"role": role, "content": text})
    return {"messages": messages}


@pytest.mark.parametrize("kind", CONTEXTS)
@pytest.mark.parametrize("prompt", PROMPTS, ids=[each["name"] for each in PROMPTS])
def test_the_evidence_is_what_the_prompt_informs_of(prompt: dict[str, Any], kind: str) -> None:
    context, facts = CONTEXTS[kind]
    conversation = read_request(filled(prompt, context))
    found = "\n".join(source.text for source in conversation.sources)
    assert [fact for fact in facts if fact not in found] == []
    unwanted = [QUESTION, *TOLD, *prompt.get("excludes", ())]
    assert [text for text in unwanted if text in found] == []
    assert {offered.origin for offered in conversation.offered} == {SourceOrigin.CONTEXT}
    assert QUESTION in (conversation.question or "")
    assert not any(fact in (conversation.question or "") for fact in facts)
