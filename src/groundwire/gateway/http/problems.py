"""Errors of the gateway: their envelope in JSON, and the HTTP error for each exception.

The envelope is that of OpenAI's API; the trace id and the next step are added. ``problems.toml``
has the status, code and texts of most errors.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib import resources
from types import MappingProxyType
from typing import Any, Self

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from groundwire import errors

INVALID_REQUEST = "invalid_request_error"
AUTHENTICATION = "authentication_error"
PERMISSION = "permission_error"
NOT_FOUND = "not_found_error"
RATE_LIMIT = "rate_limit_error"
SERVER = "server_error"

_TYPES = {401: AUTHENTICATION, 403: PERMISSION, 404: NOT_FOUND, 429: RATE_LIMIT}


class Problem(Exception):  # noqa: N818 - a response for the client, not a failure of the gateway
    """An error that a client gets as the response to its request.

    Attributes:
        status: Status of the response.
        code: The code of the error, for programs.
        message: A description of the error for people. It quotes no prompt and no answer.
        next_step: A way for the client to solve the problem; may be empty.
        param: The field of the request that the error is about, or ``None``.
        type: The kind of error, such as ``rate_limit_error``; by default, the status decides.
        headers: Headers of the response, beside the usual ones.
    """

    def __init__(
        self,
        status: int,
        code: str,
        *,
        message: str,
        next_step: str = "",
        param: str | None = None,
        type: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(code)
        usual = SERVER if status >= 500 else _TYPES.get(status, INVALID_REQUEST)
        self.status, self.code, self.type = status, code, type or usual
        self.message, self.next_step, self.param = message, next_step, param
        self.headers = dict(headers)

    @classmethod
    def named(cls, name: str, /, **values: object) -> Self:
        """Return the problem that has this name in ``problems.toml``.

        ``values`` fill the placeholders in the texts of the problem.
        """
        entry = {"code": name, **_named()[name]}
        texts = {key: each for key, each in entry.items() if isinstance(each, str)}
        return cls(**entry | {key: text.format(**values) for key, text in texts.items()})

    def to_dict(self, *, trace_id: str) -> dict[str, Any]:
        """Return the error as JSON data, in the envelope of OpenAI's API."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
            "trace_id": trace_id,
        }
        if self.next_step:
            error["next_step"] = self.next_step
        return {"error": error}


@cache
def _named() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(resources.files(__package__).joinpath("problems.toml").read_text("utf-8"))


def problem_response(problem: Problem, *, trace_id: str, path: str = "") -> Response:
    """Return a problem as a response, in the form for errors of the API at ``path``."""
    headers = dict(problem.headers)
    if problem.status in (429, 503):
        # OpenAI's clients read Retry-After, and then try again.
        headers.setdefault("Retry-After", "1")
    status, body = problem.status, problem.to_dict(trace_id=trace_id)
    if path.endswith("/messages"):  # as in Anthropic's API
        body = {"type": "error", **body}
    elif path.startswith("/guardrail/"):  # as in Bedrock's API
        body |= {"message": problem.message, "code": problem.code}
    elif path.startswith("/alignscore_"):  # after an error, NeMo may let the answer pass
        status, body = 200, {"alignscore": 0.0, "outcome": problem.code}
    # JSON in ASCII, because UTF-8 cannot encode a lone surrogate in a message.
    content = json.dumps(body, separators=(",", ":"))
    return Response(content, status, headers, media_type="application/json")


