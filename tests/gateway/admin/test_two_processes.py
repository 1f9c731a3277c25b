"""Two gateways on one PostgreSQL: what one is told holds in the other, without a new start.

How soon is not measured here, where a busy machine would be measured: ``tenants/test_watching.py``
has that, by what is heard of and how often it is looked for.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.test_serve import Gateway
from tests.cli.test_serve import gateway as process
from tests.gateway.admin.plane import ADMIN, recorded
from tests.gateway.chats import request
from tests.gateway.client import Reply, fetch
from tests.gateway.wire import Script, ScriptedUpstream, completion, eventually

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.nightly,
    pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals"),
]

BAD = "It was built in 1950."
SOURCES = {"grounding.sources": ["The Eiffel Tower was built from 1887 to 1889."]}


class Pair:
    """Two gateways; changes are made in the first, requests sent to the second."""

    def __init__(self, first: Gateway, second: Gateway, upstream: ScriptedUpstream) -> None:
        self.first, self.second, self._upstream = first, second, upstream
        self.processes = first, second

    def change(self, method: str, path: str, data: object = None) -> Reply:
        reply = fetch(
            f"{self.first.admin_url()}/v1/admin{path}",
            method=method,
            headers={"Authorization": f"Bearer {ADMIN}"},
            data=data,
        )
        assert reply.status < 300, reply.text
        return reply

    def chat(self, key: str) -> int:
        self._upstream.script(Script.json(completion(BAD)))
        own = {"Authorization": f"Bearer {key}"}
        data = request(metadata=SOURCES)
        return fetch(f"{self.second.url()}/v1/chat/completions", headers=own, data=data).status

    def require(self, key: str, status: int) -> None:
        """The second gateway comes to answer so, and goes on to."""
        eventually(lambda: self.chat(key) == status)
        assert [self.chat(key) for _ in range(3)] == [status] * 3


@pytest.fixture
def pair(postgres_url: str, tmp_path: Path) -> Iterator[Pair]:
    """Two gateways that share a database, and the key of the trail."""
    with ExitStack() as stack:
        upstream = stack.enter_context(ScriptedUpstream())
        environ = {
            "GROUNDWIRE_STORE_URL": postgres_url,
            "GROUNDWIRE_ADMIN_API_KEY": ADMIN,
            "GROUNDWIRE_AUDIT_KEY": "0123456789abcdef" * 4,
            "GROUNDWIRE_DETECTOR_THREADS": "1",
        }
        started = [
            stack.enter_context(
                process(
                    *("--upstream", upstream.url, "--port", "0"),
                    is_terminal=False,
                    GROUNDWIRE_GATEWAY_DATA_DIR=str(tmp_path / name),
                    **environ,
                )
            )
            for name in ("a", "b")
        ]
        for each in started:
            each.url()
        yield Pair(started[0], started[1], upstream)


def test_a_change_through_one_comes_to_hold_in_the_other(
    pair: Pair, postgres_url: str, tmp_path: Path
) -> None:
    pair.change("PUT", "/tenants/acme", {})
    key = pair.change("POST", "/tenants/acme/keys", {}).json()["secret"]
    pair.require(key, 200)
    for policy, status in (({"action": "block"}, 403), ({"action": "log"}, 200)):
        pair.change("PUT", "/tenants/acme/policy", policy)
        pair.require(key, status)
    pair.change("PUT", "/tenants/acme", {"metadata": {"grounding.action": "LOG"}})
    pair.change("DELETE", "/tenants/acme")
    pair.require(key, 401)

    # Of the two, one made the first keys; and both chains of the trail are whole.
    verdict = pair.change("POST", "/audit/verify").json()
    assert (verdict["status"], verdict["findings_total"]) == ("intact", 0)
    for each in pair.processes:
        each.tell(signal.SIGTERM)
        assert each.end() == 0
    assert len([*tmp_path.glob("*/first-keys.txt")]) == 1
    ends = recorded(postgres_url, "CHAIN_STARTED", "CHAIN_ENDED")
    assert sorted(each["type"] for each in ends) == ["CHAIN_ENDED"] * 2 + ["CHAIN_STARTED"] * 2
    assert [each["payload"]["lost"] for each in ends if each["type"] == "CHAIN_ENDED"] == [0, 0]
