"""Clients that others wrote, unchanged, before the gateway; the second table of docs/dialects.md.

Each is asked directly at the upstream and through the gateway, under each action. A tap between
client and gateway keeps every byte that the client gets.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gateway.chats import KEY, gateway, without_ids
from tests.gateway.clients.asked import Client, Got
from tests.gateway.clients.installed import installed, version_of
from tests.gateway.clients.tap import tapping
from tests.gateway.clients.upstream import TEXTS, VALUES, WITHHELD, answer
from tests.gateway.dialects.spoken import MODES, WRITES
from tests.gateway.wire import ScriptedUpstream

pytestmark = [
    pytest.mark.clients,
    # They leave connections to the garbage collector, and warn of what they deprecate themselves.
    pytest.mark.filterwarnings("ignore"),
]

PAGE = Path(__file__).parents[3] / "docs" / "dialects.md"
BEGIN, END = "<!-- written by tests/gateway/clients/test_clients.py -->\n", "<!-- end -->"
BLOCKS = [mode for mode in MODES if "block" in mode]
HEAD = ["Client", "Version", "API", "Asks for", "Streamed", *MODES]


@dataclass(frozen=True)
class Through:
    """What a client got through a gateway.

    Attributes:
        right: Of the model that is right.
        right_raw: All bytes that came for it.
        right_sent: The bytes of the upstream's body.
        wrong: Of the model that is not.
        raw: All bytes that came for it.
        n_asked: How often the upstream was asked for it.
    """

    right: Got
    right_raw: bytes
    right_sent: bytes
    wrong: Got
    raw: bytes
    n_asked: int


Direct = dict[Client, Got]
Every = dict[tuple[Client, str], Through]


@pytest.fixture(scope="module")
def clients() -> Iterator[list[Client]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would fetch a list of prices
        found = installed()
        if not found:
            pytest.skip(
                "No client is installed. Install the extra clients, instructor or openai2; for "
                "Node's, run npm install in tests/gateway/clients."
            )
        yield found
    gc.collect()  # what clients left open is closed while its warnings are ignored


@pytest.fixture(scope="module")
def direct(clients: list[Client]) -> Direct:
    """What each shows of the right answer without a gateway."""
    with ScriptedUpstream() as upstream:
        upstream.otherwise(answer)
        url = upstream.url.removesuffix("/v1")
        return {client: client.got(url, KEY, "right") for client in clients}


@pytest.fixture(scope="module")
def every(clients: list[Client], tmp_path_factory: pytest.TempPathFactory) -> Every:
    """What each shows through the gateway, under each action."""
    found = {}
    for mode, yaml in MODES.items():
        with ExitStack() as stack:
            own = stack.enter_context(gateway(tmp_path_factory.mktemp("gateway"), yaml))
            # One for each model: the last bytes of a stream may come when its client reads no more.
            for_right, for_wrong = (stack.enter_context(tapping(own.url)) for _ in range(2))
            own.upstream.otherwise(answer)
            for client in clients:
                right = client.got(for_right.url, KEY, "right")
                script, n = answer(own.upstream.requests[-1]), len(own.upstream.requests)
                wrong = client.got(for_wrong.url, KEY, "wrong")
                found[client, mode] = Through(
                    right,
                    for_right.taken(),
                    b"".join(each for each in script.body if isinstance(each, bytes)),
                    wrong,
                    for_wrong.taken(),
                    len(own.upstream.requests) - n,
                )
    return found


def shown(got: Got) -> tuple[str, object, str]:
    return got.text, got.value, got.ended


def test_right_answers_arrive_as_without_the_gateway(direct: Direct, every: Every) -> None:
    for client, got in direct.items():
        whole = VALUES["right"] if client.wants == "object" else TEXTS["right"]
        assert whole in (got.text, got.value), (str(client), got.ended, got.seen)
    other = [
        f"{client} under {mode}: {shown(through.right)}, not {shown(direct[client])}"
        for (client, mode), through in every.items()
        if shown(through.right) != shown(direct[client])
    ]
    assert not other
    for (client, mode), through in every.items():
        start = through.right_raw.index(b"HTTP/1.1 ")
        head, _, body = through.right_raw[start:].partition(b"\r\n\r\n")
        if b"text/event-stream" not in head:
            assert body == through.right_sent, f"{client} under {mode}"


@pytest.mark.parametrize("mode", BLOCKS)
def test_nothing_of_what_is_withheld_leaves(every: Every, mode: str) -> None:
    """Neither in what came over the wire nor in what the client tells, exceptions and all."""
    for client in (each for each, its in every if its == mode):
        through = every[client, mode]
        said = "".join([through.wrong.text, repr(through.wrong.value), *through.wrong.seen])
        assert b"HTTP/1.1 " in through.raw
        assert b"content-encoding" not in through.raw.lower()
        for word in WITHHELD:
            assert word not in without_ids(said), (str(client), word)
            assert word.encode() not in without_ids(through.raw), (str(client), word)


@pytest.mark.parametrize("mode", MODES)
def test_no_client_asks_again(every: Every, mode: str) -> None:
    asked = {str(client): got.n_asked for (client, its), got in every.items() if its == mode}
    assert asked == dict.fromkeys(asked, 1)


def cell(client: Client, got: Got) -> str:
    """What became of a wrong answer, in the words of the table."""
    if client.wants == "object":
        if got.value == VALUES["wrong"]:
            return "all of it"
        assert not any((got.value or {}).values())
        return f"nothing; {got.ended}"
    text, whole = got.text, TEXTS["wrong"]
    if not text:
        return f"nothing; {got.ended}"
    if text == whole:
        return "all of it"
    if text.startswith("[Hallucination Warning] ") and text.endswith(f"\n\n{whole}"):
        return "a warning, then all of it"
    if text.startswith(f"{whole}\n\n[Hallucination Warning] "):
        return "all of it, then a warning"
    assert text.strip() == "The tower is in Paris.", (str(client), text)
    return f"what stands before the finding; {got.ended}"


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def key_of(row: str) -> str:
    """A line of the table without the version, which is that of the day when it was written."""
    cells = row.strip().split(" | ")
    return " | ".join([cells[0], *cells[2:]])


def test_the_table_tells_what_clients_show(clients: list[Client], every: Every) -> None:
    """The lines of clients that are not installed stay as they are."""
    rows = []
    for client in clients:
        cells = [cell(client, every[client, mode].wrong) for mode in MODES]
        streams = "yes" if client.streams else "no"
        row = [client.name, version_of(client), client.path, client.wants, streams, *cells]
        rows.append(line(row))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    table, after = rest.split(END, 1)
    names = {client.name for client in clients}
    lines = table.strip().splitlines(keepends=True)[2:]
    others = [each for each in lines if each.split(" | ")[0].removeprefix("| ") not in names]
    if os.environ.get(WRITES):
        written = "".join([line(HEAD), line(["---"] * len(HEAD)), *sorted([*others, *rows])])
        PAGE.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")
        return
    ours = {key_of(each) for each in lines} - {key_of(each) for each in others}
    assert ours == {key_of(each) for each in rows}
