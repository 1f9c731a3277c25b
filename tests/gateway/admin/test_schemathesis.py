"""What the OpenAPI documents allow, and much that they do not, is answered without a 5xx."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from tests.gateway.admin.plane import ADMIN, Plane, loaded, plane
from tests.gateway.chats import KEY
from tests.gateway.wire import Script, completion

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

pytestmark = [
    pytest.mark.nightly,
    # Schemathesis itself calls random in strategies.
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
]

BOUNDED = settings(
    max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None
)

#: What a response must be: no failure, and as the document says.
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A gateway with two tenants and some keys."""
    with plane(tmp_path_factory.mktemp("api"), pipeline_of=loaded) as started:
        started.upstream.otherwise(lambda _: Script.json(completion("It was built in 1950.")))
        for tenant in ("acme", "0"):
            started.make_key(tenant)
        yield started


def require_no_failure(document: str, key: str) -> int:
    """Ask every operation of a document for much that it allows, and for much that it does not.

    Returns:
        How many operations there are.
    """
    schema = schemathesis.openapi.from_url(document)
    headers = {"Authorization": f"Bearer {key}"}
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:
        for mode in schemathesis.GenerationMode:

            @BOUNDED
            @given(operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:  # noqa: ANN401 - of schemathesis
                case.call_and_validate(checks=CHECKS, headers=headers, timeout=20)

            with suppress(Unsatisfiable):  # nothing that it does not allow can be sent
                ask()
    return len(operations)


def test_the_admin_plane_never_fails(own: Plane) -> None:
    assert require_no_failure(f"{own.admin_url}/openapi.json", ADMIN) > 20
    assert own.failures == []


def test_the_data_plane_never_fails(own: Plane) -> None:
    assert require_no_failure(f"{own.url}/openapi.json", KEY) >= 5
