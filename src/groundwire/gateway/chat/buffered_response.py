"""Reads, checks and marks a response that is not streamed."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response

from groundwire.errors import InvalidConversationError
from groundwire.gateway.chat.answer_checks import AnswerChecks
from groundwire.gateway.chat.body_warning import warning_text
from groundwire.gateway.chat.chunks import unambiguous
from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.chat.marks import outcome_headers, vsr_headers
from groundwire.gateway.chat.repairs import holds_more, repaired_data, repaired_text
from groundwire.gateway.http.coding import CodingError, decoded
from groundwire.gateway.http.streamed import encoded
from groundwire.gateway.upstream import UpstreamReply
from groundwire.pipeline import Checked
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.policy.policy import Action

log = logging.getLogger(__name__)

#: If the body of a chat request or response has more bytes than this before decompression, the body
#: is parsed in a thread, so that other requests need not wait.
LARGE_BYTES = 2**20

#: Headers about the bytes of a body, which are wrong once the body is changed.
_OF_BYTES = frozenset(
    {"content-encoding", "content-length", "content-md5", "content-digest", "digest", "etag"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBody:
    """The body of a response, and the results for its answers.

    Attributes:
        raw: The bytes as the upstream sent them, perhaps compressed; the end may be missing.
        data: The body as JSON data, with repaired answers; ``None`` if it cannot be read.
        answers: The results for the answers; one ``unavailable`` result if the body cannot be read.
        is_upstream_error: Whether the body is an error of the upstream, without answers.
    """

    raw: bytes
    data: Any
    answers: tuple[Checked, ...]
    is_upstream_error: bool = False


async def check_body(
    checks: AnswerChecks, reply: UpstreamReply, raw: bytes, *, dialect: Dialect, max_bytes: int
) -> CheckedBody:
    """Check the answers in a response's body ``raw``, which may be compressed.

    A body that cannot be read, or has more than ``max_bytes`` when decompressed, counts as one
    answer with the outcome ``unavailable``. Repairs are made in the body. If a repair cannot be
    made, or another answer is blocked, all answers that need repairs are blocked.
    """
    read = partial(_read, raw, reply.content_encoding, dialect, max_bytes)
    try:
        data, answers = read() if len(raw) <= LARGE_BYTES else await asyncio.to_thread(read)
    except (CodingError, InvalidConversationError, ValueError, RecursionError) as error:
        unread = Answer(index=0, kind=AnswerKind.TEXT, n_skipped=1)
        failed = checks.unavailable(unread, type(error).__name__)
        return CheckedBody(raw=raw, data=None, answers=(failed,))
    is_error = not answers and dialect.is_error(data)
    checked = await checks.check(answers)
    if any(each.edits for each in checked):
        is_withheld = any(each.action is Action.BLOCK for each in checked)
        repaired = None if is_withheld else _repaired(data, checked, dialect)
        if repaired is None:
            checked = tuple(each.blocked() if each.edits else each for each in checked)
        data = data if repaired is None else repaired
    return CheckedBody(raw=raw, data=data, answers=checked, is_upstream_error=is_error)


def _repaired(data: Any, checked: Sequence[Checked], dialect: Dialect) -> Any:  # noqa: ANN401
    """Return a body with all repairs; ``None`` if words that the repairs replace may remain."""
    for each in checked:
        data = repaired_data(data, each) if each.edits else data
    try:
        texts = {answer.index: answer.text for answer in dialect.answers(data)}
    except InvalidConversationError:  # for example, ``output_text`` now differs from ``output``
        return None
    is_right = all(
        texts[each.answer.index] == (text := repaired_text(each))
        and not holds_more(data, text, position=position)
        for position, each in enumerate(checked)
        if each.edits
    )
    return data if is_right else None


def _read(
    raw: bytes, encoding: str, dialect: Dialect, max_bytes: int
) -> tuple[Any, tuple[Answer, ...]]:
    try:
        body = decoded(raw, encoding, max_bytes=max_bytes)
        data = json.loads(body, object_pairs_hook=unambiguous)
        return data, () if dialect.is_error(data) else dialect.answers(data)
    except (CodingError, InvalidConversationError, ValueError, RecursionError) as error:
        # The message may quote the answer, which has no place in a log.
        text = "A response of /v1/%s cannot be read (%s), so it is not checked."
        log.warning(text, dialect.path, type(error).__name__)
        raise


def marked(reply: UpstreamReply, body: CheckedBody, dialect: Dialect) -> Response:
    """Return the response for the client, with repairs, and headers and warnings about the results.

    A body that could not be read is not changed, so the body gets no warning.

    Call this only if no answer has the action ``block``: a response with such an answer is refused.
    """
    warnings = [warning_text(answer) for answer in body.answers]
    headers, raw = reply.headers, body.raw
    is_changed = any(warnings) or any(answer.edits for answer in body.answers)
    if is_changed and body.data is not None:
        data = dialect.with_warnings(body.data, warnings)
        headers, raw = of_new_body(reply), json.dumps(data, separators=(",", ":")).encode()
    marks = [*vsr_headers(body.answers), *outcome_headers(body.answers)]
    response = Response(raw, reply.status)
    kept = [pair for pair in headers if pair[0] != "content-length"]
    response.raw_headers += encoded([*kept, *marks])
    return response


def of_new_body(reply: UpstreamReply) -> list[tuple[str, str]]:
    """Return a reply's headers for a changed body, without those about the old body's bytes."""
    return [(name, value) for name, value in reply.headers if name not in _OF_BYTES]
