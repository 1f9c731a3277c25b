"""Every error of the gateway itself: one envelope, one table."""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from groundwire.errors import (
    ConfigError,
    CorruptModelError,
    DetectionError,
    EmptyAnswerError,
    GateError,
    InvalidConversationError,
    InvalidTextError,
    LimitExceededError,
    SettingError,
)
from groundwire.gateway.http import problems
from groundwire.gateway.http.problems import Problem, as_problem, not_found, problem_response
from groundwire.gateway.http.refusals import RefusalCode

HTTP = Path(problems.__file__).parent
TABLE: dict[str, dict[str, Any]] = tomllib.loads((HTTP / "problems.toml").read_text("utf-8"))


def named() -> Iterator[tuple[str, set[str]]]:
    """Yield the names and the values of all problems that the gateway builds from the table."""
    for path in HTTP.parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem.named":
                for name in ast.walk(node.args[0]):
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        yield name.value, {str(each.arg) for each in node.keywords}
    yield from ((code, set()) for code in RefusalCode)


def test_each_problem_of_the_table_is_used_and_gets_the_values_of_its_texts() -> None:
    used: dict[str, set[str]] = {}
    for name, values in named():
        assert used.setdefault(name, values) == values, name
    assert used.keys() == TABLE.keys()
    for name, entry in TABLE.items():
        texts = " ".join(each for each in entry.values() if isinstance(each, str))
        fields = {field for _, field, _, _ in Formatter().parse(texts) if field is not None}
        assert fields == used[name], name


def test_refusals_look_final_to_clients_but_for_a_full_audit_log() -> None:
    # At a status of 500 or above, client libraries would try again.
    for code in RefusalCode:
        entry = TABLE[code]
        is_final = (entry["status"], entry.get("type")) == (403, "guardrail_violation")
        assert is_final is (code is not RefusalCode.AUDIT_UNAVAILABLE)
        assert "code" not in entry


def test_the_envelope_is_openais_with_trace_id_and_next_step() -> None:
    problem = Problem(
        status=404,
        type="not_found_error",
        code="model_not_found",
        message="There is no such model.",
        next_step="GET /v1/models lists them.",
        param="model",
        headers={"X-A": "b"},
    )
    response = problem_response(problem, trace_id="t1")
    assert response.status_code == 404
    assert response.headers["x-a"] == "b"
    assert response.headers["content-type"] == "application/json"
    assert json.loads(bytes(response.body)) == {
        "error": {
            "message": "There is no such model.",
            "type": "not_found_error",
            "param": "model",
            "code": "model_not_found",
            "trace_id": "t1",
            "next_step": "GET /v1/models lists them.",
        }
    }


def test_without_next_step_there_is_no_such_field() -> None:
    problem = Problem(status=400, type="invalid_request_error", code="a", message="b")
    assert "next_step" not in problem.to_dict(trace_id="t")["error"]


def test_any_text_can_be_told() -> None:
    problem = Problem(status=400, type="a", code="b", message="\ud800\r\n\x00é")
    body = bytes(problem_response(problem, trace_id="t").body)
    assert json.loads(body)["error"]["message"] == "\ud800\r\n\x00é"
    assert body.isascii()


@pytest.mark.parametrize(("status", "retries"), [(503, "1"), (429, "1"), (502, None), (500, None)])
def test_what_may_pass_says_when_to_come_back(status: int, retries: str | None) -> None:
    problem = Problem(status=status, type="server_error", code="a", message="b")
    assert problem_response(problem, trace_id="t").headers.get("retry-after") == retries


@pytest.mark.parametrize(
    ("error", "status", "code", "param"),
    [
        (
            InvalidConversationError("messages[3]", "it is a", "b"),
            400,
            "invalid_conversation",
            "messages[3]",
        ),
        (InvalidTextError("answer", 3, "half a pair"), 400, "invalid_text", "answer"),
        (
            LimitExceededError("answer", 9, 5, "detector.max_answer_chars"),
            413,
            "limit_exceeded",
            None,
        ),
        (EmptyAnswerError(), 400, "invalid_input", None),
        (SettingError("action", "x", "y"), 400, "invalid_setting", "action"),
        (ConfigError(["x"]), 400, "invalid_setting", None),
        (CorruptModelError(Path("secret"), "a", "b"), 503, "model_unavailable", None),
        (DetectionError("secret"), 503, "check_failed", None),
        (GateError(3, "secret"), 500, "internal_error", None),
        (RuntimeError("secret"), 500, "internal_error", None),
        (RecursionError("secret"), 400, "too_deep", None),
        (ClientDisconnect(), 499, "client_gone", None),
        (HTTPException(404), 404, "not_found", None),
        (HTTPException(405, "secret"), 405, "method_not_allowed", None),
        (HTTPException(500, "secret"), 500, "internal_server_error", None),
    ],
)
def test_the_table(error: Exception, status: int, code: str, param: str | None) -> None:
    problem = as_problem(error)
    assert (problem.status, problem.code, problem.param) == (status, code, param)
    assert "secret" not in problem.message + problem.next_step
    assert (problem.type == "server_error") == (status >= 500)


def test_a_problem_is_itself_also_where_the_framework_wrapped_it() -> None:
    problem = Problem(status=413, type="invalid_request_error", code="a", message="b")
    wrapped = HTTPException(400, "There was an error parsing the body")
    wrapped.__cause__ = problem
    assert as_problem(problem) is problem
    assert as_problem(wrapped) is problem


def test_a_wrong_body_is_told_by_place_and_never_by_value() -> None:
    errors = [
        {"type": "missing", "loc": ("body", "answer"), "msg": "Field required", "input": "secret"},
        {"type": "int", "loc": ("body", "a", 3, "b"), "msg": "Not a number", "input": "secret"},
    ]
    problem = as_problem(RequestValidationError(errors, body="secret"))
    assert (problem.status, problem.param) == (422, "answer")
    assert problem.message == "answer: Field required; a[3].b: Not a number."


def test_many_problems_are_counted() -> None:
    errors = [{"type": "missing", "loc": ("body", f"a{n}"), "msg": "No"} for n in range(7)]
    assert as_problem(RequestValidationError(errors)).message.endswith("a4: No. And 2 more.")


def test_a_path_that_forgot_v1_is_told_so() -> None:
    assert "Did you mean /v1/chat/completions?" in not_found("POST", "/chat/completions").message
    assert "Did you mean" not in not_found("GET", "/x").message
    assert "\x1b" not in not_found("GET", "/\x1b[2J").message
