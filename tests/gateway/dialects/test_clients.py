"""The official clients before the gateway, in every dialect; the table of docs/dialects.md."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

# Without them there is nothing to test.
pytest.importorskip("openai", minversion="3.0")
pytest.importorskip("anthropic")

from tests.gateway.chats import WRONG, Gateway, gateway
from tests.gateway.dialects.clients import CLIENTS, Client, Shown
from tests.gateway.dialects.spoken import MODES, WRITES
from tests.gateway.wire import Script

pytestmark = pytest.mark.merge

PAGE = Path(__file__).parents[3] / "docs" / "dialects.md"
BEGIN, END = "<!-- written by tests/gateway/dialects/test_clients.py -->\n", "<!-- end -->"

GOOD = ["The tower ", "is in Paris. It is 330", " metres tall."]
BAD = ["The tower ", "is in Paris. It was built", f" in {WRONG}. It ", "is tall."]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            for mode, yaml in MODES.items()
        }


def asked(own: Gateway, client: Client, pieces: list[str]) -> Shown:
    spoken = client.spoken
    script = Script.sse(spoken.events(pieces)) if client.streams else None
    own.upstream.script(script or Script.json(spoken.body("".join(pieces))))
    return client.shown(own)


def cell(shown: Shown) -> str:
    """What became of a wrong answer, in the words of the table."""
    text, whole = shown.text, "".join(BAD)
    if not text:
        return f"nothing; {shown.ended}"
    if text == whole:
        return "all of it"
    if text.startswith("[Hallucination Warning] ") and text.endswith(f"\n\n{whole}"):
        return "a warning, then all of it"
    if text.startswith(f"{whole}\n\n[Hallucination Warning] "):
        return "all of it, then a warning"
    assert text.strip() == "The tower is in Paris."
    return f"what stands before the finding; {shown.ended}"


def test_right_answers_are_shown_whole_and_of_wrong_ones_what_the_table_says(
    running: dict[str, Gateway],
) -> None:
    rows = [["Client", "API", "Streamed", *MODES], ["---"] * (3 + len(MODES))]
    for client in CLIENTS:
        cells = []
        for own in running.values():
            assert asked(own, client, GOOD).text == "".join(GOOD)
            cells.append(cell(asked(own, client, BAD)))
        rows.append([client.name, client.spoken.path, "yes" if client.streams else "no", *cells])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END, 1)
    if os.environ.get(WRITES):
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    assert os.environ.get(WRITES) or shown.strip() == table.strip()
