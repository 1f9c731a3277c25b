"""Talks to a gateway with the openai client, streaming and not, and handles withheld answers.

It takes the gateway's base URL and key from OPENAI_BASE_URL and OPENAI_API_KEY, as the client does.
Usage: python examples/gateway_openai_client.py MODEL
"""

import sys

import openai
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

SOURCES = [
    "The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall.",
    "It stands in Paris, France.",
]
QUESTION: ChatCompletionMessageParam = {
    "role": "user",
    "content": "When was the Eiffel Tower built?",
}
#: What the answer has to rest on. The gateway takes it out before the model sees the request.
GROUNDING = {"metadata": {"grounding.sources": SOURCES}}


def ask(client: OpenAI, model: str) -> None:
    """The whole answer, or why there is none."""
    try:
        response = client.chat.completions.with_raw_response.create(
            model=model, messages=[QUESTION], extra_body=GROUNDING
        )
    except openai.PermissionDeniedError as error:
        print(f"withheld: {error.code}")
        return
    print(response.parse().choices[0].message.content)
    # Absent where the response does not wait for its check, as under log and flag.
    print(f"outcome: {response.headers.get('x-groundwire-outcome', 'not told')}")


def stream(client: OpenAI, model: str) -> None:
    """The answer as it is released; a finding ends it."""
    with client.chat.completions.create(
        model=model, messages=[QUESTION], stream=True, extra_body=GROUNDING
    ) as chunks:
        finish = None
        for chunk in chunks:
            for choice in chunk.choices:
                print(choice.delta.content or "", end="", flush=True)
                finish = choice.finish_reason or finish
    print(f"\nfinished: {finish}")


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "gpt-4o-mini"
    with OpenAI() as client:
        ask(client, model)
        stream(client, model)


if __name__ == "__main__":
    main()
