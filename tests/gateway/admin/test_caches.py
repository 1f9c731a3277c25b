"""What was read for one tenant is of no use to another: no request tells by its time what another
tenant has asked about."""  # noqa: D205, D209

from pathlib import Path

import pytest

from groundwire import Detector
from tests.gateway.admin.plane import Plane, plane
from tests.gateway.client import fetch
from tests.gateway.wire import Script, completion

pytestmark = pytest.mark.merge

ANSWER = "The tower was built in 1889."


def n_kept(own: Plane) -> int:
    """How many passages are kept, once those of all answers so far are."""
    text = fetch(f"{own.url}/metrics").text
    (line,) = (each for each in text.splitlines() if each.startswith("groundwire_cache_entries "))
    return int(float(line.partition(" ")[2]))


def test_what_was_read_for_one_tenant_is_read_again_for_another(tmp_path: Path) -> None:
    with (
        Detector.load(threads=1) as detector,
        plane(tmp_path, "check: {action: header}", detector=detector) as own,
    ):
        first, second = own.make_key("acme"), own.make_key("globex")
        own.upstream.otherwise(Script.json(completion(ANSWER)))

        def asked(key: str) -> int:
            reply = own.chat(key=key)
            assert (reply.status, "x-vsr-hallucination-detected" in reply.headers) == (200, False)
            return n_kept(own)

        n_first = asked(first)
        assert n_first > 0
        assert asked(first) == n_first
        assert asked(second) == 2 * n_first
        assert asked(second) == 2 * n_first
