"""The OpenAPI document is valid, and says what the gateway does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from groundwire import Pipeline
from groundwire.config import parse
from groundwire.gateway.native import document
from tests.gateway.client import fetch
from tests.gateway.native_app import PATHS, native

ROOT = "urn:groundwire:openapi"
PROXIED = "/v1/chat/completions"


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    config = parse("detector: {threads: 2}", name="groundwire.yaml")
    with Pipeline.load(config) as pipeline, native(pipeline) as url:
        yield url


def validate(data: object, schema: dict[str, Any]) -> None:
    """Hold data against a schema whose references point into the document."""
    resource = Resource.from_contents(document(), default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(ROOT, resource)
    absolute = json.loads(json.dumps(schema).replace('"#/', f'"{ROOT}#/'))
    Draft202012Validator(absolute, registry=registry).validate(data)


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [(path, item["post"]) for path, item in document()["paths"].items()]


REQUESTS = [
    pytest.param(path, value, id=f"{path} {name}")
    for path, operation in operations()
    for content in operation["requestBody"]["content"].values()
    for name, each in content.get("examples", {}).items()
    for value in [each["value"]]
]


@pytest.mark.merge
def test_it_is_valid_and_served(base: str) -> None:
    served = fetch(f"{base}/openapi.json")
    assert served.json() == document()
    reason = "openapi-spec-validator is not installed"
    pytest.importorskip("openapi_spec_validator", reason=reason).validate(served.json())


def test_every_endpoint_is_in_it() -> None:
    assert {path for path, _ in operations()} == {*PATHS, PROXIED}


def test_every_operation_is_described() -> None:
    for path, operation in operations():
        assert operation["summary"], path
        assert len(operation["description"]) > 40, path
        assert operation["tags"], path
        assert {"200", "400", "401", "413", "503"} <= set(operation["responses"]), path


def test_every_schema_that_is_named_is_there_and_used() -> None:
    text = json.dumps(document())
    for name in document()["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name


@pytest.mark.parametrize(("path", "value"), REQUESTS)
def test_an_example_of_a_request_is_valid(path: str, value: object) -> None:
    content = document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    validate(value, content["schema"])


@pytest.mark.merge
@pytest.mark.parametrize(
    ("path", "value"), [each for each in REQUESTS if each.values[0] != PROXIED]
)
def test_an_example_of_a_request_works_and_gives_what_is_described(
    base: str, path: str, value: object
) -> None:
    reply = fetch(base + path, data=value)
    assert reply.status == 200, reply.text
    responses = document()["paths"][path]["post"]["responses"]
    validate(reply.json(), responses["200"]["content"]["application/json"]["schema"])