def as_problem(error: BaseException) -> Problem:
    """Return the error that a client gets for an exception.

    An unknown exception becomes status 500, with a message that says nothing about the exception.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return _of_http(error)
    if isinstance(error, RequestValidationError):
        return _of_validation(error)
    if isinstance(error, errors.GroundwireError):
        return _of_ours(error)
    if isinstance(error, ClientDisconnect):
        # Nobody gets this response, but metrics and traces show its status.
        return Problem.named("client_gone")
    if isinstance(error, RecursionError):
        return Problem.named("too_deep")
    return Problem.named("internal_error")


def not_found(method: str, path: str) -> Problem:
    """Return the problem of an unknown path."""
    hint = f" Did you mean /v1{path}?" if path.startswith(("/chat/", "/models", "/compl")) else ""
    return Problem.named("unknown_path", method=method, path=_short(path), hint=hint)


def too_large(limit: int, n_bytes: int | None, *, is_fixed: bool = False) -> Problem:
    """Return the problem of a body that is too large.

    Args:
        limit: Limit on the bytes of a body.
        n_bytes: The size of the body; ``None`` if it is unknown.
        is_fixed: Whether no setting can raise the limit; the problem then names no setting.
    """
    raised = "" if is_fixed else ", or raise gateway.max_body_bytes"
    size = "more" if n_bytes is None else f"{n_bytes:,}"
    return Problem.named("body_too_large", limit=limit, size=size, raised=raised)


def _of_ours(error: errors.GroundwireError) -> Problem:
    """Return the problem for an error of this package.

    The messages of these errors can be sent: they never quote a prompt, source or answer.
    """
    if isinstance(error, errors.LimitExceededError):
        return _invalid("limit_exceeded", str(error), status=413)
    if isinstance(error, errors.InvalidConversationError):
        message = f"{error.place}: {error.problem}."
        return _invalid("invalid_conversation", message, error.remedy, param=error.place)
    if isinstance(error, errors.InvalidSourceError):
        place = "sources" if error.index is None else f"sources[{error.index}]"
        return _invalid("invalid_input", str(error), param=place)
    if isinstance(error, errors.InvalidTextError):
        return _invalid("invalid_text", str(error), param=error.where)
    if isinstance(error, errors.SettingError):
        return _invalid("invalid_setting", str(error), param=error.setting)
    if isinstance(error, errors.ConfigError):
        return _invalid("invalid_setting", str(error))
    if isinstance(error, errors.InputError):
        return _invalid("invalid_input", str(error))
    if isinstance(error, errors.ModelError):
        return Problem.named("model_unavailable")
    if isinstance(error, errors.DetectionError):
        return Problem.named("check_due_failed")
    return Problem.named("gateway_failed", kind=type(error).__name__)


def _of_http(error: HTTPException) -> Problem:
    """Return the problem for an HTTP error of the framework, or for the error that it wraps."""
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return invalid_json()
    if isinstance(cause, Problem | RecursionError | ClientDisconnect):
        return as_problem(cause)
    phrase = HTTPStatus(error.status_code).phrase
    return Problem(
        error.status_code,
        phrase.lower().replace(" ", "_").replace("-", "_"),
        message=f"{phrase}.",
        next_step="/openapi.json lists what there is." if error.status_code in (404, 405) else "",
        headers=error.headers or {},
    )


def _of_validation(error: RequestValidationError) -> Problem:
    """Return the problem of a request whose body or parameters are invalid.

    The message names up to five places with their errors, and quotes no values.
    """
    found = [(_place(each["loc"]), str(each["msg"])) for each in error.errors()]
    if any(each["type"] == "json_invalid" for each in error.errors()):
        return invalid_json()
    shown = [f"{place}: {message}" if place else message for place, message in found[:5]]
    more = f" And {len(found) - 5:,} more." if len(found) > 5 else ""
    return _invalid(
        "invalid_body",
        f"{'; '.join(shown)}.{more}",
        "/openapi.json has the schema of the body.",
        status=422,
        param=(found[0][0] or None) if found else None,
    )


def _place(location: tuple[str | int, ...]) -> str:
    """Return pydantic's location of an error as text, without its first part.

    For ``("body", "messages", 3, "role")``, this is ``messages[3].role``.
    """
    place = ""
    for part in location[1:]:
        place += f"[{part}]" if isinstance(part, int) else f".{_short(part)}"
    return place.removeprefix(".")


def invalid_json(detail: str = "") -> Problem:
    """Return the problem of a body that is not valid JSON."""
    message = f"The body is no JSON: {detail}." if detail else "The body is no JSON."
    return _invalid(
        "invalid_json", message, "Send one JSON document as UTF-8, Content-Type application/json."
    )


def _invalid(
    code: str, message: str, next_step: str = "", *, status: int = 400, param: str | None = None
) -> Problem:
    return Problem(status, code, message=message, next_step=next_step, param=param)


def _short(text: str) -> str:
    text = text if len(text) <= 100 else f"{text[:97]}..."
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
